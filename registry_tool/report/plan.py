"""A working list as text for a terminal, JSON for programs, Markdown for a model's docs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from registry_tool.planning.outlook import Check, Outlook
from registry_tool.planning.tiling import Candidate
from registry_tool.planning.working_list import Line, Proposal, Unpaged, WorkingList
from registry_tool.tables import cells

_WORDS: Mapping[str, str] = {"impossible": "no legal tile"}
_LEAD = " " * 11


def write_text(plan: WorkingList) -> str:
    """One paragraph per need, what blocks most first, and the sums."""
    lines = [text for line in plan.lines for text in _text(line)]
    lines += [
        f"{'no page':<10} {one.part.phase} {one.part.site}: {one.part.reason}\n"
        f"{_LEAD}for {_models(one)}"
        for one in plan.unpaged
    ]
    return "\n".join([*lines, *_sums(plan)])


def _text(line: Line) -> Iterator[str]:
    task = line.task
    yield f"{task.state:<10} {task.text}"
    if task.is_met and task.state == "verified":
        return
    if task.wanted.uses:
        yield f"{_LEAD}for {_sites(line)}"
    for reason in task.reasons:
        yield f"{_LEAD}{reason}"
    for number, proposal in enumerate(line.proposals):
        lead = "would run" if number == 0 else "else"
        yield f"{_LEAD}{lead}: {_how(proposal.candidate)}"
        if number == 0:
            yield from (f"{_LEAD}  {text}" for text in _expected(proposal.outlook))
    if line.estimate is not None:
        yield f"{_LEAD}  about {_time(line.estimate.seconds)}: {line.estimate.source}"
    for obstacle in task.obstacles:
        yield f"{_LEAD}no legal configuration: {obstacle}"


def _sums(plan: WorkingList) -> Iterator[str]:
    runs = sum(line.is_to_run for line in plan.lines)
    if runs:
        parts = [f"{runs} {'run' if runs == 1 else 'runs'} to make"]
        if plan.seconds:
            parts.append(f"about {_time(plan.seconds)} by recorded runs")
        if plan.unestimated:
            parts.append(
                f"{plan.unestimated} of a kernel that has no recorded run on {plan.target}"
            )
        yield "; ".join(parts)
    yield f"{plan.met} of {len(plan.lines)} needs are met on {plan.target}"


def _sites(line: Line) -> str:
    sites: dict[str, list[str]] = {}
    for use in line.task.wanted.uses:
        sites.setdefault(use.model, []).append(use.site)
    lead = f"{len(sites)} models: " if len(sites) > 1 else ""
    return lead + "; ".join(f"{model}: {', '.join(some)}" for model, some in sites.items())


def _models(one: Unpaged) -> str:
    lead = f"{len(one.models)} models: " if len(one.models) > 1 else ""
    return lead + ", ".join(one.models)


def _how(candidate: Candidate) -> str:
    tile = ",".join(f"{knob}={size}" for knob, size in candidate.tile.items()) or "no tile"
    herd = "×".join(map(str, candidate.herd))
    return f"{candidate.variant or 'default'} {tile} herd {herd} ({candidate.source})"


def _expected(outlook: Outlook) -> Iterator[str]:
    hard = [check for check in outlook.checks if check.hard]
    kept = sum(check.holds for check in hard)
    yield f"{kept} of {len(hard)} hard constraints hold"
    for check in outlook.warnings:
        yield f"{_severity(check)}: {check.id}: {check.text}: {check.reason}"
    if outlook.tiles < outlook.target:
        yield f"{outlook.tiles} of {outlook.target} tiles in flight; {_larger(outlook)}"
    else:
        yield f"{outlook.tiles} of {outlook.target} tiles in flight"
    if outlook.band is not None:
        yield f"expected mean_rel_L1 {outlook.band.low:.2e} to {outlook.band.high:.2e}"


def _severity(check: Check) -> str:
    return "WALL" if check.hard else "warning"


def _larger(outlook: Outlook) -> str:
    if not outlook.larger_herds:
        return "no legal herd has more"
    herds = ", ".join("×".join(map(str, herd)) for herd in outlook.larger_herds[:5])
    more = len(outlook.larger_herds) - 5
    return f"legal herds with more: {herds}" + (f" and {more} others" if more > 0 else "")


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min"


def document(plan: WorkingList) -> list[dict[str, object]]:
    """The needs in the stable JSON form, in the order of the list; those without a page last."""
    return [
        *(_document(line) for line in plan.lines),
        *(_unpaged_document(one) for one in plan.unpaged),
    ]


def _unpaged_document(one: Unpaged) -> dict[str, object]:
    """A part without a page: what has no meaning for it is null or empty."""
    return {
        "kernel": None,
        "shape": {},
        "state": "no page",
        "row": None,
        "used_by": [
            {"model": model, "site": f"{one.part.phase} {one.part.site}"} for model in one.models
        ],
        "models": len(one.models),
        "candidates": [],
        "estimate_s": None,
        "estimated_from": None,
        "obstacles": [one.part.reason],
        "stale": [],
    }


def _document(line: Line) -> dict[str, object]:
    task = line.task
    return {
        "kernel": task.wanted.spec.kernel,
        "shape": task.wanted.shape,
        "state": task.state,
        "row": str(task.row) if task.row else None,
        "used_by": [{"model": use.model, "site": use.site} for use in task.wanted.uses],
        "models": len(line.models),
        "candidates": [_proposal(proposal) for proposal in line.proposals],
        "estimate_s": round(line.estimate.seconds, 1) if line.estimate else None,
        "estimated_from": line.estimate.source if line.estimate else None,
        "obstacles": list(task.obstacles),
        "stale": list(task.reasons),
    }


def _proposal(proposal: Proposal) -> dict[str, object]:
    candidate, expected = proposal.candidate, proposal.outlook
    band = expected.band
    return {
        "variant": candidate.variant,
        "tile": candidate.tile,
        "herd": candidate.herd,
        "source": candidate.source,
        "tiles_in_flight": expected.tiles,
        "tiles_target": expected.target,
        "larger_herds": [list(herd) for herd in expected.larger_herds],
        "band": None if band is None else {"low": band.low, "high": band.high},
        "checks": [
            {
                "id": check.id,
                "kind": "hard" if check.hard else "guideline",
                "holds": check.holds,
                "text": check.text,
                "reason": check.reason,
            }
            for check in expected.checks
        ],
    }


def write_markdown(plan: WorkingList) -> str:
    """A checklist table for the docs of a model: one line per need, ticked where it is met."""
    lines = [
        f"{plan.met} of {len(plan.lines)} needs are met on `{plan.target}`.",
        "",
        cells.row(["", "kernel", "shape", "call sites", "state", "run", "tiles", "mind"]),
        cells.row(["---"] * 8),
    ]
    lines += [cells.row([cells.escape(text) for text in _columns(line)]) for line in plan.lines]
    if plan.unpaged:
        lines += ["", "No kernel page covers:", ""]
        lines += [
            "- "
            + cells.escape(f"{_models(one)}: {one.part.phase} {one.part.site}: {one.part.reason}")
            for one in plan.unpaged
        ]
    sums = list(_sums(plan))[:-1]
    return "\n".join([*lines, *(["", f"{sums[0]}."] if sums else [])])


def _columns(line: Line) -> list[str]:
    task = line.task
    first = line.proposals[0] if line.proposals else None
    how = _how(first.candidate) if first else ""
    tiles = f"{first.outlook.tiles}/{first.outlook.target}" if first else ""
    mind = [*task.obstacles, *task.reasons]
    if first is not None:
        mind += [f"{check.id}: {check.reason}" for check in first.outlook.warnings]
    return [
        "☑" if task.is_met else "☐",
        task.wanted.spec.kernel,
        task.text.removeprefix(f"{task.wanted.spec.kernel} "),
        _sites(line),
        _WORDS.get(task.state, task.state),
        how,
        tiles,
        "; ".join(mind),
    ]


FORMATS: Mapping[str, Callable[[WorkingList], str]] = {
    "text": write_text,
    "md": write_markdown,
}
