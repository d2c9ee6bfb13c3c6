"""Which padding makes a shape legal that no tile fits: what to type next, found by trying."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from registry_tool.planning.search import is_possible
from registry_tool.records.spec import KernelSpec

# What `--pad` calls the dims of the kernels of weights: a GEMV's rows are its GEMM's columns.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "GEMM_bf16_in_bf16_out": {"M": "M", "K": "K", "N": "N"},
    "GEMV_bf16": {"K": "K", "M": "N"},
}
_MULTIPLES = (16, 32, 64, 128, 256)


def suggested(
    spec: KernelSpec, shape: Mapping[str, int], variants: Sequence[str | None]
) -> str | None:
    """The least padding, as one types it, with which some variant has a legal configuration."""
    names = _NAMES.get(spec.kernel)
    if names is None:
        return None
    for padded in _padded(shape, names):
        sizes = {**shape, **{dim: size for dim, (size, _) in padded.items()}}
        if any(is_possible(spec, sizes, variant) for variant in variants):
            words = ",".join(f"{names[dim]}={multiple}" for dim, (_, multiple) in padded.items())
            return f"--pad {words}"
    return None


def _padded(
    shape: Mapping[str, int], names: Mapping[str, str]
) -> Iterator[dict[str, tuple[int, int]]]:
    """Sizes and multiples by dim: few dims first, then the least that is added."""
    for count in range(1, len(names) + 1):
        found = []
        for dims in itertools.combinations(names, count):
            for multiple in _MULTIPLES:
                sizes = {dim: -(-shape[dim] // multiple) * multiple for dim in dims}
                if all(sizes[dim] != shape[dim] for dim in dims):
                    added = sum(sizes[dim] / shape[dim] for dim in dims)
                    found.append((added, {dim: (sizes[dim], multiple) for dim in dims}))
        found.sort(key=lambda one: one[0])
        yield from (padded for _, padded in found)
