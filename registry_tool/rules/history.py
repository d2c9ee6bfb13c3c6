"""KR601 and KR602: what a change may not do to a row, and which commits did it all the same."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec import UNSET

from registry_tool.records.record import Record
from registry_tool.rules.layout import row_of
from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import ChangeView, CommitView

_HUMAN = frozenset(("schema", "schema_version", "used_by", "notes", "waivers", "verdict"))
_MEASURED = [name for name in Record.__struct_fields__ if name not in _HUMAN]
_LINK = ("status", "kind", "flaky")


def _without_a_run(view: ChangeView) -> Iterator[Complaint]:
    for path, before, after in view.changed_records():
        changed = list(_changed(before, after))
        # Taking an edit back is no change without a run: the row agrees with its run again.
        if not changed or view.is_restored(path, partial(_agree, after)):
            continue
        old, new = before.verdict.artifact, after.verdict.artifact
        words = "; ".join(
            f"{name} was {_show(was)} and is {_show(now)}" for name, was, now in changed
        )
        pointer = f"/{changed[0][0].replace('.', '/')}"
        if old == new:
            yield Complaint(
                f"{words}, and the row stands on the same run as before",
                pointer,
                path=path,
                line=view.line_of(path, pointer),
                record=row_of(path),
            )
        elif new.rpartition("/")[2] < old.rpartition("/")[2] and not view.is_new(new):
            yield Complaint(
                f"{words}: the row goes back to an older run, {new.rpartition('/')[2]}",
                "/verdict/artifact",
                path=path,
                line=view.line_of(path, "/verdict/artifact"),
                severity="warning",
                record=row_of(path),
            )


def _agree(one: Record, other: Record) -> bool:
    """Whether what only a run may write is the same in both."""
    return not any(True for _ in _changed(one, other))


def _changed(before: Record, after: Record) -> Iterator[tuple[str, Any, Any]]:
    for name in _MEASURED:
        was, now = getattr(before, name), getattr(after, name)
        if was != now:
            yield name, was, now
    for name in _LINK:
        was, now = getattr(before.verdict, name), getattr(after.verdict, name)
        if was != now:
            yield f"verdict.{name}", was, now


def _show(value: Any) -> str:
    if value is None or value is UNSET:
        return "none"
    if isinstance(value, dict):
        return " ".join(f"{name}={one}" for name, one in value.items())[:200] or "none"
    if isinstance(value, list):
        return "×".join(map(str, value))
    if hasattr(value, "__struct_fields__"):
        return " ".join(
            f"{name}={getattr(value, name)}"
            for name in value.__struct_fields__
            if getattr(value, name) is not None
        )
    return str(value)


def _failing_commit(view: CommitView) -> Iterator[Complaint]:
    for finding in view.findings:
        yield Complaint(
            f"commit {view.oid[:12]} ({view.subject}): {finding.rule} {finding.message}",
            finding.pointer,
            path=finding.path,
            line=finding.line,
            record=finding.record,
            fix=f"git show {view.oid[:12]}; {finding.fix}",
        )


RULES = (
    Rule(
        id="KR601",
        title="changed without a run",
        summary="A change alters a field of a row that only a run may write, and the row cites the "
        "same verdict as before. A row that goes back to an older run only warns; "
        "taking an edit back is fine.",
        rationale="Everything in a row but used_by, notes and waivers is what a run measured. "
        "Where it changes and no new verdict came with it, a person wrote it.",
        fix="git checkout HEAD -- FILE takes the edit back; a new figure needs a new run: "
        "registry-tool verify --force",
        on_change=_without_a_run,
    ),
    Rule(
        id="KR602",
        title="commit that fails",
        summary="A commit of the range (`check --range BASE..HEAD`) fails these rules: it brought "
        "in what they refuse, be it that a later commit took it back.",
        rationale="A commit can be made past every hook (--no-verify, rebase, another host). Who "
        "audits the history must learn which commit let what through.",
        fix="amend the commit before it is pushed; afterwards, mend it in a new one",
        by_policy=True,
        on_commit=_failing_commit,
    ),
)
