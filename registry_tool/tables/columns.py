"""What each column of a kernel's table shows of a row, as text; Markdown is not its affair."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from registry_tool.errors import RegistryError
from registry_tool.records import kernel
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec

# record, spec, kind of the target, the column's argument -> text
Cell = Callable[[Record, KernelSpec, str, "str | None"], str]

NOTHING = "—"
EMULATED = "emulated"
UNITS: Mapping[str, str] = {"gflops": "GFLOP/s", "gbps": "GB/s"}


def throughput(record: Record, spec: KernelSpec, target_kind: str) -> float | None:
    """The measured throughput in the spec's metric; always None on an emulated target."""
    if target_kind != "hardware" or record.performance is None:
        return None
    return record.performance.gbps if spec.metric == "gbps" else record.performance.gflops


def speed_text(value: float) -> str:
    """A throughput with the digits that repeat from run to run: 8898, 24.9, 0.15."""
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 0.995 else f"{value:.2g}"


def error_text(value: float | None) -> str:
    """An error figure to three digits, e.g. ``9.40e-3``."""
    if value is None:
        return NOTHING
    if value == 0:
        return "0.0"
    text = f"{value:.2e}"
    if text[6] == "0":
        text = text[:6] + text[7:]
    return text.replace("+", "")


def _shape(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return kernel.shape_text(spec, record.shape)


def _dim(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return str(_size(record, spec, argument))


def _template(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    try:
        return (argument or "").format_map(record.shape)
    except (KeyError, ValueError, IndexError, AttributeError) as error:
        raise RegistryError(
            f"the column template {argument!r} of {spec.kernel} does not fit its dims "
            f"({', '.join(spec.dims)}): {error}"
        ) from None


def _yes_no(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return "yes" if _size(record, spec, argument) else "no"


def _size(record: Record, spec: KernelSpec, dim: str | None) -> int:
    try:
        return record.shape[dim or ""]
    except KeyError:
        raise RegistryError(
            f"a column of {spec.kernel} shows the dim {dim!r}; its dims are {', '.join(spec.dims)}"
        ) from None


def _variant(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return record.variant or NOTHING


def _precision(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return record.precision or NOTHING


def _tile(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    sizes = [str(record.tile[knob]) for knob in spec.tile if knob in record.tile]
    return "/".join(sizes) or NOTHING


def _herd(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return "×".join(map(str, record.herd)) or NOTHING


def _tiles(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return str(record.tiles_in_flight)


def _latency(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    if kind != "hardware":
        return EMULATED
    if record.performance is None:
        return NOTHING
    latency_us = record.performance.latency_us
    if latency_us < 9999.5:
        return f"{speed_text(latency_us)} µs"
    return f"{speed_text(latency_us / 1000)} ms"


def _performance(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    if kind != "hardware":
        return EMULATED
    value = throughput(record, spec, kind)
    if value is None:
        return NOTHING
    # The unit is in the heading, unless the column asks for it in the cell.
    return f"{speed_text(value)} {UNITS[spec.metric]}" if argument == "unit" else speed_text(value)


def _mean_rel_L1(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return error_text(record.mean_rel_L1)


def _max_abs(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return error_text(record.max_abs)


def _max_rel(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return error_text(record.max_rel)


def _used_by(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return "\n".join([f"{use.model} {use.site}" for use in record.used_by])


def _notes(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    return "\n".join(record.notes)


def _status(record: Record, spec: KernelSpec, kind: str, argument: str | None) -> str:
    verdict = record.verdict
    if is_clean(record):
        # Emulation proves numerics, never hardware: no green mark.
        return "✅" if kind == "hardware" else f"{EMULATED} ✔"
    flaky = ("flaky",) if verdict.flaky is True else ()
    said = (verdict.status, verdict.kind, *flaky)
    words = [word for word in said if word not in ("pass", "harness")]
    glyph = "⚠️" if verdict.status in ("pass", "unverified") else "❌"
    if kind != "hardware":
        glyph = f"{EMULATED} {glyph}"
    waived = [f"{waiver.rule} until {waiver.expires}: {waiver.reason}" for waiver in record.waivers]
    return "\n".join([" ".join([glyph, *words]), *waived])


def is_clean(record: Record) -> bool:
    """Whether a gated run proved the row at once, and nobody had to accept a complaint of it."""
    verdict = record.verdict
    proved = verdict.status == "pass" and verdict.kind == "harness" and verdict.flaky is not True
    return proved and not record.waivers


CELLS: Mapping[str, Cell] = {
    "shape": _shape,
    "dim": _dim,
    "template": _template,
    "yes_no": _yes_no,
    "variant": _variant,
    "precision": _precision,
    "tile": _tile,
    "herd": _herd,
    "tiles": _tiles,
    "latency": _latency,
    "performance": _performance,
    "mean_rel_L1": _mean_rel_L1,
    "max_abs": _max_abs,
    "max_rel": _max_rel,
    "used_by": _used_by,
    "notes": _notes,
    "status": _status,
}

# Formats whose text never holds anything that Markdown would read: numbers, units and fixed words.
PLAIN = frozenset(CELLS.keys() - {"shape", "template", "variant", "used_by", "notes", "status"})


def cells_of(spec: KernelSpec) -> list[tuple[Cell, str | None, bool]]:
    """Format, argument, and whether it is plain, of each column.

    Raises RegistryError for an unknown format.
    """
    found = []
    for column in spec.columns:
        cell = CELLS.get(column.cell)
        if cell is None:
            raise RegistryError(
                f"the column {column.title!r} of {spec.kernel} has the unknown cell format "
                f"{column.cell!r}; known are {', '.join(CELLS)}",
                path=f"kernels/{spec.kernel}.yaml",
            )
        found.append((cell, column.argument, column.cell in PLAIN))
    return found


def texts(spec: KernelSpec, target_kind: str, record: Record) -> list[str]:
    """What the row of ``record`` shows, column by column."""
    return [cell(record, spec, target_kind, argument) for cell, argument, _ in cells_of(spec)]
