"""Judging a change: what differs from the base, and which rows only pass by a loosened measure."""

from __future__ import annotations

import contextlib
import posixpath
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from registry_tool.records import canonical
from registry_tool.records.record import Record
from registry_tool.records.spec import Policy
from registry_tool.records.verdict import Verdict
from registry_tool.rules import context as contexts
from registry_tool.rules import counting
from registry_tool.rules.catalog import BY_ID, RULES
from registry_tool.rules.counting import counted
from registry_tool.rules.entries import Entries, Files, place_of
from registry_tool.rules.finding import Finding
from registry_tool.rules.gate import WIDE_BAND
from registry_tool.rules.judging import Site, judge_row, place
from registry_tool.rules.layout import kind_of, row_of
from registry_tool.rules.ledger import ledger
from registry_tool.rules.model import Complaint
from registry_tool.rules.severity import levels_of
from registry_tool.rules.signatures import SIGNATURE_RULES
from registry_tool.rules.state import State
from registry_tool.rules.views import AlteredView, ChangeView, Context
from registry_tool.store import git
from registry_tool.store.git import Change
from registry_tool.store.registry import POLICY
from registry_tool.store.snapshot import Snapshot


def judge_change(snapshot: Snapshot, context: Context, state: State) -> list[Finding]:
    """Findings about what differs from the base; ``state`` is what was found so far."""
    changes = [change for change in snapshot.changes if _matters(change)]
    owed = ledger(snapshot, state.baseline, state.imported)
    if snapshot.repository is None or (not snapshot.changes and owed is None):
        return []
    rows = {
        row: [Finding(*fields) for fields in some]
        for row, some in state.rows.items()
    }  # fmt: skip
    failing = {row for row, some in rows.items() if any(one.severity == "error" for one in some)}
    seeker = _Seeker(snapshot, context, failing)
    of_context = any(kind_of(c.path) in ("policy", "spec", "signers") for c in changes)
    base = seeker.base() if of_context else None
    view = ChangeView(
        changes=changes,
        every=snapshot.changes,
        context=context,
        base=base,
        cited=seeker.cited,
        is_original=seeker.is_original,
        rows_of=seeker.rows_of,
        fail_before=seeker.needing,
        unsigned_before=seeker.unsigned,
        rows_fail_before=seeker.needing_of_target,
        changed_records=seeker.changed_records,
        altered_answers=seeker.altered_answers,
        verdicts=seeker.verdicts,
        dropped=seeker.dropped,
        is_new=seeker.is_new,
        is_restored=seeker.is_restored,
        line_of=seeker.line_of,
        moment=seeker.moment,
        ledger=owed,
    )
    found = [
        place(rule, complaint, Site("", row_of(complaint.path or "")))
        for rule in RULES
        if rule.on_change
        for complaint in rule.on_change(view)
    ]
    touched = seeker.touched_rows()
    here = [one for row in sorted(touched) for one in rows.get(row, ())]
    found += _wide_bands(here, seeker.is_new)
    if base is not None:
        lowered = list(_lowered_in_need([*here, *found], base.policy, context.policy))
        found += lowered or _lowered_unneeded(base.policy, context.policy)
    return found


def _wide_bands(findings: Sequence[Finding], is_new: Callable[[str], bool]) -> Iterator[Finding]:
    """Runs of this very change that were judged by a wider band than the page's of today."""
    for one in findings:
        if (one.rule, one.pointer) == ("KR108", WIDE_BAND) and is_new(one.path):
            yield one._replace(severity="error")


def _lowered_in_need(
    findings: Sequence[Finding], before: Policy, after: Policy
) -> Iterator[Finding]:
    """What this change brings and is let through only because it lowers the rule for it."""
    was, now = levels_of(before), levels_of(after)
    if was == now:
        return
    for one in findings:
        old = [counted_one.severity for counted_one in counted([one], was)]
        new = [counted_one.severity for counted_one in counted([one], now)]
        if "error" in old and "error" not in new:
            words = (
                f"this passes only because the same change lowers {one.rule} in {POLICY}: "
                f"{one.message}"
            )
            complaint = Complaint(words, one.pointer, line=one.line)
            yield place(BY_ID["KR110"], complaint, Site(one.path, one.record))


def _lowered_unneeded(before: Policy, after: Policy) -> Iterator[Finding]:
    for words in counting.lowered(before, after):
        complaint = Complaint(f"{words} (no row needs it yet)", severity="warning", line=1)
        yield place(BY_ID["KR110"], complaint, Site(POLICY))


