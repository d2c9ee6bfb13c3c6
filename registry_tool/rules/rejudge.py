"""Judging what differs from the last check: rows first, then what is registry-wide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from threading import Thread

from registry_tool.rules import context as contexts
from registry_tool.rules.against_base import judge_change
from registry_tool.rules.catalog import RULES
from registry_tool.rules.entries import Entries, Files, place_of
from registry_tool.rules.finding import Finding, RuleFacts
from registry_tool.rules.judging import judge_file, judge_path, read_file
from registry_tool.rules.layout import BASELINE, kind_of, row_of
from registry_tool.rules.pages import Pages, Place, Shown, Source
from registry_tool.rules.rows import judge_rows
from registry_tool.rules.severity import levels_of
from registry_tool.rules.state import FieldValues, State, deviations_of, tool_of
from registry_tool.rules.views import FileView, PathView
from registry_tool.store.cache import Cache
from registry_tool.store.registry import POLICY
from registry_tool.store.snapshot import OWN, Snapshot
from registry_tool.tables.rows import Row

AROUND = tuple(name for name in OWN if name not in ("records", "verdicts"))


def rejudge(
    snapshot: Snapshot,
    known: State | None,
    touched: set[str] | None,
    changes: int,
    cache: Cache,
    tool: str,
    reader: Thread,
    by: Snapshot | None = None,
) -> State:
    """The state of ``snapshot``, from what ``known`` says of the paths that were not ``touched``.

    Without either, everything is judged. ``reader`` may still read the files into memory. Rows are
    measured by the policy and pages of ``by``, if given.
    """
    if known is None or touched is None or any(map(_changes_everything, touched)):
        known = touched = None
    work = _Work(snapshot, cache, tool, known, touched, by)
    work.state.changes = changes
    if reader.ident is not None:
        reader.join()
    work.judge_rows()
    work.judge_around()
    work.judge_pages()
    work.judge_change()
    return work.state


def _changes_everything(path: str) -> bool:
    # The names of models are read by every row that is used by one, and a layout by its page.
    return kind_of(path) in ("policy", "spec", "model", "layout", "signers")


class _Work:
    """One check on its way; ``touched`` are the paths to look at, None for all."""

    def __init__(
        self,
        snapshot: Snapshot,
        cache: Cache,
        tool: str,
        known: State | None,
        touched: set[str] | None,
        by: Snapshot | None,
    ) -> None:
        self._snapshot = snapshot
        self._cache = cache
        self._tool = tool
        self._touched = touched
        self._entries = Entries(snapshot, self._lines())
        self._context, self._problems = contexts.read(self._entries.around)
        self._measure = contexts.measured(self._context, by, snapshot)
        self._judged: dict[str, Row | None] = {}
        self._strays: list[str] = []
        self._records: dict[Place, Files] = {}
        self.state = State(tool) if known is None else replace(known, change=[])
        self.state.owed = [rule.id for rule in RULES if rule.owed]
        self.state.anchor, self.state.base = snapshot.anchor, snapshot.base
        self.state.deviations = deviations_of(snapshot.deviations)
        if self._measure is not None:
            self.state.levels = levels_of(self._measure.policy)

    def _lines(self) -> Sequence[str]:
        """The entries that this check looks at."""
        wanted = self._wanted
        if wanted is None or self._touched is None:
            return self._snapshot.lines
        apart = [path for path in self._touched if row_of(path) is None]
        rows = [name for row in wanted for name in (f"records/{row}.json", f"verdicts/{row}")]
        places = [f"records/{'/'.join(place)}" for place in set(map(place_of, wanted))]
        return self._snapshot.below([*AROUND, *sorted({*apart, *rows, *places})])

    @property
    def _wanted(self) -> set[str] | None:
        if self._touched is None:
            return None
        return {row for path in self._touched if (row := row_of(path)) is not None}

    def judge_rows(self) -> None:
        """Judge the rows that have a touched file, and forget those that are gone."""
        wanted = self._wanted
        if wanted is not None and not wanted:
            return
        rows, self._strays = self._entries.rows(wanted)
        for row in rows:
            self.state.rows.pop(row, None)
            self.state.waivers.pop(row, None)
            self.state.imported.pop(row, None)
        if wanted is None:
            self._sort(rows)
        self._count(rows)
        for answer in judge_rows(self._snapshot, rows, self._measure):
            # What other pages make of a row is not what is shown here.
            if self._measure is self._context:
                self._judged[f"records/{answer.row}.json"] = answer.shown
            self._keep(self.state.rows, answer.row, answer.findings)
            if answer.waivers:
                self.state.waivers[answer.row] = [list(waiver) for waiver in answer.waivers]
            if answer.imported:
                self.state.imported[answer.row] = answer.imported
        if wanted is None and self._context and self._context.verified and self._context.trust:
            self._context.verified.keep(rows, self._failing(), self._context.trust)

    def _failing(self) -> set[str]:
        return {row for row, some in self.state.rows.items() if any(f[1] == "error" for f in some)}

    def _sort(self, rows: Mapping[str, Files]) -> None:
        """Keep the records by place, so that nobody looks through all entries for each."""
        for row, files in rows.items():
            path = f"records/{row}.json"
            if path in files:
                self._records.setdefault(place_of(row), {})[path] = files[path]

    def _records_of(self, place: Place) -> Files:
        if self._touched is None:
            return self._records.get(place, {})
        if place in set(map(place_of, self._wanted or ())):
            return self._entries.records_of(*place)
        lines = self._snapshot.below([f"records/{'/'.join(place)}"])
        return Entries(self._snapshot, lines).records_of(*place)

    def _count(self, rows: Mapping[str, Files]) -> None:
        """Count records anew in every place that has one of ``rows``."""
        if self._touched is None:
            self.state.records = {
                "/".join(place): len(files) for place, files in self._records.items()
            }
            return
        for target, kernel in set(map(place_of, rows)):
            number = len(self._entries.records_of(target, kernel))
            self.state.records.pop(f"{target}/{kernel}", None)
            if number:
                self.state.records[f"{target}/{kernel}"] = number

    def judge_around(self) -> None:
        """Judge the touched files that are no row's, and whatever stands where it should not."""
        around = self._entries.around
        if self._touched is None:
            lines = [*around.lines, *self._strays]
        else:
            lines = self._entries.apart_from_rows(self._touched)
            for path in self._touched:
                self.state.paths.pop(path, None)
        if self._touched is None or BASELINE in self._touched:
            self._read_baseline(around)
        contents = around.read_many(
            [path for line in lines if (path := self._entries.path(line)) in around.oids]
        )
        found: dict[str, list[Finding]] = {}
        for line in lines:
            path = self._entries.path(line)
            findings = judge_path(_path_view(line, path))
            if path in contents:
                findings += judge_file(self._file(path, contents[path]))
            found.setdefault(path, []).extend(findings)
        for path, problems in self._problems.items():
            if path not in contents and self._touched is None:
                file = FileView(path, kind_of(path), b"", problems)
                found.setdefault(path, []).extend(judge_file(file))
        for path, findings in found.items():
            self._keep(self.state.paths, path, list(dict.fromkeys(findings)))

    def _read_baseline(self, around: Snapshot) -> None:
        self.state.baseline, self.state.baseline_unread = None, False
        if BASELINE in around.oids:
            from registry_tool.rules.ledger import entries

            found = entries(around.read(BASELINE))
            self.state.baseline_unread = found is None
            self.state.baseline = found

    def _file(self, path: str, data: bytes) -> FileView:
        if path not in self._problems:
            return read_file(path, data)
        if path == POLICY:
            policy = self._context.policy if self._context else None
            rules = {rule.id: RuleFacts(rule.title, rule.lowers) for rule in RULES}
            return FileView(path, "policy", data, self._problems[path], policy, rules)
        kernel = path.removeprefix("kernels/").removesuffix(".yaml")
        spec = self._context.specs.get(kernel) if self._context else None
        return FileView(path, kind_of(path), data, self._problems[path], spec)

    def judge_pages(self) -> None:
        """Judge the generated files that show a touched row, or were touched themselves."""
        if self._context is None or self._touched == set():
            return
        shown = Shown(
            {
                path: [Finding(*fields) for fields in some]
                for path, some in self.state.pages.items()
            },
            dict(self.state.summaries),
            set(self.state.unshown),
        )
        places = None
        wanted = self._wanted
        if wanted is not None:
            places = set(map(place_of, wanted))
        source = Source(
            self._records_of,
            self._judged,
            lambda entries: dict(self._snapshot.stream(entries)),
        )
        held = [(name.split("/")[0], name.split("/")[1]) for name in self.state.records]
        touched = self._touched if self._touched is not None else set(self._entries.around.oids)
        pages = Pages(self._context, self._entries.around, self._cache, tool_of(self._tool))
        pages.update(shown, held, places, touched, source)
        self.state.pages = {path: _fields(some) for path, some in shown.pages.items()}
        self.state.summaries = shown.summaries
        self.state.unshown = sorted(shown.unshown)

    def judge_change(self) -> None:
        """Judge what differs from the base."""
        if self._context is not None:
            findings = judge_change(self._snapshot, self._context, self.state)
            self.state.change = _fields(findings)

    @staticmethod
    def _keep(group: dict[str, list[FieldValues]], name: str, findings: Iterable[Finding]) -> None:
        fields = _fields(findings)
        group.pop(name, None)
        if fields:
            group[name] = fields


def _path_view(line: str, path: str) -> PathView:
    tab = line.index("\t")
    return PathView(
        path,
        kind_of(path),
        is_link=not line.startswith("100") and line[tab - 1] == "0",
        is_unmerged=line[tab - 1] != "0",
    )


def _fields(findings: Iterable[Finding]) -> list[FieldValues]:
    return [list(finding) for finding in findings]
