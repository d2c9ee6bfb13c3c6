"""What a model's own three files say of the gate: bodies of regions, as Markdown.

Every text that comes from a log, a note or a name goes through `tables.cells`, so that a reader
sees just that text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from registry_tool.phase1.blockers import Blocker
from registry_tool.phase1.evidence import seconds_of
from registry_tool.phase1.gate import CRITERIA, Gate, NeedState
from registry_tool.phase1.regions import Section
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.tables.cells import escape, row
from registry_tool.tables.columns import CELLS, NOTHING, error_text

KERNELS = "docs/development_progress/phase1_kernels.md"
PROGRESS = "docs/development_progress/progress.md"
TODO = "TODO.md"

_COLUMNS = (
    ("Kernel", "---"),
    ("Shape", "---"),
    ("Used at", "---"),
    ("Source", "---"),
    ("Verdict", "---"),
    ("mean_rel_L1", "---:"),
    ("max_abs", "---:"),
    ("max_rel", "---:"),
    ("Performance", "---:"),
    ("Tile", "---"),
    ("Tiles", "---:"),
    ("Notes", "---"),
)
# A heading of the phase, whatever it says in brackets.
_PHASE_1 = r"Phase 1(?:[ \t]*\([^()\n]*\))?"
_TARGET = re.compile(
    r"^(?:\*\*)?Target (\S+?)(?:, measured on the device\.$| is an emulation: )", re.M
)
_MISSING_PAGE = re.compile(r"\bno page\b", re.I)


@dataclass(frozen=True)
class Page:
    """One of the files: ``path`` is relative to the model's folder.

    ``target`` is the one that its regions tell of.
    """

    path: str
    title: str
    lead: str
    sections: tuple[Section, ...]
    target: str | None = None


def pages(gate: Gate, blockers: Sequence[Blocker]) -> list[Page]:
    """The three files of the model."""
    name, target = gate.model.model, gate.target
    progress = _body(_progress(gate, blockers))
    return [
        Page(
            KERNELS,
            f"Phase 1 kernels of {escape(name)}",
            f"Every kernel and shape that {escape(name)} needs, and the run that proves it.",
            (Section("kernels", "Phase 1 kernels", _body(_kernels(gate))),),
            target,
        ),
        Page(
            PROGRESS,
            f"Progress of {escape(name)}",
            "What is done, and what it took.",
            (Section("phase1", "Phase 1", progress, kind=_PHASE_1, below=progress),),
            target,
        ),
        Page(
            TODO,
            f"{escape(name)}: to do",
            "The regions are generated; the words around them are yours.",
            (
                Section(
                    "phase1",
                    None,
                    _body([f"## {heading(gate)}", "", *_checklist(gate)]),
                    kind=_PHASE_1,
                    below=_body([f"{heading(gate)}.", "", *_checklist(gate)]),
                ),
                Section("blockers", "Active blockers", _body(_blockers(gate, blockers))),
                Section("prerequisites", "Phase 2 prerequisites", _body(_prerequisites(gate))),
            ),
            target,
        ),
    ]


def _body(lines: Iterable[str]) -> bytes:
    # Blank lines around it, so that no marker runs into a table or a list.
    text = "\n".join(lines).strip("\n")
    return f"\n{text}\n\n".encode()


def target_of(body: bytes) -> str | None:
    """The target that a region tells of, if it says so."""
    match = _TARGET.search(body.decode("utf-8", "replace"))
    return match[1].replace("\\", "") if match else None


def _lead(gate: Gate) -> Iterator[str]:
    where = f"Target {escape(gate.target)}"
    if gate.emulated:
        yield (
            f"**{where} is an emulation: these numbers are emulated and stand for no hardware.** "
            "They prove the numerics of a datapath, and nothing about speed."
        )
    else:
        yield f"{where}, measured on the device."
    yield ""


# What would open a block (a heading, a quote, a list in the list) at the start of an item.
_BLOCK = re.compile(r"(?:[#>+=-]|[0-9]{1,9}(?=[.)]))")


def item(text: str) -> str:
    """The source of a list item, or of a line in one, that shows ``text``."""
    source = escape(text)
    match = _BLOCK.match(source)
    if match is None:
        return source
    if match[0].isdigit():
        return f"{match[0]}\\{source[match.end() :]}"
    return f"\\{source}"


# phase1_kernels.md


def _kernels(gate: Gate) -> Iterator[str]:
    yield from _lead(gate)
    yield f"{gate.met} of {len(gate.needs)} kernels hold all four criteria."
    yield ""
    yield row([escape(title) for title, _ in _COLUMNS])
    yield "|" + "|".join(delimiter for _, delimiter in _COLUMNS) + "|"
    for need in gate.needs:
        yield row([escape(text) for text in _cells(gate, need)])


def _cells(gate: Gate, need: NeedState) -> list[str]:
    kind = "emulated" if gate.emulated else "hardware"
    head = [need.kernel, need.shape, "\n".join(need.sites), need.source, verdict_text(gate, need)]
    notes = complaints(need)
    if need.record is None:
        return [*head, *[NOTHING] * (len(_COLUMNS) - len(head) - 1), "\n".join(notes)]
    record = need.record
    spec = need.block or need.wanted.spec
    waived = [f"{one.rule} waived until {one.expires}: {one.reason}" for one in record.waivers]
    sources = [f"{field}: {source}" for field, source in record.provenance.items()]
    notes += [*record.notes, *sources, *waived, *need.remarks]
    return [
        *head,
        mean_rel_L1(record),
        CELLS["max_abs"](record, spec, kind, None),
        CELLS["max_rel"](record, spec, kind, None),
        performance_text(record, spec, kind),
        _tile(record, spec, kind),
        tiles_text(record, spec),
        "\n".join(notes) or NOTHING,
    ]


def mean_rel_L1(record: Record) -> str:
    """The accuracy; a diagnosis has none, whatever the record says."""
    return error_text(None if record.verdict.kind == "diagnosis" else record.mean_rel_L1)


def verdict_text(gate: Gate, need: NeedState) -> str:
    """The verdict in words: a flaky pass and an emulated one are called so."""
    if need.record is None:
        if need.failing is not None:
            return f"{need.failing.verdict.status}\n{need.failing.verdict.run_id}"
        return "impossible" if need.obstacles else "not run"
    how = [*(["flaky"] if need.flaky else []), *(["emulated"] if gate.emulated else [])]
    status = need.record.verdict.status + (f" ({', '.join(how)})" if how else "")
    if not need.holds("correctness"):
        status = f"{status}, refused"
    return f"{status}\n{need.cited.verdict.run_id}" if need.cited is not None else status


def performance_text(record: Record, spec: KernelSpec, kind: str) -> str:
    """Latency, throughput and spread; the word `emulated` on an emulated target."""
    latency = CELLS["latency"](record, spec, kind, None)
    if kind != "hardware" or record.performance is None:
        return latency
    speed = CELLS["performance"](record, spec, kind, "unit")
    spread = record.performance.spread
    parts = [latency, *([speed] if speed != NOTHING else [])]
    parts += [f"spread {100 * spread:.1f} %"] if spread is not None else []
    return ", ".join(parts)


def _tile(record: Record, spec: KernelSpec, kind: str) -> str:
    herd = "×".join(map(str, record.herd)) or NOTHING
    sizes = ", ".join(f"{knob}={size}" for knob, size in record.tile.items())
    return "\n".join(part for part in (record.variant, sizes, f"herd {herd}") if part)


def tiles_text(record: Record, spec: KernelSpec) -> str:
    """Tiles in flight, with the target where they are fewer."""
    tiles = record.tiles_in_flight
    return f"{tiles} of {spec.tiles_target}" if tiles < spec.tiles_target else str(tiles)


# progress.md


def _progress(gate: Gate, blockers: Sequence[Blocker]) -> Iterator[str]:
    verdicts = gate.verdicts
    failed = sum(one.verdict.status != "pass" for one in verdicts)
    flaky = [need for need in gate.needs if need.flaky]
    yield from _lead(gate)
    yield f"- {gate.met} of {len(gate.needs)} kernels hold all four criteria"
    for criterion in CRITERIA:
        yield f"  - {criterion}: {sum(need.holds(criterion) for need in gate.needs)}"
    yield f"- {len(verdicts)} verdicts: {len(verdicts) - failed} pass, {failed} do not"
    yield f"- {len(flaky)} flaky, {len(blockers)} blocked"
    yield (
        f"- Total time: {duration(seconds_of(verdicts))}. It is the wall time of every start of a "
        "harness (compile, gated and timing runs, failed attempts too) behind these verdicts, "
        "without the time waited for the device lock; a verdict that another model shares counts "
        "here as well"
    )
    if verdicts:
        newest = max(verdicts, key=lambda one: one.verdict.run_id)
        yield f"- Newest verdict: {newest.verdict.run_id}"
    yield ""
    yield row(["Kernel", "Passed", "Needs", "Verdicts", "Time"])
    yield "|---|---:|---:|---:|---:|"
    for name in dict.fromkeys(need.kernel for need in gate.needs):
        needs = [need for need in gate.needs if need.kernel == name]
        own = list({one.path: one for need in needs for one in need.verdicts}.values())
        passed = sum(need.passed for need in needs)
        cells = [name, str(passed), str(len(needs)), str(len(own)), duration(seconds_of(own))]
        yield row([escape(cell) for cell in cells])


def duration(seconds: float) -> str:
    """A time in words, e.g. ``1 h 02 min 03 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min {rest:02} s" if hours else f"{minutes} min {rest:02} s"


