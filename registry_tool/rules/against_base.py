"""Judging a change: what differs from the base, and which rows only pass by a loosened measure."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from registry_tool.records import canonical
from registry_tool.records.record import Record
from registry_tool.rules import context as contexts
from registry_tool.rules.catalog import RULES
from registry_tool.rules.entries import Entries, Files, place_of
from registry_tool.rules.judging import Site, judge_row, place
from registry_tool.rules.layout import kind_of, row_of
from registry_tool.rules.ledger import ledger
from registry_tool.rules.model import Finding
from registry_tool.rules.signatures import SIGNATURE_RULES
from registry_tool.rules.views import ChangeView, Context
from registry_tool.store import git
from registry_tool.store.git import Change
from registry_tool.store.snapshot import Snapshot

_CONTEXT = ("registry.yaml", "kernels", "models", "signers")


def judge_change(
    snapshot: Snapshot,
    context: Context,
    failing: set[str],
    baseline: Mapping[str, Sequence[Any]] | None,
    imported: Mapping[str, Sequence[str]],
) -> list[Finding]:
    """Findings about what differs from the base; ``failing`` are rows that are refused anyway.

    ``baseline`` and ``imported`` are those of `State`.
    """
    changes = [change for change in snapshot.changes if _matters(change)]
    owed = ledger(snapshot, baseline, imported)
    if snapshot.repository is None or (not changes and owed is None):
        return []
    seeker = _Seeker(snapshot, failing)
    of_context = any(kind_of(c.path) in ("policy", "spec", "signers") for c in changes)
    base = seeker.base() if of_context else None
    view = ChangeView(
        changes,
        context,
        base,
        seeker.cited,
        seeker.is_original,
        seeker.rows_of,
        seeker.needing,
        seeker.unsigned,
        owed,
    )
    return [
        place(rule, complaint, Site("", row_of(complaint.path or "")))
        for rule in RULES
        if rule.on_change
        for complaint in rule.on_change(view)
    ]


def _matters(change: Change) -> bool:
    kind = kind_of(change.path)
    # A new page may stand in the place of a built-in one, and a new file of signers in that of
    # another; all else that is new changes nothing.
    if kind in ("spec", "signers"):
        return True
    return change.was_there and kind in ("policy", "verdict", "log", "signature")


class _Seeker:
    """Answers what a rule asks about a change; each answer is looked up when it is asked for."""

    def __init__(self, snapshot: Snapshot, failing: set[str]) -> None:
        self._snapshot = snapshot
        self._failing = failing
        self._base: Context | None = None

    def base(self) -> Context | None:
        """Policy and pages of the base."""
        snapshot = self._snapshot
        if snapshot.repository is None or snapshot.base is None:
            return None
        lines = git.tree(snapshot.repository, snapshot.base, _CONTEXT)
        before = snapshot.narrowed(lines)
        self._base, _ = contexts.read(before)
        return self._base

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
        assert self._snapshot.repository is not None
        commits = git.history(self._snapshot.repository, [path], self._snapshot.base or "HEAD")
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
        if self._base is None:
            return []
        found = []
        for row, files in self._rows(kernel).items():
            if row in self._failing:
                continue
            contents = dict(self._snapshot.stream(files.items()))
            judged = judge_row(row, contents, self._base, self._exists)
            blocking = [one for one in judged.findings if one.severity == "error"]
            if blocking:
                found.append((f"records/{row}.json", f"{blocking[0].rule} {blocking[0].message}"))
        return found

    def unsigned(self) -> Sequence[tuple[str, str]]:
        """The same for the signatures of the rows that the change touches."""
        if self._base is None:
            return []
        touched = {row for one in self._snapshot.changes if (row := row_of(one.path)) is not None}
        rows, _ = Entries(self._snapshot, self._snapshot.lines).rows(sorted(touched))
        found = []
        for row, files in rows.items():
            if row in self._failing or f"records/{row}.json" not in files:
                continue
            contents = dict(self._snapshot.stream(files.items()))
            judged = judge_row(row, contents, self._base, self._exists)
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
