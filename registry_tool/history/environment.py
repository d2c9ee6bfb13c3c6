"""What surrounded the runs that rows stood on, read from their verdicts in git."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from registry_tool.history.log import artifact
from registry_tool.history.versions import Version
from registry_tool.store import git
from registry_tool.store.git import Repository
from registry_tool.store.git_blobs import BlobReader
from registry_tool.store.git_history import place_of

Facts: TypeAlias = "dict[str, str | None]"
"""Name (``driver``, ``toolchain.mlir-aie``) to value; None where it is unknown."""

_MANY = 200
"""Verdicts from which on the tree is listed once, instead of a path looked up for each."""


class _Verdict(msgspec.Struct):
    environment: dict[str, Any] = {}


_decode = msgspec.json.Decoder(_Verdict).decode


def facts(data: bytes) -> Facts | None:
    """What the verdict says of its machine; None if it cannot be read."""
    try:
        environment = _decode(data).environment
    except (msgspec.MsgspecError, RecursionError):
        return None
    found: Facts = {}
    for name, fact in environment.items():
        if not isinstance(fact, dict):
            continue
        if name == "toolchain":
            found.update({f"toolchain.{tool}": _value(one) for tool, one in fact.items()})
        else:
            found[name] = _value(fact)
    return found


def _value(fact: Any) -> str | None:
    value = fact.get("value") if isinstance(fact, dict) else None
    return value if value is None else str(value)


def changed(before: Facts | None, after: Facts | None) -> dict[str, list[str | None]]:
    """Name to [before, after] of what differs; nothing if one side is unknown."""
    if before is None or after is None:
        return {}
    names = dict.fromkeys((*before, *after))
    return {
        name: [before.get(name), after.get(name)]
        for name in names
        if before.get(name) != after.get(name)
    }


def environments(
    repository: Repository, found: Sequence[Version], revision: str = "HEAD"
) -> Mapping[str, Facts | None]:
    """Artifact to facts, of every verdict that a version stands on; unreadable ones are None.

    A verdict that was taken away since is read from the commit that still had it.
    """
    # A version that went has its verdict in the commit before.
    sought: dict[str, list[str]] = {}
    for version in found:
        for document, there in ((version.after, True), (version.before, False)):
            path = artifact(document)
            commit = version.commit
            holder = commit.oid if there else next(iter(commit.parents), None)
            if path is not None and holder is not None and "\n" not in path:
                sought.setdefault(path, []).append(f"{holder}:{version.place}{path}")
    listed = _listed(repository, revision) if len(sought) > _MANY else {}
    names = {path: [listed[path]] if path in listed else sought[path][:2] for path in sought}
    with BlobReader(repository, facts) as reader:
        for alternatives in names.values():
            reader.ask(alternatives)
        read = reader.finish()
    return {
        path: next((read[name] for name in alternatives if name in read), None)
        for path, alternatives in names.items()
    }


def _listed(repository: Repository, revision: str) -> dict[str, str]:
    place = place_of(repository, revision)
    lines = git.tree(repository.at(place), git.resolve(repository, revision), ["verdicts"])
    cut = len(place)
    return {
        path[cut:]: meta.split(" ")[1] for meta, path in (line.split("\t", 1) for line in lines)
    }
