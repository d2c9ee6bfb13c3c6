"""KR113-KR115: what every real run leaves, when it can have been, and what it may not hide."""

from __future__ import annotations

import calendar
import itertools
import re
from collections.abc import Iterator, Sequence

from msgspec import UNSET

from registry_tool.records.verdict import Attempt, Verdict
from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import ChangeView, RowView, VerdictView

_HELD_AGAINST = ("fail", "incomplete")
_CLOCK_S = 60
"""A clock that is set while a row runs must not make a forger of anybody."""
_DAY_S = 86_400
_RUN_ID = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-")


def _complete(row: RowView) -> Iterator[Complaint]:
    target, spec, view = row.target, row.spec, row.verdict
    if target is None or target.kind != "hardware" or spec is None or view is None:
        return
    verdict, harness = view.verdict, spec.harness.get(row.record.target)
    if verdict.kind != "harness" or verdict.status != "pass" or harness is None:
        return
    if not verdict.sources:
        words = "it names no file of the harness that ran; a run on hardware notes their digests"
        yield Complaint(words, "/sources", path=view.path)
    timed = len(verdict.profile or ())
    if verdict.performance is not None and harness.timing and timed < target.timing_runs:
        yield Complaint(
            f"its speed is of {_runs(timed)}, registry.yaml asks for {target.timing_runs} "
            f"(targets.{row.record.target}.timing_runs)",
            "/profile",
            path=view.path,
        )


def _runs(number: int) -> str:
    return {0: "no timing run", 1: "1 timing run"}.get(number, f"{number} timing runs")


def _possible_times(view: VerdictView) -> Iterator[Complaint]:
    verdict = view.verdict
    for pointer, run in _all_runs(verdict):
        if run.seconds == 0.0:
            yield Complaint("a run that took no time at all", f"{pointer}/seconds")
    if len(verdict.attempts) + len(verdict.profile or ()) > 1:
        yield from _in_turn(verdict)


def _all_runs(verdict: Verdict) -> Iterator[tuple[str, Attempt]]:
    for at, run in enumerate(verdict.attempts):
        yield f"/attempts/{at}", run
    for at, run in enumerate(verdict.profile or ()):
        yield f"/profile/{at}", run
    if verdict.compile is not UNSET:
        yield "/compile", verdict.compile


def _in_turn(verdict: Verdict) -> Iterator[Complaint]:
    """Attempts, and then the timing runs, follow each other; none starts while one is running."""
    runs = [one for one in _all_runs(verdict) if one[0] != "/compile"]
    for (_, before), (pointer, after) in itertools.pairwise(runs):
        if moment(after.started) + _CLOCK_S < moment(before.started) + before.seconds:
            yield Complaint(
                f"a run started at {after.started}, while the one before it, of {before.started}, "
                f"still had {before.seconds:g} s to go",
                f"{pointer}/started",
            )


def moment(started: str) -> float:
    """A timestamp of a run as seconds since 1970; 0 for a day that no calendar has."""
    digits = [int(part) for part in re.findall(r"\d+", started)]
    try:
        return float(calendar.timegm((*digits[:6], 0, 0, 0)))
    except (ValueError, OverflowError):
        return 0.0


def _of_now(view: ChangeView) -> Iterator[Complaint]:
    runs: dict[str, float] = {}
    for change in view.every:
        folder, _, name = change.path.rpartition("/")
        match = _RUN_ID.match(name)
        is_new = change.is_there and not change.was_there
        if match and is_new and folder.startswith("verdicts/") and name.endswith(".json"):
            runs[change.path] = moment(" ".join(match.groups()))
    latest = view.moment() + _DAY_S if runs else 0.0
    for path, started in runs.items():
        if started > latest:
            yield Complaint("the run is of a day that is still to come", "/run_id", path=path)
    yield from _one_at_a_time(view, list(runs))


