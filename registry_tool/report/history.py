"""What happened to rows, as text for a person and as documents for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import UNSET

from registry_tool.history.diff import difference
from registry_tool.history.environment import Facts
from registry_tool.history.log import Event
from registry_tool.history.series import METRICS, Point
from registry_tool.history.steps import Step
from registry_tool.report.plot import number

_FIGURES = ("mean_rel_L1", "herd")
_GROUPS = ("tile.", "performance.")
_UNREADABLE = "unreadable"
_SHOWN = ("device", "driver", "firmware", "power_mode")


def event_lines(event: Event) -> Iterator[str]:
    """One event: when, who, what, and which fields."""
    yield f"{event.date} {event.commit[:12]} {event.author}: {event.event} {event.record}"
    before, after = event.before or {}, event.after or {}
    if after.get(_UNREADABLE):
        yield f"    it cannot be read: {after[_UNREADABLE]}"
    elif event.event == "changed":
        if before.get(_UNREADABLE):
            yield f"    it could not be read before: {before[_UNREADABLE]}"
        for field in dict.fromkeys(one for one in (*before, *after) if one != _UNREADABLE):
            yield f"    {field}: {value(before.get(field))} -> {value(after.get(field))}"
    else:
        fields = after if event.event == "added" else before
        figures = [
            f"{field} {value(one)}"
            for field, one in fields.items()
            if (field in _FIGURES or field.startswith(_GROUPS)) and one is not None
        ]
        yield f"    {', '.join(figures)}"
    if event.verdict:
        yield f"    verdict {event.verdict}"
    if event.environment is not UNSET and event.environment is not None:
        yield f"    ran on {surroundings(event.environment)}"
    if event.environment_changed is not UNSET:
        yield from (f"    {text}" for text in moved(event.environment_changed))
    if event.cut is True:
        yield "    perhaps older: the clone is shallow, and has nothing before this commit"


def surroundings(facts: Facts) -> str:
    """Device, driver, firmware, power mode and toolchain, as far as they are known."""
    known = [
        text if name == "device" else f"{name.replace('_', ' ')} {text}"
        for name in _SHOWN
        if (text := facts.get(name)) is not None
    ]
    tools = [
        f"{name.removeprefix('toolchain.')} {text}"
        for name, text in facts.items()
        if name.startswith("toolchain.") and text is not None
    ]
    return ", ".join([*known, *tools]) or "an unknown machine"


def moved(changed: Mapping[str, list[str | None]]) -> list[str]:
    """A line for each thing about the machine that is otherwise."""
    return [f"{name}: {text(before)} -> {text(after)}" for name, (before, after) in changed.items()]


def text(fact: str | None) -> str:
    """A fact, or that it is unknown."""
    return "unknown" if fact is None else fact


def value(one: Any) -> str:
    """A field's value as it is read aloud."""
    return one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)


def step_lines(step: Step, environment: Mapping[str, list[str | None]]) -> Iterator[str]:
    """One step: how far, since when, and what was otherwise."""
    unit = METRICS[step.metric][1]
    of = f" {unit}" if unit else ""
    word = "worse" if step.kind == "regression" else "better"
    yield (
        f"{step.row}: {METRICS[step.metric][0]} {number(step.level)} -> "
        f"{number(step.after.value)}{of} ({_share(step)}{word}; {_allowance(step)})"
    )
    first = "first bad commit" if step.kind == "regression" else "first better one"
    yield f"    {first}  {_place(step.after)}"
    yield f"    last before it    {_place(step.before)}"
    if step.start is not None:
        yield f"    crept away since  {_place(step.start)}"
    if step.undone is not None:
        yield f"    back since        {_place(step.undone)}"
    elif not step.confirmed:
        yield "    the latest run: no later one has confirmed it yet"
    yield f"    verdict {step.after.verdict}"
    lines = [*_settings(step), *moved(environment)]
    yield from (f"    {line}" for line in lines)
    if not lines:
        yield "    tile and herd are the same, and all that the verdicts know of the machine"


def _settings(step: Step) -> list[str]:
    return [
        f"{field}: {value(before)} -> {value(after)}"
        for field, (before, after) in settings_changed(step).items()
    ]


def settings_changed(step: Step) -> dict[str, list[Any]]:
    """Field to [before, after] of what the two rows ran with, where it differs."""
    before, after = step.before.version.after, step.after.version.after
    return {
        one.field: [one.before, one.after]
        for one in difference(before or {}, after or {})
        if one.field in _SETTINGS or one.field.startswith("tile.")
    }


_SETTINGS = ("herd", "tiles_in_flight", "precision", "verdict.kind")


def _share(step: Step) -> str:
    return "" if step.share is None else f"{step.share:+.1%}, "


def _allowance(step: Step) -> str:
    source = "default threshold, no spread recorded" if step.by_default else "recorded spread"
    return f"beyond {step.allowed:.1%}, {source}"


def _place(point: Point) -> str:
    commit = point.version.commit
    return f"{commit.oid[:12]} {commit.date} {commit.author}"


def step_document(step: Step, environment: Mapping[str, list[str | None]]) -> dict[str, Any]:
    """One step for a program."""
    return {
        "record": step.row,
        "metric": METRICS[step.metric][0],
        "kind": step.kind,
        "level": step.level,
        "share": step.share,
        "allowed": step.allowed,
        "allowed_by": "default" if step.by_default else "spread",
        "before": _point(step.before),
        "after": _point(step.after),
        "confirmed": step.confirmed,
        "undone": None if step.undone is None else _point(step.undone),
        "crept_since": None if step.start is None else _point(step.start),
        "settings_changed": settings_changed(step),
        "environment_changed": dict(environment),
    }


def _point(point: Point) -> dict[str, Any]:
    commit = point.version.commit
    return {
        "commit": commit.oid,
        "date": commit.date,
        "author": commit.author,
        "value": point.value,
        "spread": point.spread,
        "verdict": point.verdict,
    }