def _matters(change: Change) -> bool:
    kind = kind_of(change.path)
    # A new page may stand in the place of a built-in one, and a new file of signers in that of
    # another; all else that is new changes nothing.
    if kind in ("spec", "signers"):
        return True
    return change.was_there and kind in ("policy", "verdict", "log", "signature")


def base_context(snapshot: Snapshot) -> Context | None:
    """Policy and pages of the commit that ``snapshot`` goes on from."""
    if snapshot.origin is None or snapshot.base is None:
        return None
    lines = git.tree(snapshot.origin, snapshot.base, contexts.FILES)
    before = snapshot.narrowed(lines, snapshot.origin)
    return contexts.read(before)[0]


def _record(data: bytes) -> Record | None:
    try:
        return canonical.decode_lenient(data, Record)
    except ValueError:
        return None


class _Seeker:
    """Answers what a rule asks about a change; each answer is looked up when it is asked for."""

    def __init__(self, snapshot: Snapshot, context: Context, failing: set[str]) -> None:
        self._snapshot = snapshot
        self._context = context
        self._failing = failing
        self._base: tuple[Context | None] | None = None

    def base(self) -> Context | None:
        """Policy and pages of the base."""
        if self._base is None:
            self._base = (base_context(self._snapshot),)
        return self._base[0]

    def cited(self, row: str, name: str) -> bool:
        """Whether a row cites the run that a file of its folder belongs to.

        An unreadable row might.
        """
        path = f"records/{row}.json"
        if path not in self._snapshot.oids:
            return False
        try:
            record = canonical.decode_lenient(self._snapshot.read(path), Record)
        except ValueError:
            return True
        cited = posixpath.basename(record.verdict.artifact)
        # <run id>.json, .log and .err; the logs of earlier attempts are <run id>.<number>.log.
        return name.partition(".")[0] == cited.partition(".")[0]

    def is_original(self, path: str, oid: str) -> bool:
        """Whether ``path`` was first committed with the content ``oid``."""
        assert self._snapshot.origin is not None
        commits = git.history(self._snapshot.origin, [path], self._snapshot.base or "HEAD")
        return bool(commits) and commits[-1].changes[-1].new_oid == oid

    def rows_of(self, kernel: str) -> Sequence[Record]:
        """Every record of a kernel that can be decoded."""
        found = []
        for row, files in self._rows(kernel).items():
            path = f"records/{row}.json"
            for _, data in self._snapshot.stream([(path, files[path])]):
                try:
                    found.append(canonical.decode_lenient(data, Record))
                except ValueError:
                    continue
        return found

    def needing(self, kernel: str) -> Sequence[tuple[str, str]]:
        """Record path and complaint of each row that passes now, and not by the base's measure."""
        return list(self._needing(self._rows(kernel)))

    def needing_of_target(self, target: str) -> Sequence[tuple[str, str]]:
        """The same of the rows of a target that the change touches."""
        touched = [row for row in self.touched_rows() if row.partition("/")[0] == target]
        if not touched:
            return []
        every, _ = Entries(self._snapshot, self._snapshot.lines).rows(touched)
        return list(self._needing(every))

    def _needing(self, rows: Mapping[str, Files]) -> Iterator[tuple[str, str]]:
        base = self.base()
        for row, files in rows.items():
            if base is None or row in self._failing or f"records/{row}.json" not in files:
                continue
            contents = dict(self._snapshot.stream(files.items()))
            judged = judge_row(row, contents, base, self._exists)
            blocking = [one for one in judged.findings if one.severity == "error"]
            if blocking:
                yield f"records/{row}.json", f"{blocking[0].rule} {blocking[0].message}"

    def touched_rows(self) -> set[str]:
        """The rows with a file that the change adds or alters."""
        return {
            row
            for change in self._snapshot.changes
            if change.is_there and (row := row_of(change.path)) is not None
        }

    def changed_records(self) -> Iterator[tuple[str, Record, Record]]:
        """Path, and content before and after, of every record that both states have."""
        changed = {
            path: change
            for path, change in self._there.items()
            if change.was_there and kind_of(path) == "record"
        }
        repository = self._snapshot.repository
        if not changed or repository is None:
            return
        old = git.blobs(repository, [change.old_oid for change in changed.values()])
        new = [(path, change.new_oid) for path, change in changed.items()]
        for path, data in self._snapshot.stream(new):
            before, after = _record(old[changed[path].old_oid]), _record(data)
            # What cannot be read is another rule's affair.
            if before is not None and after is not None:
                yield path, before, after

    def altered_answers(self) -> Iterator[AlteredView]:
        """The lookup answers that differ though no record of theirs changed."""
        snapshot = self._snapshot
        if any(kind_of(change.path) == "generated" for change in snapshot.changes):
            from registry_tool.rules.altered import altered_answers

            yield from altered_answers(snapshot, self._context, self.base)

    def verdicts(self, paths: Sequence[str]) -> Iterator[tuple[str, Verdict]]:
        """Those of the verdicts at ``paths`` that can be read."""
        there = [(path, self._there[path].new_oid) for path in paths if path in self._there]
        for path, data in self._snapshot.stream(there):
            with contextlib.suppress(ValueError):
                yield path, canonical.decode_lenient(data, Verdict)

    def dropped(self) -> Iterator[tuple[str, Verdict, Verdict]]:
        """Path and content of each deleted verdict of a row that stays, and what the row cites."""
        gone = {
            change.path: change.old_oid
            for change in self._snapshot.changes
            if change.was_there and not change.is_there and kind_of(change.path) == "verdict"
        }
        repository = self._snapshot.repository
        if not gone or repository is None:
            return
        old = git.blobs(repository, gone.values())
        for path, oid in gone.items():
            record = f"records/{row_of(path)}.json"
            if record not in self._snapshot.oids or not path.endswith(".json"):
                continue
            with contextlib.suppress(ValueError, KeyError):
                failed = canonical.decode_lenient(old[oid], Verdict)
                row = canonical.decode_lenient(self._snapshot.read(record), Record)
                cited = self._snapshot.read(row.verdict.artifact)
                yield path, failed, canonical.decode_lenient(cited, Verdict)

    def is_new(self, path: str) -> bool:
        """Whether the change brings ``path``."""
        return path in self._there and not self._there[path].was_there

    def is_restored(self, path: str, is_like: Callable[[Record], bool]) -> bool:
        """Whether an earlier version of a record ``is_like`` it, and nothing refuses the row."""
        origin = self._snapshot.origin
        if origin is None or path not in self._there or row_of(path) in self._failing:
            return False
        commits = git.history(origin, [path], self._snapshot.base or "HEAD")
        oids = [one.new_oid for commit in commits for one in commit.changes if one.is_there]
        earlier = (_record(data) for data in git.blobs(origin, oids).values())
        return any(one is not None and is_like(one) for one in earlier)

    @cached_property
    def _there(self) -> dict[str, Change]:
        """What the change adds or alters, without conflicts; nothing else need be listed."""
        return {
            change.path: change
            for change in self._snapshot.changes
            if change.is_there and change.status != "U"
        }

    def line_of(self, path: str, pointer: str) -> int:
        """Where ``pointer`` stands in the file ``path``."""
        from registry_tool.records.explain import line_of

        return line_of(self._snapshot.read(path), pointer)

    def moment(self) -> float:
        """When the change was made: that of the commit, or now; s since 1970."""
        snapshot = self._snapshot
        if snapshot.kind == "revision" and snapshot.repository is not None and snapshot.anchor:
            # A commit's time is its committer's word; but none is of a day to come.
            return min(git.committed(snapshot.repository, snapshot.anchor), time.time())
        return time.time()

    def unsigned(self) -> Sequence[tuple[str, str]]:
        """The same for the signatures of the rows that the change touches."""
        base = self.base()
        if base is None:
            return []
        touched = {row for one in self._snapshot.changes if (row := row_of(one.path)) is not None}
        rows, _ = Entries(self._snapshot, self._snapshot.lines).rows(sorted(touched))
        found = []
        for row, files in rows.items():
            if row in self._failing or f"records/{row}.json" not in files:
                continue
            contents = dict(self._snapshot.stream(files.items()))
            judged = judge_row(row, contents, base, self._exists)
            found += [
                (f"records/{row}.json", f"{one.rule} {one.message}")
                for one in judged.findings
                if one.severity == "error" and one.rule in SIGNATURE_RULES
            ][:1]
        return found

    def _rows(self, kernel: str) -> Mapping[str, Files]:
        every, _ = Entries(self._snapshot, self._snapshot.lines).rows(None)
        return {
            row: files
            for row, files in every.items()
            if place_of(row)[1] == kernel and f"records/{row}.json" in files
        }

    def _exists(self, path: str) -> bool:
        return path in self._snapshot.oids
