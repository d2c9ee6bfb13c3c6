"""Row by row, what a change does: added, removed, renamed, re-measured, edited or only re-noted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from registry_tool.history.diff import difference
from registry_tool.records import canonical
from registry_tool.records.record import Record, Use, Waiver
from registry_tool.records.verdict import Environment, Fact, Verdict
from registry_tool.review import figures
from registry_tool.review.model import Difference, Evidence, RowChange, RowKind, WaiverChange
from registry_tool.review.sides import Side, is_emulated, record
from registry_tool.rules.layout import kind_of, row_of
from registry_tool.store.git import Change

HUMAN = ("used_by", "notes", "waivers")
_SETTINGS = ("variant", "precision", "tile", "herd", "tiles_in_flight")


@dataclass(frozen=True)
class Pair:
    """A row's record on both sides; None where it is not, or cannot be read (``problem``)."""

    row: str
    was: str | None
    before: Record | None
    after: Record | None
    problem: str | None = None
    lost: bool = False

    @property
    def records(self) -> list[Record]:
        """The records that there are."""
        return [one for one in (self.before, self.after) if one is not None]


def pairs(before: Side, after: Side, changes: Sequence[Change]) -> list[Pair]:
    """Every row whose record differs; one that moved is one pair."""
    touched = [change for change in changes if kind_of(change.path) == "record"]
    old = _read(before, {c.path: c.old_oid for c in touched if c.was_there})
    new = _read(after, {c.path: c.new_oid for c in touched if c.is_there})
    moved = _moves(old, new)
    gone = set(moved.values())
    found = []
    for change in touched:
        path = change.path
        if path in gone:
            continue
        source = moved.get(path, path)
        was, now = old.get(source), new.get(path)
        problem = f"it cannot be read: {now}" if isinstance(now, str) else None
        if change.status == "U":
            problem = "its merge is not finished"
        elif problem is None and isinstance(was, str):
            problem = f"it could not be read before: {was}"
        found.append(
            Pair(
                row_of(path) or path,
                row_of(source) if source != path else None,
                was if isinstance(was, Record) else None,
                now if isinstance(now, Record) else None,
                problem,
                isinstance(now, str) or change.status == "U",
            )
        )
    return found


def _read(side: Side, oids: Mapping[str, str]) -> dict[str, Record | str]:
    return {path: record(data) for path, data in side.snapshot.stream(oids.items())}


def _moves(old: Mapping[str, Record | str], new: Mapping[str, Record | str]) -> dict[str, str]:
    """New path to old one of each row that stands on the very verdict of a row that is gone."""
    gone = {
        one.verdict.sha256: path
        for path, one in old.items()
        if path not in new and isinstance(one, Record)
    }
    found: dict[str, str] = {}
    for path, one in new.items():
        if path not in old and isinstance(one, Record):
            source = gone.pop(one.verdict.sha256, None)
            if source is not None:
                found[path] = source
    return found


def change(pair: Pair, before: Side, after: Side, serves: Sequence[str], today: str) -> RowChange:
    """What happened to one row; ``today`` (YYYY-MM-DD) decides which waivers have expired."""
    row = pair.after or pair.before
    target, kernel, _ = pair.row.split("/")
    common: dict[str, Any] = {
        "row": pair.row,
        "path": f"records/{pair.row}.json",
        "target": target,
        "kernel": kernel,
        "emulated": is_emulated(target, after, before),
        "was": pair.was,
        "problem": pair.problem,
        "serves": tuple(serves),
    }
    if row is None:
        return RowChange(kind="unreadable", **common)
    was, now = pair.before, pair.after
    kind = _kind(pair)
    compared = figures.compare(was, now)
    return RowChange(
        kind=kind,
        setting=_setting(row),
        tiles=(was.tiles_in_flight if was else None, now.tiles_in_flight if now else None),
        figures=figures.unproven(compared) if kind == "edited" else compared,
        settings=tuple(_settings(was, now)),
        before=_evidence(was, before),
        after=_evidence(now, after),
        environment=tuple(_environment(was, now, before, after)),
        used_by=_users(row.used_by),
        users_added=_less(_users(_of(now, "used_by")), _users(_of(was, "used_by"))),
        users_removed=_less(_users(_of(was, "used_by")), _users(_of(now, "used_by"))),
        notes=tuple(row.notes),
        notes_added=_less(_of(now, "notes"), _of(was, "notes")),
        notes_removed=_less(_of(was, "notes"), _of(now, "notes")),
        waivers=tuple(_waivers(pair, today)),
        **common,
    )


