"""What a run was held to and what it measured: the checks of KR104, KR105, KR108 and KR109."""

from __future__ import annotations

from collections.abc import Iterator

from registry_tool.records import kernel
from registry_tool.records.record import Performance
from registry_tool.records.verdict import Band
from registry_tool.rules.evidence import disagreements, expected_run_id, stored_wrong, worst
from registry_tool.rules.model import Complaint
from registry_tool.rules.views import RowView, VerdictView, logs_of


def gate_as_tight(row: RowView) -> Iterator[Complaint]:
    """Tolerances looser than the page's, asked for or printed."""
    if row.verdict is None or row.spec is None:
        return
    tier = row.record.precision
    try:
        limit = kernel.tolerance(row.spec, tier)
    except KeyError:
        yield Complaint(f"the page of {row.spec.kernel} has no tolerance for {tier or 'any'}")
        return
    gate = row.verdict.verdict.gate
    for name, asked, allowed in (
        ("rtol", gate.rtol, limit.rtol),
        ("atol", gate.atol, limit.atol),
    ):
        # `not <=`, so that nothing slips through beside a comparison.
        if not asked <= allowed:
            yield _loose(row, f"the run was held to {name}={asked:g}", f"/gate/{name}", allowed)
    for at, output in enumerate(row.verdict.verdict.outputs):
        for name, printed, allowed in (
            ("rtol", output.rtol, limit.rtol),
            ("atol", output.atol, limit.atol),
        ):
            # The harness prints two digits of what it was given.
            if not printed <= allowed and not printed <= float(f"{allowed:.1e}"):
                words = f"the harness compared output {output.index} with {name}={printed:g}"
                yield _loose(row, words, f"/outputs/{at}/{name}", allowed)


def _loose(row: RowView, words: str, pointer: str, allowed: float) -> Complaint:
    path = row.verdict.path if row.verdict else row.path
    return Complaint(
        f"{words}; the page of {row.record.kernel} allows {allowed:g}", pointer, path=path
    )


def same_numbers(row: RowView) -> Iterator[Complaint]:
    """What row and verdict say differently."""
    if row.verdict is None:
        return
    record, verdict = row.record, row.verdict.verdict
    if row.verdict.sha256 != record.verdict.sha256:
        yield Complaint(
            f"{row.verdict.path} has the SHA-256 {row.verdict.sha256[:12]}…, the row says "
            f"{record.verdict.sha256[:12]}…",
            "/verdict/sha256",
        )
    if record.verdict.kind != verdict.kind:
        yield Complaint(
            f"the verdict is of the kind {verdict.kind!r}, the row says {record.verdict.kind!r}",
            "/verdict/kind",
        )
    if (record.verdict.flaky is True) != verdict.is_flaky:
        words = "passed only on a retry" if verdict.is_flaky else "passed at once"
        yield Complaint(f"the verdict {words}, the row says otherwise (flaky)", "/verdict/flaky")
    output = worst(verdict)
    for name in ("mean_rel_L1", "max_abs", "max_rel"):
        ours, theirs = getattr(record, name), getattr(output, name, None)
        if ours != theirs:
            yield Complaint(
                f"the verdict measured {name}={theirs}, the row says {ours}", f"/{name}"
            )
    if record.performance != verdict.performance:
        yield Complaint(
            f"the verdict measured {_speed(verdict.performance)}, the row says "
            f"{_speed(record.performance)}",
            "/performance",
        )


def log_unedited(view: VerdictView) -> Iterator[Complaint]:
    """Digests that differ, and logs that do not read back."""
    folder = view.path.rpartition("/")[0]
    if view.verdict.kind != "imported":
        wanted = expected_run_id(view)
        if wanted != view.verdict.run_id:
            yield Complaint(f"its content gives the run id {wanted}: it was edited", "/run_id")
    whole = True
    for stored in logs_of(view.verdict):
        data = view.files.get(stored.name)
        path = f"{folder}/{stored.name}"
        problem = "it is not there" if data is None else stored_wrong(stored, data)
        if problem:
            whole = False
            yield Complaint(
                f"this log is not the one that {view.run_id} captured: {problem}",
                path=path,
                line=1,
            )
    if whole:
        for words in disagreements(view):
            yield Complaint(f"the log does not read back to the verdict: {words}", "/outputs")


def inside_band(row: RowView) -> Iterator[Complaint]:
    """An accuracy that the datapath cannot have, and a band that is not the page's."""
    if row.verdict is None or row.spec is None or row.record.verdict.kind == "diagnosis":
        return
    band, verdict = row.band(), row.verdict.verdict
    if band is None:
        return
    for at, output in enumerate(verdict.outputs):
        value = output.mean_rel_L1
        if value is not None and not band.low <= value <= band.high:
            side = "too good to be this datapath" if value < band.low else "too far off"
            yield Complaint(
                f"mean_rel_L1={value:g} of output {output.index} is outside {_range(band)}: {side}",
                f"/outputs/{at}/mean_rel_L1",
                path=row.verdict.path,
            )
    ran = verdict.subject
    same = (ran.shape, ran.variant, ran.tile, ran.herd) == (
        row.record.shape, row.record.variant, row.record.tile, row.record.herd
    )  # fmt: skip
    if verdict.kind != "harness" or not same:
        return
    judged = verdict.gate.band
    if judged is None or not (judged.low >= band.low and judged.high <= band.high):
        by = "no band" if judged is None else f"the band {_range(judged)}"
        yield Complaint(
            f"the run was judged by {by}; the page says {_range(band)}",
            WIDE_BAND,
            path=row.verdict.path,
            severity="warning",
        )


WIDE_BAND = "/gate/band"
"""Where the complaint about a wide band points: an error if the change itself brings the run."""


def sees_zeros(row: RowView) -> Iterator[Complaint]:
    """A gate that an output of zeros could pass."""
    if row.verdict is None or row.spec is None or row.record.verdict.kind != "harness":
        return
    seen = row.verdict.verdict.gate.zero_share
    if seen is not None and seen >= SEEN:
        return
    band = row.band()
    if band is not None and band.high < ALL_ZERO:
        return
    yield Complaint(
        f"an output of zeros could pass this gate: the share of elements that it would fail is "
        f"{'unknown' if seen is None else f'{seen:.2%}'}, and the page gives no band",
        "/gate/zero_share",
        path=row.verdict.path,
    )


SEEN = 0.01
"""Share of the elements that zeros must fail in: a wrong output fails in more than a stray one."""
ALL_ZERO = 1.0
"""mean_rel_L1 of an output of zeros."""


def _speed(performance: Performance | None) -> str:
    if performance is None:
        return "no performance"
    parts = [f"{performance.latency_us} µs"]
    parts += [f"{performance.gflops} GFLOP/s"] if performance.gflops is not None else []
    parts += [f"{performance.gbps} GB/s"] if performance.gbps is not None else []
    parts += [f"spread {performance.spread}"] if performance.spread is not None else []
    return ", ".join(parts)


def _range(band: Band) -> str:
    return f"{band.low:g} to {band.high:g}"
