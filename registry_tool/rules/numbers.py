"""KR501 and KR502: speeds that fit the work of their kernel, and that a device can reach."""

from __future__ import annotations

from collections.abc import Iterator

from registry_tool.records import expressions, kernel
from registry_tool.records.spec import Limits
from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import RowView

_SLACK = 0.03
_UNITS = {"gflops": "GFLOP/s", "gbps": "GB/s"}

# docs/decisions/0026 says where the figures come from: what the vendor publishes for any device of
# the kind, and a fifth more.
BUILT_IN = {"npu2": Limits(gflops=60_000.0, gbps=308.0)}


def _fits_work(row: RowView) -> Iterator[Complaint]:
    speed, spec = row.record.performance, row.spec
    if speed is None or spec is None:
        return
    said = getattr(speed, spec.metric)
    implied = kernel.throughput(spec, row.record.shape, speed.latency_us)
    if said is None or implied is None:
        return
    # A figure that was written with few digits may be off by half of the last one.
    rounding = _half_step(said) + implied * _half_step(speed.latency_us) / speed.latency_us
    if abs(said - implied) > _SLACK * implied + rounding:
        yield Complaint(
            f"{speed.latency_us:g} µs for this shape is {implied:.6g} {_UNITS[spec.metric]}; the "
            f"row says {said:g}, {abs(said / implied - 1):.1%} off",
            f"/performance/{spec.metric}",
        )


def _half_step(value: float) -> float:
    """Half of the last digit that ``value`` is written with."""
    whole, _, fraction = repr(value).partition(".")
    if "e" in whole or "e" in fraction:
        return 0.0
    return 0.5 if fraction in ("", "0") else 0.5 * 10.0 ** -len(fraction)


def _within_limits(row: RowView) -> Iterator[Complaint]:
    speed, spec = row.record.performance, row.spec
    if speed is None or spec is None or row.target is None:
        return
    own, built_in = row.target.limits, BUILT_IN.get(row.record.target)
    known = kernel.names(spec, row.record.shape)
    for metric, work in (("gflops", spec.work.flops), ("gbps", spec.work.bytes)):
        limit = getattr(own, metric, None) or getattr(built_in, metric, None)
        if limit is None:
            continue
        said = getattr(speed, metric)
        if said is not None and said > limit:
            yield Complaint(
                f"{said:g} {_UNITS[metric]} is more than {row.record.target} can do: {limit:g}",
                f"/performance/{metric}",
            )
        elif work is not None:
            needed = expressions.number(work, known) / speed.latency_us / 1e3
            if needed > limit:
                yield Complaint(
                    f"{speed.latency_us:g} µs for this shape takes {needed:.6g} {_UNITS[metric]}, "
                    f"more than {row.record.target} can do: {limit:g}",
                    "/performance/latency_us",
                )


RULES = (
    Rule(
        id="KR501",
        title="speed does not fit the work",
        summary="Latency and throughput of a row differ by more than 3 % of what the work of its "
        "kernel's page makes of them.",
        rationale="Throughput is work over time, and the work is known from the shape: where the "
        "three disagree, one was edited, misread or counted by another formula.",
        fix="look at the log; VERIFY --force",
        waivable="always",
        owed=True,
        on_row=_fits_work,
    ),
    Rule(
        id="KR502",
        title="faster than the device",
        summary="A throughput, or what a latency would take, is above what the device can do: "
        "`limits` of its target in registry.yaml, or the built-in ones for npu2 (60,000 GFLOP/s "
        "and 308 GB/s).",
        rationale="What no device can reach was not measured on it: the timer did not cover the "
        "run, or the figure is of something else.",
        fix="look at the log; VERIFY --force; if the device can do more, set "
        "targets.TARGET.limits in registry.yaml in a change of its own",
        owed=True,
        on_row=_within_limits,
    ),
)
