"""The tuned-configuration JSON that GPU inference libraries read, for kernels with a GEMM's tile.

Those libraries (vLLM's and SGLang's fused-MoE and block-quantised GEMMs) look for one file per
problem and device, `E=..,N=..,device_name=..,dtype=...json` for experts and `N=..,K=..,...` for a
plain GEMM, take every key of it for a number M, and use the entry of the nearest M. So nothing but
numbers may be a key, and what there is to say besides stands in the entries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from registry_tool.export.model import ExportError, File, Source
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec
from registry_tool.tables.render import details_json
from registry_tool.tables.rows import ONLY_METHOD

_DIMS = ("M", "K", "N")
# The form's key, and the knobs that mean it; a tile in L1 is what one compute tile multiplies.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "BLOCK_SIZE_M": ("tile_m",),
    "BLOCK_SIZE_N": ("tile_n",),
    "BLOCK_SIZE_K": ("tile_k", "tile_k_l1"),
}
_DTYPE = re.compile(r"GEMM_(.+)_in_.+_out")
_LOW = "low"


def misfit(spec: KernelSpec) -> str | None:
    """Why a kernel cannot be written in this form, or None."""
    if sorted(spec.dims) != sorted(_DIMS):
        return f"its dims are {', '.join(spec.dims)}, and the form needs M, N and K"
    if spec.covers:
        return "it is a block of several kernels, and the form describes the tile of one GEMM"
    missing = [key for key, knobs in _KEYS.items() if not set(knobs) & spec.tile.keys()]
    if missing:
        knobs = ", ".join(spec.tile) or "none"
        return f"no tile knob of it is {', '.join(missing)} (it has {knobs})"
    return None


def tunable(source: Source) -> dict[RowId, Record]:
    """The rows that may count as tuned: a gated run proved them and measured all they say."""
    return {
        row: record
        for row, record in source.records.items()
        if row in source.backed and record.verdict.kind == "harness" and not record.provenance
    }


def files(source: Source) -> list[File]:
    """One file for each N, K and precision tier of each kernel; only rows that passed are in it.

    Kernels that do not fit are left out. Raises ExportError if none fits.
    """
    groups: dict[tuple[str, str], dict[RowId, Record]] = {}
    for row, record in tunable(source).items():
        if misfit(source.specs[row.kernel]) is None:
            groups.setdefault((row.kernel, row.target), {})[row] = record
    found: list[File] = []
    for (kernel, target), records in sorted(groups.items()):
        found += _kernel(source.specs[kernel], target, source.kinds[target], records)
    return found


def _kernel(
    spec: KernelSpec, target: str, kind: str, records: Mapping[RowId, Record]
) -> Iterable[File]:
    by_file: dict[str, dict[int, dict[str, Any]]] = {}
    # Which method is the best of a shape is what lookups say: one place decides it.
    document = json.loads(details_json(spec, target, kind, records.values()))
    for shape in document["shapes"]:
        sizes = {dim: shape[dim] for dim in spec.dims}
        for tier, method in shape["best"].items():
            variant = None if method == ONLY_METHOD else method
            record = records[row_id(target, spec.kernel, spec.dims, sizes, variant)]
            name = file_name(spec, target, kind, sizes, tier)
            by_file.setdefault(name, {})[sizes["M"]] = _entry(spec, kind, record)
    for name, entries in sorted(by_file.items()):
        text = json.dumps({str(m): entries[m] for m in sorted(entries)}, indent=4)
        yield File(f"{spec.kernel}/{name}", f"{text}\n".encode(), len(entries))


def file_name(spec: KernelSpec, target: str, kind: str, sizes: Mapping[str, int], tier: str) -> str:
    """The name of the file that a row is in; what is not measured on hardware says so."""
    dtype = _DTYPE.fullmatch(spec.kernel)
    parts = [f"N={sizes['N']}", f"K={sizes['K']}", f"device_name={target}"]
    parts += [f"dtype={dtype[1]}"] if dtype else []
    parts += ["precision=low"] if tier == _LOW else []
    parts += [f"{kind}=True"] if kind != "hardware" else []
    return ",".join(parts) + ".json"


def _entry(spec: KernelSpec, kind: str, record: Record) -> dict[str, Any]:
    """The form's keys that the kernel has, and then all that it takes to run the row."""
    entry: dict[str, Any] = {}
    for key, knobs in _KEYS.items():
        knob = next(one for one in knobs if one in spec.tile)
        if knob not in record.tile:
            raise ExportError(f"a row of {spec.kernel} does not say its {knob}")
        entry[key] = record.tile[knob]
    entry |= {"variant": record.variant} if record.variant else {}
    entry |= record.tile
    entry |= dict(zip(spec.herd, record.herd, strict=True))
    entry |= {kind: True} if kind != "hardware" else {}
    return entry


def load_tuned(data: bytes, path: str | None = None) -> dict[int, dict[str, Any]]:
    """M to entry, read as the libraries do; raises ExportError for a file that they cannot read."""
    try:
        document = json.loads(data)
        return {int(m): dict(entry) for m, entry in document.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise ExportError(f"no tuned configuration: {error}", path=path) from None
