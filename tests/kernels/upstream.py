"""Reads the upstream registry's pages and JSON in place: every recorded row, and every sweep.

A small reader of its own, so that the specs are not checked with the code that they configure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Range:
    """A number as displayed, or two with a dash between: the interval that rounds to it."""

    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """One configuration that upstream ran; ``works`` is False where it failed or was wrong."""

    kernel: str
    where: str
    shape: dict[str, int]
    tile: dict[str, int]
    herd: tuple[int, ...]
    variant: str | None = None
    works: bool = True
    latency_us: Range | None = None
    throughput: Range | None = None
    mean_rel_L1: Range | None = None
    max_abs: Range | None = None

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape.values()))
        tile = "/".join(map(str, self.tile.values())) or "-"
        herd = "x".join(map(str, self.herd))
        return f"{self.where} {shape} {self.variant or ''} {tile} {herd}".replace("  ", " ")


@dataclass(frozen=True)
class Table:
    """A Markdown table: the heading above it, its header, and line number and cells of each row."""

    heading: str
    header: tuple[str, ...]
    rows: list[tuple[int, dict[str, str]]]


def tables(path: Path) -> Iterator[Table]:
    """Every table of a page, cells without emphasis and code marks."""
    heading = ""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*path.read_text(encoding="utf-8").split("\n"), ""], 1):
        if line.startswith("|"):
            block.append((number, line))
            continue
        if block:
            header = _cells(block[0][1])
            body = [(at, dict(zip(header, _cells(text), strict=False))) for at, text in block[2:]]
            yield Table(heading, tuple(header), body)
            block = []
        if line.startswith("#"):
            heading = line.lstrip("# ")


def _cells(line: str) -> list[str]:
    return [re.sub(r"[*`†]", "", cell).strip() for cell in line.strip().strip("|").split("|")]


def displayed(text: str) -> Range | None:
    """The first number in ``text`` (``1.2e-3``, ``15.4–16.1``, ``<5``), or None."""
    number = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
    match = re.search(rf"({number})(?:\s*[–-]\s*({number}))?", text)
    if match is None:
        return None
    low, high = match[1], match[2] or match[1]
    return Range(float(low) - _half_unit(low), float(high) + _half_unit(high))


def _half_unit(text: str) -> float:
    mantissa, _, exponent = text.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)


def _microseconds(text: str) -> Range | None:
    value = displayed(text)
    if value is None or "ms" not in text:
        return value
    return Range(value.low * 1000, value.high * 1000)


def _integers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


# --- one reader per kernel, for its page and its part of the index -------------------------------

Build = Callable[[dict[str, str], Table], Iterator[Row]]

_SECTIONS = {
    "EltwiseAdd_bf16": "Element-wise Add",
    "FlashAttention_bf16": "FlashAttention",
    "GELU_bf16": "GELU",
    "GEMM_bf16_in_bf16_out": "GEMM (bf16 out)",
    "GEMM_bf16_in_fp32_out": "GEMM (f32 out)",
    "GEMV_bf16": "GEMV",
    "LayerNorm_bf16": "LayerNorm",
    "RMSNorm_bf16": "RMSNorm",
    "RoPE_bf16": "RoPE",
    "SiLU_Mul_bf16": "SiLU-and-Mul",
}


def rows(kernel: str, registry: Path) -> list[Row]:
    """Everything that upstream's tables and JSON say it ran for ``kernel``."""
    page, index = registry / "details" / f"{kernel}.md", registry / "supported_kernels.md"
    section = f"{_SECTIONS[kernel]} — tested shapes"
    of_index = [
        table
        for table in tables(index)
        if table.heading.startswith((section, f"{_SECTIONS[kernel]}-and-tanh"))
    ]
    found: list[Row] = []
    for name, block in ((page.name, list(tables(page))), (index.name, of_index)):
        for table in block:
            for line, cells in table.rows:
                built = _READERS[kernel](cells, table)
                found += [replace(row, where=f"{name}:{line}") for row in built]
    if kernel.startswith("GEMM"):
        found = list(_with_json_herds(found, registry / "details" / f"{kernel}.json"))
    return found


_GEMM_TILE = ("tile_m", "tile_k_l2", "tile_k_l1", "tile_n")


def _with_json_herds(found: list[Row], path: Path) -> Iterator[Row]:
    """The JSON's rows, and the page's with their herds: one of them leaves its own unsaid."""
    of_json = list(_gemm_json(path))
    herds = {(*row.shape.values(), row.variant): row.herd for row in of_json}
    for row in found:
        yield replace(row, herd=herds.get((*row.shape.values(), row.variant), row.herd))
    yield from of_json