def _kind(pair: Pair) -> RowKind:
    was, now = pair.before, pair.after
    if pair.lost:
        return "unreadable"
    if was is None:
        return "added"
    if now is None:
        return "removed"
    if pair.was is not None:
        return "renamed"
    if (was.verdict.artifact, was.verdict.sha256) != (now.verdict.artifact, now.verdict.sha256):
        return "re-measured"
    ours, theirs = msgspec.to_builtins(was), msgspec.to_builtins(now)
    differing = {name for name in ours if ours[name] != theirs[name]}
    if differing - set(HUMAN):
        return "edited"
    return "re-noted" if differing else "reformatted"


def _setting(row: Record) -> str:
    variant = [f"{row.variant} ({row.precision})" if row.precision else row.variant or ""]
    tile = [f"{name} {size}" for name, size in row.tile.items()]
    herd = ["herd " + "×".join(map(str, row.herd))]
    return ", ".join([*filter(None, variant), *tile, *herd])


def _settings(was: Record | None, now: Record | None) -> Iterator[Difference]:
    if was is None or now is None:
        return
    ours, theirs = ({name: _plain(one, name) for name in _SETTINGS} for one in (was, now))
    for found in difference(ours, theirs):
        yield Difference(found.field, found.before, found.after)


def _plain(row: Record, name: str) -> Any:
    return msgspec.to_builtins(getattr(row, name))


def _evidence(row: Record | None, side: Side) -> Evidence | None:
    if row is None:
        return None
    link = row.verdict
    signer = side.signer(link.artifact)
    return Evidence(link.kind, link.status, link.artifact, link.flaky is True, signer)


def _environment(
    was: Record | None, now: Record | None, before: Side, after: Side
) -> Iterator[Difference]:
    if was is None or now is None or was.verdict.artifact == now.verdict.artifact:
        return
    ours, theirs = (_around(side, one) for side, one in ((before, was), (after, now)))
    if ours is None or theirs is None:
        return
    for name in dict.fromkeys((*ours, *theirs)):
        if ours.get(name) != theirs.get(name):
            yield Difference(name, ours.get(name), theirs.get(name))


def _around(side: Side, row: Record) -> dict[str, str | None] | None:
    """What surrounded the run of a row, as far as it is known; None if nobody can read it."""
    lines = side.snapshot.below([row.verdict.artifact])
    for _, data in side.snapshot.stream(side.snapshot.narrowed(lines).oids.items()):
        try:
            verdict = canonical.decode_lenient(data, Verdict)
        except (ValueError, RecursionError):
            return None
        return {**_facts(verdict.environment), "tool": verdict.tool_version}
    return None


def _facts(environment: Environment) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in environment.__struct_fields__:
        part = getattr(environment, name)
        if isinstance(part, Fact):
            found[name] = part.value
        else:
            found |= {tool: fact.value for tool, fact in part.items()}
    return found


def _of(row: Record | None, name: str) -> list[Any]:
    return list(getattr(row, name)) if row is not None else []


def _users(uses: Sequence[Use]) -> tuple[str, ...]:
    return tuple(f"{use.model}: {use.site}" for use in uses)


def _less(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    known = set(others)
    return tuple(one for one in some if one not in known)


def _waivers(pair: Pair, today: str) -> Iterator[WaiverChange]:
    was = _latest(_of(pair.before, "waivers"))
    now = _latest(_of(pair.after, "waivers"))
    for rule in dict.fromkeys((*now, *was)):
        old, new = was.get(rule), now.get(rule)
        one = new or old
        assert one is not None
        if new is not None and new.expires < today:
            kind = "expired"
        elif old is None:
            kind = "new"
        elif new is None:
            kind = "removed"
        elif new.expires == old.expires:
            continue
        else:
            kind = "extended" if new.expires > old.expires else "shortened"
        yield WaiverChange(
            pair.row,
            rule,
            kind,  # type: ignore[arg-type]
            one.reason,
            one.by,
            new.expires if new else None,
            old.expires if old else None,
        )


def _latest(waivers: Sequence[Waiver]) -> dict[str, Waiver]:
    return {one.rule: one for one in sorted(waivers, key=lambda one: one.expires)}
