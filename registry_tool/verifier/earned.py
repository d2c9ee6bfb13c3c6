"""The row that a passing run earns: what people wrote in an earlier one is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from registry_tool.planning.plan import Task
from registry_tool.planning.search import under_target_note
from registry_tool.planning.tiling import Candidate
from registry_tool.records import kernel
from registry_tool.records.record import Record, Use
from registry_tool.records.remarks import COMPUTED, OF_THE_TOOL, REFUSED
from registry_tool.records.remarks import SWEPT as SWEPT
from registry_tool.verifier.runner import Outcome, record_from

NO_LATENCY = "the timing runs print no latency that can be real"
Tried = Sequence[tuple[Candidate, Outcome]]


def record(
    task: Task,
    tried: Tried,
    before: Record | None,
    note: str | None,
    provenance: Mapping[str, str] | None = None,
) -> Record:
    """The row of the last outcome in ``tried``, which passed; ``before`` is the row there was."""
    candidate, passed = tried[-1]
    notes = [text for text in (before.notes if before else []) if not text.startswith(OF_THE_TOOL)]
    if note and note not in notes:
        notes.append(note)
    notes += _computed(task, candidate, passed, tried[:-1])
    return record_from(
        passed.verdict,
        passed.path,
        passed.sha256,
        used_by=merged(before.used_by if before else [], task.wanted.uses),
        notes=notes,
        waivers=before.waivers if before else [],
        provenance=provenance,
    )


def merged(known: Sequence[Use], more: Sequence[Use]) -> list[Use]:
    """Both, each use once."""
    return list(dict.fromkeys([*known, *more]))


def _computed(task: Task, candidate: Candidate, passed: Outcome, failed: Tried) -> Iterator[str]:
    spec, shape, verdict = task.wanted.spec, task.wanted.shape, passed.verdict
    if failed:
        first = kernel.precision_of(spec, failed[0][0].variant)
        tier = verdict.subject.precision
        lead = f"tier-down from {first} to {tier}: " if tier != first else ""
        tried = "; ".join(
            f"{one.variant} did not pass ({_why(outcome)})" for one, outcome in failed
        )
        yield f"{COMPUTED}{lead}{tried}"[:1000]
    if verdict.is_flaky:
        yield f"{COMPUTED}flaky: {_flaky(passed)}"[:1000]
    if verdict.kind == "diagnosis":
        yield (
            f"{COMPUTED}covered by the diagnosis of a model: no harness runs this kernel alone, "
            "and no figure of it was measured"
        )
    if verdict.profile is not None and verdict.performance is None:
        bad = [run.reason for run in verdict.profile if run.status != "pass"]
        yield f"{COMPUTED}not timed: {bad[0] if bad else NO_LATENCY}"[:1000]
    if kernel.tiles_in_flight(candidate.herd) < spec.tiles_target:
        reason = under_target_note(spec, shape, candidate.variant)
        if reason is not None:
            yield reason
        elif task.refusals:
            yield from _refused(task, kernel.tiles_in_flight(candidate.herd))


def _refused(task: Task, tiles: int) -> Iterator[str]:
    more = [
        f"{'x'.join(map(str, refusal.herd))} ({refusal.message})"
        for refusal in task.refusals
        if refusal.tiles_in_flight > tiles
    ]
    if more:
        yield f"{REFUSED}{'; '.join(more)}"[:1000]


def _flaky(passed: Outcome) -> str:
    attempts = passed.verdict.attempts
    if len(attempts) > 1:
        first = attempts[0]
        return f"passed on attempt {len(attempts)}; before: {first.status} ({first.reason})"
    return f"passed after {passed.verdict.earlier_failures} earlier run(s) of it did not"


def _why(outcome: Outcome) -> str:
    # The judge lists every signal, the weightiest first; a note needs no more than that one.
    first = (outcome.verdict.reason or "").partition(";")[0]
    return f"{outcome.verdict.status}: {first}"