def _gemm_json(path: Path) -> Iterator[Row]:
    document = json.loads(path.read_text(encoding="utf-8"))
    for entry in document["shapes"]:
        for variant, method in entry["methods"].items():
            gflops = method["gflops"]
            yield Row(
                kernel=path.stem,
                where=path.name,
                shape={dim: entry[dim] for dim in ("M", "K", "N")},
                tile={knob: method["tile"][knob] for knob in _GEMM_TILE},
                herd=tuple(method.get("herd", document["herd"])),
                variant=variant,
                throughput=None if gflops is None else displayed(str(gflops)),
                mean_rel_L1=displayed(str(method["mean_rel_L1"])),
            )


def _cell(cells: dict[str, str], *headings: str) -> str:
    """The cell whose heading starts with one of ``headings``, or an empty text."""
    return next((cells[name] for name in cells if name.startswith(headings)), "")


_VARIANT_OF_HEADING = {
    "fused-cast": "fused-cast",
    "drain": "drain",
    "low-precision": "direct",
    "EXTERNAL": "external",
    "DIRECT": "direct",
}


def _gemm(kernel: str) -> Build:
    def build(cells: dict[str, str], table: Table) -> Iterator[Row]:
        tile = _cell(cells, "tile (m/kl2/kl1/n)", "best tile (m/kl2/kl1/n)")
        if not tile:
            return
        of_heading = [name for word, name in _VARIANT_OF_HEADING.items() if word in table.heading]
        herd = re.search(r"herd (\d)×(\d)", tile)
        for variant in of_heading or ["external", "direct"]:
            yield Row(
                kernel=kernel,
                where="",
                shape=dict(zip(("M", "K", "N"), _integers(_cell(cells, "(M")), strict=True)),
                tile=dict(zip(_GEMM_TILE, _integers(tile)[:4], strict=True)),
                herd=(int(herd[1]), int(herd[2])) if herd else (8, 4),
                variant=variant,
                works="❌" not in cells["Status"],
                throughput=displayed(_cell(cells, "GFLOPS", f"{variant} GFLOPS")),
                mean_rel_L1=displayed(cells["mean_rel_L1"]),
                max_abs=displayed(_cell(cells, "abs_err max")),
            )

    return build


def _gemv(cells: dict[str, str], table: Table) -> Iterator[Row]:
    config = _cell(cells, "tile (herd_m/tile_m/m_input)", "best tile (herd_m")
    if not config:
        return
    herd_m, tile_m, m_input = _integers(config)
    yield Row(
        kernel="GEMV_bf16",
        where="",
        shape=dict(zip(("M", "K"), _integers(_cell(cells, "(M")), strict=True)),
        tile={"tile_m": tile_m, "m_input": m_input},
        herd=(herd_m,),
        works=cells["Status"].startswith("✅"),
        latency_us=_microseconds(_cell(cells, "latency")),
        throughput=displayed(cells["GFLOPS"]),
        mean_rel_L1=displayed(cells["mean_rel_L1"]),
        max_abs=displayed(_cell(cells, "abs_err max")),
    )


def _norm(kernel: str, swept: tuple[int, int]) -> Build:
    def build(cells: dict[str, str], table: Table) -> Iterator[Row]:
        if not {"latency", "herd_x"} <= set(table.header):
            return
        sizes = _integers(_cell(cells, "(M")) or list(swept)
        yield Row(
            kernel=kernel,
            where="",
            shape=dict(zip(("M", "N"), sizes, strict=True)),
            tile={},
            herd=tuple(_integers(cells["herd_x"])),
            latency_us=_microseconds(cells["latency"]),
            throughput=displayed(_cell(cells, "bandwidth")),
            mean_rel_L1=displayed(_cell(cells, "mean_rel_L1")),
            max_abs=displayed(_cell(cells, "abs_err max")),
        )

    return build


@dataclass(frozen=True)
class _Sweep:
    """What a page's sweeps hold fixed."""

    knob: str
    axis: str
    size: int
    tile: int
    herd: tuple[int, int]


_SWEEPS = {
    "EltwiseAdd_bf16": _Sweep("tile", "cols", 4194304, 2048, (8, 1)),
    "SiLU_Mul_bf16": _Sweep("tile_n", "herd_x", 16777216, 4096, (8, 1)),
    "GELU_bf16": _Sweep("tile_n", "herd_x", 3145728, 4096, (8, 2)),
}


def _elementwise(kernel: str) -> Build:
    """Tested shapes, and sweeps of the herd, of its first axis and of the tile."""
    sweep = _SWEEPS[kernel]

    def build(cells: dict[str, str], table: Table) -> Iterator[Row]:
        first = table.header[0]
        if not {"latency", "best latency", "result"} & set(table.header):
            return
        size, herds, tile = sweep.size, [sweep.herd], sweep.tile
        if first == "N":
            size = _integers(cells["N"])[0]
            columns, lanes, tile = _integers(_cell(cells, "best config"))
            herds = [(columns, lanes)]
        elif first == "herd":
            herds = [(int(x), int(y)) for x, y in re.findall(r"(\d+)×(\d+)", cells["herd"])]
        elif first == sweep.axis:
            herds = [(int(cells[first]), 1)]
        elif first == sweep.knob:
            tile = int(cells[first])
        else:
            return
        everything = " ".join(cells.values())
        for herd in herds:
            yield Row(
                kernel=kernel,
                where="",
                shape={"N": size},
                tile={sweep.knob: tile},
                herd=herd,
                works="❌" not in everything,
                latency_us=_microseconds(_cell(cells, "latency", "best latency")),
                throughput=_gigabytes(_cell(cells, "bandwidth", "result")),
                mean_rel_L1=displayed(_cell(cells, "mean_rel_L1")),
                max_abs=displayed(_cell(cells, "abs_err max")),
            )

    return build


