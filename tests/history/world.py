"""Rows with figures of our choice, run after run, as a device would leave them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from registry_tool.records import catalog
from registry_tool.records.record import Performance
from registry_tool.records.verdict import Fact
from tests.examples.build import GEMM, SMALL, Row, finish, make_row
from tests.examples.example import Example

KEY = "2048x1024x1024+drain"
ROW = f"npu2/{GEMM}/{KEY}"
SHAPE = "2048x1024x1024"


def measured(
    latency_us: float, second: int, spread: float | None = 0.02, driver: str = "2.18"
) -> Row:
    """One row on ``npu2``, measured once more; ``second`` tells the runs apart."""
    row = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2", second)
    verdict = replace(
        row.verdict,
        performance=Performance(
            latency_us=latency_us, gflops=4294967.296 / latency_us, gbps=None, spread=spread
        ),
        environment=replace(row.verdict.environment, driver=Fact(value=driver, reason=None)),
        attempts=[],
    )
    return finish(verdict, row.id, list(row.verdict.attempts[0].command), second)


def run_after_run(example: Example, latencies: Sequence[float], drivers: Sequence[str]) -> None:
    """A commit per run; each is a second younger than the one before."""
    for at, (latency, driver) in enumerate(zip(latencies, drivers, strict=True)):
        example.add(measured(latency, 100 + at, driver=driver))
        example.git("add", "-A")
        stamp = f"2020-02-01T00:00:{at:02d}Z"
        example.environment.update(GIT_COMMITTER_DATE=stamp, GIT_AUTHOR_DATE=stamp)
        example.git("commit", "-q", "--no-verify", "-m", f"run {at}")