def _one_at_a_time(view: ChangeView, paths: Sequence[str]) -> Iterator[Complaint]:
    """Runs of this change that held one device's lock at the same time."""
    targets = {n for n, t in view.context.policy.targets.items() if t.kind == "hardware"}
    paths = [path for path in paths if path.split("/")[1] in targets]
    spans: dict[tuple[str, str], list[tuple[float, float, str]]] = {}
    for path, verdict in view.verdicts(paths):
        host = verdict.environment.host.value
        if host is None or verdict.kind != "harness":
            continue
        for pointer, run in _all_runs(verdict):
            if pointer != "/compile" and run.step != "compile":
                start = moment(run.started)
                place = spans.setdefault((host, verdict.subject.target), [])
                place.append((start, start + run.seconds, path))
    for found in spans.values():
        found.sort()
        last = found[0]
        for one in found[1:]:
            # Starts are whole seconds.
            if one[2] != last[2] and one[0] + 1 < last[1]:
                other = last[2].rpartition("/")[2]
                yield Complaint(
                    f"a run of it and one of {other} were on the same device at the same time; "
                    "the device's lock lets one run after the other",
                    "/attempts",
                    path=one[2],
                    severity="warning",
                )
            last = max(last, one, key=lambda span: span[1])


def _nothing_hidden(row: RowView) -> Iterator[Complaint]:
    view = row.verdict
    if view is None or view.verdict.status != "pass" or not row.beside:
        return
    verdict = view.verdict
    failed = [one for one in row.beside if _counts_against(one, verdict)]
    told = 0 if verdict.earlier_failures is UNSET else verdict.earlier_failures
    if len(failed) > told:
        host = verdict.environment.host.value
        same = any(one.environment.host.value == host for one in failed)
        yield Complaint(
            f"{_recipes(len(failed))} before it did not pass ({failed[-1].run_id}: "
            f"{failed[-1].reason or failed[-1].status}), and it tells of {told or 'none'}",
            "/earlier_failures" if told else "",
            path=view.path,
            line=None if told else 1,
            # On another machine, nobody may have known of it.
            severity="error" if same else "warning",
        )


def _counts_against(one: Verdict, passed: Verdict) -> bool:
    """Whether `verify` would have counted ``one`` when ``passed`` was made."""
    return (
        one.status in _HELD_AGAINST
        and one.canary is UNSET
        and one.run_id < passed.run_id
        and one.subject == passed.subject
        and one.sources == passed.sources
    )


def _recipes(number: int) -> str:
    return "a run of this very recipe" if number == 1 else f"{number} runs of this very recipe"


_AGAIN = "VERIFY --force"

RULES = (
    Rule(
        id="KR113",
        title="incomplete evidence",
        summary="A pass on hardware names no harness files, or its speed is of fewer timing runs "
        "than registry.yaml asks for.",
        rationale="Every run of the verifier notes the digests of the harness's files, and times "
        "as often as the policy says. A verdict without them was cut, or written by hand.",
        fix=_AGAIN,
        on_row=_complete,
    ),
    Rule(
        id="KR114",
        title="impossible times",
        summary="A run took no time, started while the one before it was still running, or is of a "
        "day to come. Runs of two verdicts of one change that were on one device at the same time "
        "warn.",
        rationale="Runs on a device follow each other under its lock, and take time. Clocks may be "
        "off by a little, never by this much.",
        fix=_AGAIN,
        on_verdict=_possible_times,
        on_change=_of_now,
    ),
    Rule(
        id="KR115",
        title="hidden failure",
        summary="A verdict of the very same recipe and sources that did not pass stands beside the "
        "cited one, and that does not count it (earlier_failures). A failure on another machine "
        "only warns.",
        rationale="A kernel that passes on some runs is flaky, and whoever relies on the row must "
        "see that. Running until it passes washes nothing clean.",
        fix=_AGAIN,
        on_row=_nothing_hidden,
    ),
)
