"""Which needs the rows of blocks meet: a block computes kernels inside, and its spec says which."""

from __future__ import annotations

from collections.abc import Mapping

from registry_tool.errors import InputError
from registry_tool.records import expressions, kernel
from registry_tool.records.expressions import ExpressionError
from registry_tool.records.keys import RowId
from registry_tool.records.record import Record
from registry_tool.records.spec import Cover, KernelSpec

NeedKey = tuple[str, tuple[int, ...]]
"""Kernel and sizes of a need, in the order of the kernel's dims."""


def covering(
    specs: Mapping[str, KernelSpec], backed: Mapping[RowId, Record]
) -> dict[NeedKey, RowId]:
    """The block row that meets a need, by kernel and sizes; the first one where several do.

    ``backed`` are rows whose verdict passed and is there. Raises InputError for a spec whose
    `covers` does not fit its own dims or those of the kernel that it names; a shape that gives no
    whole size covers nothing of that kernel.
    """
    found: dict[NeedKey, RowId] = {}
    for row in sorted(backed, key=str):
        block = specs.get(row.kernel)
        for cover in block.covers if block else ():
            assert block is not None
            sizes = _sizes(specs, block, cover, backed[row])
            if sizes is not None:
                found.setdefault((cover.kernel, sizes), row)
    return found


def _sizes(
    specs: Mapping[str, KernelSpec], block: KernelSpec, cover: Cover, record: Record
) -> tuple[int, ...] | None:
    inner = specs.get(cover.kernel)
    if inner is None:
        raise _misfit(block, f"names the unknown kernel {cover.kernel!r}")
    if sorted(cover.shape) != sorted(inner.dims):
        raise _misfit(block, f"of {cover.kernel} must give exactly {', '.join(inner.dims)}")
    known = kernel.names(block, record.shape, record.variant)
    sizes = []
    for dim in inner.dims:
        try:
            size = expressions.number(cover.shape[dim], known)
        except ExpressionError as error:
            raise _misfit(block, f"of {cover.kernel}, {dim}: {error}") from None
        if size != int(size) or size < 0:
            return None
        sizes.append(int(size))
    return tuple(sizes)


def _misfit(block: KernelSpec, what: str) -> InputError:
    return InputError(
        f"its entry of `covers` {what}",
        path=f"kernels/{block.kernel}.yaml",
        fix=f"mend `covers` in kernels/{block.kernel}.yaml",
    )