# TODO.md


def heading(gate: Gate) -> str:
    """The line that says how far Phase 1 is."""
    return f"Phase 1 ({gate.met}/{len(gate.needs)} kernels PASSED)"


def _checklist(gate: Gate) -> Iterator[str]:
    yield from _lead(gate)
    for need in gate.needs:
        mark = "x" if need.passed else " "
        flaky = " (flaky)" if need.flaky else ""
        yield f"- [{mark}] {_named(need)}{flaky}"
        for complaint in complaints(need):
            yield f"  - {item(complaint)}"
        for command in next_steps(need):
            yield f"  - next: {escape(command)}"


def complaints(need: NeedState) -> list[str]:
    """Why criteria do not hold, those with one reason together."""
    found: dict[str, list[str]] = {}
    for problem in need.problems:
        found.setdefault(problem.reason, []).append(problem.criterion)
    return [f"{', '.join(criteria)}: {reason}" for reason, criteria in found.items()]


def next_steps(need: NeedState) -> list[str]:
    """What to type for an unmet need, each thing once."""
    return list(dict.fromkeys(problem.next for problem in need.problems))


def _named(need: NeedState) -> str:
    return f"{escape(f'{need.kernel} {need.shape}')} ({escape('; '.join(need.sites))})"


def _blockers(gate: Gate, blockers: Sequence[Blocker]) -> Iterator[str]:
    if gate.emulated:
        yield from _lead(gate)
    if not blockers:
        yield "None."
    for one in blockers:
        tries = f" after {one.attempts} attempts" if one.attempts > 1 else ""
        yield f"- {_named(one.need)}: {escape(f'{one.status}{tries}: {one.reason}')}"
        for cause in one.causes:
            yield (
                f"  - Likely cause: {escape(cause.likely)} (symptom: {escape(cause.symptom)}); "
                f"look at: {escape(cause.look_at)}"
            )
        if one.verdict is not None:
            log = one.log or "not there any more"
            yield f"  - Log: {escape(log)} (in the registry)"


def _prerequisites(gate: Gate) -> Iterator[str]:
    """What no page covers, as the model says, and what has no signal on this target."""
    model = gate.model
    uncovered = [f"{one.phase} {one.site}: {one.reason}" for one in model.uncovered]
    uncovered += [note for note in model.notes if _MISSING_PAGE.search(note)]
    for need in gate.needs:
        for problem in need.problems:
            if problem.criterion == "signal":
                uncovered.append(f"{'; '.join(need.sites)}: {problem.reason}")
    if uncovered:
        yield "Operations that no page covers:"
        yield ""
        yield from (f"- {item(text)}" for text in dict.fromkeys(uncovered))
    else:
        yield "Every operation that was derived from the config has a page."
    assumed = [note for note in model.notes if not _MISSING_PAGE.search(note)]
    if assumed:
        yield ""
        yield "Assumed when the needs were derived:"
        yield ""
        yield from (f"- {item(text)}" for text in assumed)
