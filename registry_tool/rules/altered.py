"""Which lookup answers a change alters although no record of theirs changed; reads git."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

import msgspec

from registry_tool.errors import ToolError
from registry_tool.records import canonical
from registry_tool.records.record import Record
from registry_tool.rules.layout import row_of
from registry_tool.rules.views import AlteredView, Context
from registry_tool.store import git
from registry_tool.store.git import Change
from registry_tool.store.registry import POLICY, Registry
from registry_tool.store.snapshot import Snapshot
from registry_tool.tables import answers, render
from registry_tool.tables.answers import AnswerChange, Answers

_FOLDER, _SUFFIX = "details/", ".json"


def altered_answers(
    snapshot: Snapshot, context: Context, base_of: Callable[[], Context | None]
) -> Iterator[AlteredView]:
    """The answers of ``snapshot`` that differ from its base's without a record; see `AlteredView`.

    ``base_of`` reads policy and pages of the base.
    """
    changed = [
        one for one in snapshot.changes
        if one.path.startswith(_FOLDER) and one.path.endswith(_SUFFIX)
    ]  # fmt: skip
    if not changed or snapshot.repository is None or snapshot.base is None:
        return
    touched = set(_shapes_touched(snapshot.changes))
    before_context: Context | None = context
    if any(one.path == POLICY for one in snapshot.changes):
        before_context = base_of()
    if before_context is None:
        return
    before = _narrow(snapshot, before_context, [(c.path, c.before) for c in changed])
    after = _narrow(snapshot, context, [(c.path, c.after) for c in changed])
    targets = dict.fromkeys([*context.policy.targets, *before_context.policy.targets])
    found = [(one, False) for name in targets for one in answers.changes(before, after, name)]
    if before.first_target != after.first_target:
        found += [(one, True) for one in answers.default_changes(before, after)]

    @cache
    def reads(target: str, kernel: str) -> bool:
        return Answers(kernel, answers.document_of(after, target, kernel)).is_sound

    base = _Base(snapshot, base_of, before)
    new_shim = any(one.path == render.SHIM for one in snapshot.changes)
    for change, of_default in found:
        if (change.target, change.kernel, tuple(change.shape.values())) not in touched:
            path = f"{_FOLDER}{change.kernel}{_SUFFIX}"
            if not of_default and change.target != after.first_target:
                path = f"{_FOLDER}{change.target}/{change.kernel}{_SUFFIX}"
            if not reads(change.target, change.kernel):
                continue  # it is gone, or in no form at all, which KR301 says
            if not of_default and not new_shim and base.was_stale(change):
                continue  # what changed is a row, in an earlier change that forgot to render
            consistent = of_default or base.said(change)
            yield AlteredView(change, path, consistent, of_default)


def _shapes_touched(changes: Iterable[Change]) -> Iterator[tuple[object, ...]]:
    for change in changes:
        row = row_of(change.path) if change.path.startswith("records/") else None
        if row is not None:
            target, kernel, key = row.split("/")
            sizes = key.partition("+")[0].split("x")
            if all(size.isdigit() for size in sizes):
                yield target, kernel, tuple(map(int, sizes))


def _narrow(snapshot: Snapshot, context: Context, entries: list[tuple[str, str]]) -> Registry:
    prefix = snapshot.repository.prefix if snapshot.repository else ""
    lines = [f"{entry} 0\t{prefix}{path}" for path, entry in entries if entry.startswith("100")]
    return Registry(snapshot.narrowed(sorted(lines)), context.policy, context.specs)


class _Base:
    """What the base's rows answer by this tool, made where it is asked for."""

    def __init__(
        self, snapshot: Snapshot, context_of: Callable[[], Context | None], before: Registry
    ) -> None:
        """``before`` holds the base's files as they stood there."""
        self._snapshot = snapshot
        self._context_of = context_of
        self._before = before
        self._made: dict[tuple[str, str], tuple[Answers, Answers]] = {}

    def said(self, change: AnswerChange) -> bool:
        """Whether the base's rows, by the base's pages, made the answer that stood there."""
        _, wanted = self._both(change)
        return wanted.answer(tuple(change.shape.values()), change.asked) == change.before

    def was_stale(self, change: AnswerChange) -> bool:
        """Whether the base's file said other things of the shape's rows than these did."""
        found, wanted = self._both(change)
        shape = tuple(change.shape.values())
        ours, theirs = found.shapes.get(shape, {}), wanted.shapes.get(shape, {})
        return bool(ours.get("methods", {}) != theirs.get("methods", {}))

    def _both(self, change: AnswerChange) -> tuple[Answers, Answers]:
        """The answers of the base's file, and of its rows."""
        place = change.target, change.kernel
        if place not in self._made:
            found = answers.document_of(self._before, change.target, change.kernel)
            self._made[place] = Answers(change.kernel, found), self._answers(*place)
        return self._made[place]

    def _answers(self, target: str, kernel: str) -> Answers:
        context, snapshot = self._context_of(), self._snapshot
        if context is None or snapshot.origin is None or snapshot.base is None:
            return Answers(kernel, None)
        spec, known = context.specs.get(kernel), context.target(target)
        if spec is None or known is None:
            return Answers(kernel, None)
        folder = f"records/{target}/{kernel}"
        lines = git.tree(snapshot.origin, snapshot.base, [folder])
        state = snapshot.narrowed(lines, snapshot.origin)
        try:
            records = [
                canonical.decode_lenient(data, Record)
                for _, data in state.stream(state.oids.items())
            ]
            data = render.details_json(spec, target, known.kind, records, context.policy.lookup)
        except (ValueError, ToolError):
            return Answers(kernel, None)
        return Answers(kernel, msgspec.json.decode(data))
