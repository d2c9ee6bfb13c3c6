"""Show when each row appeared, changed and was retired: by which commit, verdict and machine.

Everything comes from git: the commits that reach HEAD, newest first. A row is followed by what it
is (target, kernel, shape, variant), wherever its file and its registry lay.

--regressions tells steps instead, accuracy or latency, that exceed what the runs scatter by, and
exits with 1 if one of them still stands. --plot draws one row's figure over its runs.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from registry_tool.commands.common import find, say, say_lines, warn
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError
from registry_tool.history import series, steps
from registry_tool.history.environment import Facts, changed, environments
from registry_tool.history.log import Event, artifact, event
from registry_tool.history.versions import Version, versions
from registry_tool.store import git, git_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from registry_tool.commands.log_selection import Selection
    from registry_tool.store.git import Repository

FORMATS = ("text", "json")
_ENDS_HERE = "history ends here: shallow clone; git fetch --unshallow"
_BUFFER = 1 << 16
_PLOT_ROWS = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which rows to show, since when, and how."""
    parser.add_argument(
        "kernel",
        nargs="?",
        metavar="KERNEL",
        help="only rows of this kernel; * and ? stand for others",
    )
    parser.add_argument(
        "shape",
        nargs="?",
        metavar="SHAPE",
        help="only this shape: 2048x1024x1024, M=2048,K=1024,N=1024, or with +variant",
    )
    which = parser.add_argument_group("which rows and commits")
    which.add_argument("--kernel", dest="kernel_name", metavar="NAME", help="the same as KERNEL")
    which.add_argument("--target", metavar="NAME", help="only rows of this target")
    which.add_argument(
        "--model", metavar="NAME", help="only rows that this model ever used; * and ? too"
    )
    which.add_argument("--author", metavar="TEXT", help="only commits whose author has this in it")
    when = "a commit, 2026-01-31, or '2 weeks ago'"
    which.add_argument("--since", metavar="DATE|REV", help=f"only commits after it: {when}")
    which.add_argument("--until", metavar="DATE|REV", help=f"only commits up to it: {when}")
    how = parser.add_argument_group("what to show of them")
    how.add_argument(
        "--environment", action="store_true",
        help="device, driver, firmware, toolchain of each run (always, for one KERNEL)",
    )  # fmt: skip
    shown = how.add_mutually_exclusive_group()
    shown.add_argument("--regressions", action="store_true", help="only steps to the worse")
    shown.add_argument(
        "--plot", nargs="?", const="", choices=["", *series.METRICS], metavar="FIGURE",
        help=f"draw one row's {', '.join(series.METRICS)}",
    )  # fmt: skip
    how.add_argument(
        "--improvements", action="store_true", help="with --regressions: steps to the better too"
    )
    how.add_argument(
        "--threshold", type=float, metavar="SHARE",
        help="what a latency may change by where no spread was recorded "
        f"(default {steps.PERFORMANCE_SPREAD})",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Print the events, the steps, or the plot."""
    import gc

    # What is read is kept until the end: looking for garbage in it takes a third of the time.
    gc.disable()
    root = find(args)
    repository = git.require_repository(root)
    from registry_tool.commands.log_selection import select

    selection = select(args, repository, root)
    cut = git_limits.cut_at(repository)
    if args.threshold is not None and not 0 <= args.threshold < 100:
        raise UsageError(f"--threshold {args.threshold:g} is no share; expected one like 0.05")
    if args.plot is not None:
        if cut:
            warn(_ENDS_HERE)
        return _plot(args, repository, selection)
    if args.regressions:
        return _regressions(args, repository, selection, cut)
    return _events(args, repository, selection, cut)


def _events(
    args: argparse.Namespace, repository: Repository, selection: Selection, cut: set[str]
) -> int:
    found = selection.of(versions(repository, selection.wanted, selection.until, selection.without))
    if args.environment or selection.kernel is not None:
        listed = list(found)
        machines = environments(repository, listed, selection.until)
        told: Iterator[Event] = (_with_machine(version, machines) for version in listed)
    else:
        told = map(event, found)
    if cut:
        told = (_cut(one, cut) for one in told)
    shown = _say_json(told) if args.format == "json" else _say_text(told)
    if cut:
        warn(_ENDS_HERE)
    elif not shown and args.format == "text":
        say(selection.nothing())
    return EXIT_OK


def _with_machine(version: Version, machines: Mapping[str, Facts | None]) -> Event:
    import msgspec

    told = event(version)
    before, after = artifact(version.before), told.verdict
    here = machines.get(after) if after else None
    there = machines.get(before) if before else None
    moved = {} if before == after else changed(there, here)
    return msgspec.structs.replace(told, environment=here, environment_changed=moved)


def _cut(told: Event, cut: set[str]) -> Event:
    import msgspec

    at_the_end = told.event == "added" and told.commit in cut
    return msgspec.structs.replace(told, cut=True) if at_the_end else told


def _say_text(told: Iterable[Event]) -> bool:
    from registry_tool.report.history import event_lines

    shown = False
    for one in told:
        shown = True
        say_lines(event_lines(one))
    return shown


def _say_json(told: Iterable[Event]) -> bool:
    """One event per line: an indented form takes ten times as long to write."""
    import msgspec

    from registry_tool.report.escape import json_seen

    encode = msgspec.json.Encoder().encode
    before, size, lines = "[\n", 0, []
    for one in told:
        line = json_seen(encode(one).decode())
        lines.append(line)
        size += len(line)
        if size > _BUFFER:
            say(before + ",\n".join(lines), end="")
            before, size, lines = ",\n", 0, []
    if lines:
        say(before + ",\n".join(lines), end="")
        before = ""
    say("[]" if before == "[\n" else "\n]")
    return True


def _rows(repository: Repository, selection: Selection) -> Iterator[tuple[str, list[Version]]]:
    """Each chosen row with the versions that led to it as it stands, oldest first."""
    found = series.by_row(
        selection.of_any_time(versions(repository, selection.wanted, selection.until))
    )
    tips = series.tips(repository, selection.until) if found else {}
    for row in sorted(found):
        yield row, series.line(found[row], tips.get(found[row][0].path))


def _regressions(
    args: argparse.Namespace, repository: Repository, selection: Selection, cut: set[str]
) -> int:
    from registry_tool.commands.common import say_json
    from registry_tool.report.history import step_document, step_lines

    allowed = steps.Allowed()
    if args.threshold is not None:
        allowed = allowed._replace(performance=args.threshold)
    found = [
        step
        for row, line in _rows(repository, selection)
        for step in steps.steps(row, line, allowed)
        if (step.kind == "regression" or args.improvements)
        and selection.takes(step.after.version.commit)
    ]
    machines = environments(
        repository, [point.version for step in found for point in (step.before, step.after)],
        selection.until,
    )  # fmt: skip
    differing = [
        changed(machines.get(one.before.verdict or ""), machines.get(one.after.verdict or ""))
        for one in found
    ]
    if args.format == "json":
        say_json([step_document(*pair) for pair in zip(found, differing, strict=True)])
    else:
        for pair in zip(found, differing, strict=True):
            say_lines(step_lines(*pair))
        standing = sum(step.kind == "regression" and step.undone is None for step in found)
        if not found:
            say("no step beyond what the runs scatter by")
        elif standing:
            say(f"{standing} regression{'s' if standing > 1 else ''} still standing")
    if cut:
        warn(_ENDS_HERE)
    stands = any(step.kind == "regression" and step.undone is None for step in found)
    return EXIT_FINDINGS if stands else EXIT_OK


def _plot(args: argparse.Namespace, repository: Repository, selection: Selection) -> int:
    import sys

    from registry_tool.report import plot

    if args.format == "json":
        raise UsageError("a plot is text", fix="registry-tool log KERNEL SHAPE --format json")
    rows = list(_rows(repository, selection))
    if not rows:
        say(selection.nothing())
        return EXIT_OK
    drawn = False
    for row, line in rows:
        found, metric = _figure(line, args.plot)
        found = [point for point in found if selection.takes(point.version.commit)]
        if not found:
            continue
        drawn = True
        field, unit, _ = series.METRICS[metric]
        runs = f"{len(found)} run{'' if len(found) == 1 else 's'}"
        axes = plot.Axes(
            f"{row}: {field}{f', {unit}' if unit else ''} ({runs})",
            found[0].version.commit.date[:10],
            found[-1].version.commit.date[:10],
        )
        unicode = plot.draws_unicode(sys.stdout.encoding)
        values = [point.value for point in found]
        say_lines(plot.plot(values, axes, plot.width(), _PLOT_ROWS, unicode))
    if not drawn:
        raise UsageError(
            f"no run of {', '.join(row for row, _ in rows[:3])} has such a figure",
            fix=f"registry-tool log {args.kernel or 'KERNEL'} --plot mean_rel_L1",
        )
    return EXIT_OK


def _figure(line: Sequence[Version], asked: str) -> tuple[list[series.Point], str]:
    """The runs with the figure that was asked for; without one, the latency, else the accuracy."""
    for metric in [asked] if asked else ["latency", "mean_rel_L1"]:
        found = series.points(line, metric)
        if found:
            return found, metric
    return [], asked or "latency"
