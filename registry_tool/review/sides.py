"""The two states of a review, read only as far as a review asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from registry_tool.records import canonical
from registry_tool.records.model import Model
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.review import signers
from registry_tool.rules import context as contexts
from registry_tool.rules.views import Context
from registry_tool.store import git, git_history, snapshot
from registry_tool.store.git import Repository
from registry_tool.store.snapshot import OWN, Snapshot

_CONTEXT = ("registry.yaml", "kernels", "models")


def is_emulated(target: str, after: Side, before: Side) -> bool:
    """Whether the numbers of ``target`` are no hardware's; what nobody knows is not, either."""
    return (after.kind_of(target) or before.kind_of(target)) != "hardware"


@dataclass(frozen=True)
class Side:
    """One state: policy and pages (None if registry.yaml cannot be read) and models' needs.

    ``unread`` are the models whose file cannot be read.
    """

    snapshot: Snapshot
    context: Context | None
    models: Mapping[str, Model]
    unread: frozenset[str]

    @cached_property
    def signer(self) -> signers.Ask:
        """Who signed the verdict at a path; nobody where no policy looks at signatures."""
        if self.context is None or not self.context.policy.looks_at_signatures:
            return lambda artifact: None
        return signers.of(self.snapshot)

    @property
    def specs(self) -> Mapping[str, KernelSpec]:
        """Kernel pages in force; none without a readable policy."""
        return self.context.specs if self.context else {}

    def kind_of(self, target: str) -> str | None:
        """`hardware` or `emulated`, None for a target that the state does not know."""
        known = self.context.target(target) if self.context else None
        return known.kind if known else None

    def records(self, names: Iterable[str]) -> dict[str, Record]:
        """The readable records among ``names`` (files, or folders that hold them), by path."""
        wanted = sorted(set(names))
        if not wanted:
            return {}
        below = tuple(f"{name}/" for name in wanted)
        exact = set(wanted)
        lines = self.snapshot.narrowed(self.snapshot.below(wanted))
        entries = [
            (path, oid)
            for path, oid in lines.oids.items()
            if path.endswith(".json") and (path in exact or path.startswith(below))
        ]
        found = {path: record(data) for path, data in self.snapshot.stream(entries)}
        return {path: one for path, one in found.items() if isinstance(one, Record)}


def record(data: bytes) -> Record | str:
    """The record in ``data``, whatever its formatting; or why it cannot be read."""
    try:
        return canonical.decode_lenient(data, Record)
    except (ValueError, RecursionError) as error:
        return str(error) or type(error).__name__


def of(state: Snapshot) -> Side:
    """The side of a review that ``state`` is."""
    narrow = state.narrowed(state.below(_CONTEXT))
    context, _ = contexts.read(narrow)
    models: dict[str, Model] = {}
    unread = set()
    for path in sorted(narrow.oids):
        folder, _, name = path.rpartition("/")
        if folder != "models" or not name.endswith(".json"):
            continue
        try:
            models[name[:-5]] = canonical.decode_lenient(narrow.read(path), Model)
        except (ValueError, RecursionError):
            unread.add(name[:-5])
    return Side(state, context, models, frozenset(unread))


def before(after: Snapshot, base: str | None) -> Snapshot:
    """The state of the commit ``base``, from where the registry of ``after`` stood then.

    Without ``base``, a state that holds no file.
    """
    repository = after.origin or after.repository
    if base is not None and repository is not None:
        return snapshot.of_commit(after.root, repository, base, base)
    return Snapshot("revision", after.root, repository, None, (), None, (), lambda names: ())


def after(root: Path, repository: Repository, base: str | None, head: str) -> Snapshot:
    """The state of the commit ``head``, compared with ``base``.

    The registry may have stood elsewhere in it than it does today.
    """
    here = repository.at(git_history.place_of(repository, head))
    if base is not None:
        return snapshot.of_commit(root, here, head, base)
    changes = git.tree_changes(here, None, head, OWN)
    return replace(snapshot.of_commit(root, here, head, head), base=None, changes=changes)