def _gigabytes(text: str) -> Range | None:
    return displayed(text) if "GB/s" in text else None


def _rope(cells: dict[str, str], table: Table) -> Iterator[Row]:
    first = table.header[0]
    sizes, herd = [65536, 64], _integers(_cell(cells, "best config", "herd"))
    if first == "rows":
        sizes = [int(cells["rows"]), int(cells["head_dim"])]
    elif first == "(rows×head_dim)":
        sizes = _integers(cells[first])
    elif first == "herd_x":
        herd = [*herd, 1]
    elif first != "herd":
        return
    everything = " ".join(cells.values())
    yield Row(
        kernel="RoPE_bf16",
        where="",
        shape=dict(zip(("rows", "head_dim"), sizes, strict=True)),
        tile={},
        herd=tuple(herd),
        works="❌" not in everything,
        latency_us=_microseconds(_cell(cells, "latency")),
        throughput=_gigabytes(_cell(cells, "bandwidth", "result")),
        mean_rel_L1=displayed(_cell(cells, "mean_rel_L1")),
        max_abs=displayed(_cell(cells, "abs_err max")),
    )


ATTENTION_DIMS = ("lq", "lk", "dk", "dv", "num_heads", "num_kv_heads", "causal")
ATTENTION_TILE = {
    "lqp": 256,
    "lkp": 64,
    "num_q_tiles": 4,
    "num_heads_per_unroll": 2,
    "num_cascade_stages": 4,
}


def _attention(cells: dict[str, str], table: Table) -> Iterator[Row]:
    first = table.header[0]
    if first == "lq×lk":
        sizes = [
            *_integers(cells["lq×lk"]),
            *_integers(cells["dk/dv"]),
            *_integers(cells["heads q/kv"]),
            int(cells["causal"] == "✓"),
        ]
        yield Row(
            kernel="FlashAttention_bf16",
            where="",
            shape=dict(zip(ATTENTION_DIMS, sizes, strict=True)),
            tile=ATTENTION_TILE,
            herd=(8, 4),
            works=cells["Status"].startswith("✅"),
            latency_us=_microseconds(cells["latency"]),
            throughput=displayed(cells["GFLOP/s"]),
            mean_rel_L1=displayed(cells["mean_rel_L1"]),
            max_abs=displayed(_cell(cells, "abs_err max")),
        )
    elif first == "lqp":
        lqp, q_tiles, heads, stages = (int(cells[name]) for name in ("lqp", "nqt", "hpu", "ncs"))
        yield Row(
            kernel="FlashAttention_bf16",
            where="",
            shape=dict(zip(ATTENTION_DIMS, (2048, 2048, 64, 64, 32, 8, 1), strict=True)),
            tile=dict(zip(ATTENTION_TILE, (lqp, 64, q_tiles, heads, stages), strict=True)),
            herd=(q_tiles * heads, stages),
            throughput=displayed(cells["GFLOP/s (2048 causal)"]),
        )
    elif first == "tile_q":
        for tile_q in _integers(cells["tile_q"]):
            yield Row(
                kernel="FlashAttention_bf16",
                where="",
                shape=dict(zip(ATTENTION_DIMS, (512, 512, 64, 64, 2, 2, 0), strict=True)),
                tile={**ATTENTION_TILE, "lqp": 4 * tile_q},
                herd=(8, 4),
                works="❌" not in _cell(cells, "result"),
            )


_READERS: dict[str, Build] = {
    "EltwiseAdd_bf16": _elementwise("EltwiseAdd_bf16"),
    "FlashAttention_bf16": _attention,
    "GELU_bf16": _elementwise("GELU_bf16"),
    "GEMM_bf16_in_bf16_out": _gemm("GEMM_bf16_in_bf16_out"),
    "GEMM_bf16_in_fp32_out": _gemm("GEMM_bf16_in_fp32_out"),
    "GEMV_bf16": _gemv,
    "LayerNorm_bf16": _norm("LayerNorm_bf16", (1024, 768)),
    "RMSNorm_bf16": _norm("RMSNorm_bf16", (2048, 2048)),
    "RoPE_bf16": _rope,
    "SiLU_Mul_bf16": _elementwise("SiLU_Mul_bf16"),
}

KERNELS = tuple(_READERS)
