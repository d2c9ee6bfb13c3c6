"""Named faults that an emulated run can be given, to test the gate behind it; prints nothing.

A fault never makes a failing run pass: it spoils values, or the way the run ends. The one that
loosens the tolerance prints the loose tolerance, which a reader of the log has to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from registry_tool.emulator.case import Block, Case
from registry_tool.errors import UsageError

LOOSE_RTOL = 2e-1
LOOSE_ATOL = 5e-1
_DEFAULT_SHARE = 0.25


@dataclass(frozen=True)
class Fault:
    """One fault, with the amount given after ``=`` (None: the kind's default)."""

    name: str
    amount: float | None = None


@dataclass(frozen=True)
class _Kind:
    """What a fault is, and whether it takes an amount."""

    summary: str
    takes_amount: bool = False


KINDS: Mapping[str, _Kind] = {
    "unwritten": _Kind(
        "trailing columns stay zero: a number of them, or a share below 1"
        " (default N % (tile_n * herd_n), else a quarter)",
        takes_amount=True,
    ),
    "dropped-k": _Kind(
        "a trailing share of the reduction is left out (default a quarter)", takes_amount=True
    ),
    "zeros": _Kind("the whole output is zero"),
    "nan": _Kind("one element is NaN"),
    "inf": _Kind("one element is infinite"),
    "loose-tolerance": _Kind(
        f"gates with rtol={LOOSE_RTOL:.0e} atol={LOOSE_ATOL:.0e}, and says so"
    ),
    "hang": _Kind("sleeps for ever after the first lines"),
    "grandchild": _Kind("leaves a sleeping child that holds stdout, and exits 0 with no verdict"),
    "exit": _Kind("exits 3 before any verdict"),
    "torn": _Kind("exits 0 in the middle of the precision line"),
}


def parse(text: str) -> Fault:
    """``NAME`` or ``NAME=AMOUNT``; a usage error lists the names."""
    name, separator, amount = text.partition("=")
    kind = KINDS.get(name)
    if kind is None:
        raise UsageError(f"no fault is called {name!r}; there are {', '.join(KINDS)}")
    if not separator:
        return Fault(name)
    if not kind.takes_amount:
        raise UsageError(f"the fault {name} takes no amount")
    return Fault(name, _amount(name, amount))


def _amount(name: str, text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        raise UsageError(f"the fault {name} needs a number after =, got {text!r}") from None
    if not 0.0 < amount < np.inf:
        raise UsageError(f"the fault {name} needs an amount above 0, got {text}")
    if name == "dropped-k" and amount > 1.0:
        raise UsageError(f"the fault {name} needs a share of at most 1, got {text}")
    if name == "unwritten" and amount >= 1.0 and amount != int(amount):
        raise UsageError(f"the fault {name} needs whole columns or a share below 1, got {text}")
    return amount


def spoil_case(fault: Fault | None, case: Case) -> Case:
    """The case as the kernel sees it."""
    if fault is None or fault.name != "dropped-k":
        return case
    return replace(case, dropped_k=fault.amount or _DEFAULT_SHARE)


def spoil_tolerances(fault: Fault | None, rtol: float, atol: float) -> tuple[float, float]:
    """The tolerances that the run prints and gates with."""
    if fault is not None and fault.name == "loose-tolerance":
        return LOOSE_RTOL, LOOSE_ATOL
    return rtol, atol


def spoil_blocks(fault: Fault | None, case: Case, blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks as they come back from the run; outputs are overwritten in place."""
    if fault is None or fault.name not in _SPOILED:
        return blocks
    return _SPOILED[fault.name](fault, case, blocks)


def _zeros(fault: Fault, case: Case, blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        block.out[:] = 0.0
        yield block


def _one_element(value: float) -> Callable[[Fault, Case, Iterator[Block]], Iterator[Block]]:
    def spoil(fault: Fault, case: Case, blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            if block.row == 0:
                block.out[0, 0] = value
            yield block

    return spoil


def _unwritten(fault: Fault, case: Case, blocks: Iterator[Block]) -> Iterator[Block]:
    for block in blocks:
        rows, columns = block.out.shape
        if columns > 1:
            block.out[:, columns - _unwritten_columns(fault, case, columns) :] = 0.0
        else:  # a flat output: what is left unwritten is its end
            length = case.shape.get("N") or case.shape.get("M") or rows
            written = length - _unwritten_columns(fault, case, length)
            block.out[max(0, written - block.row) :] = 0.0
        yield block


def _unwritten_columns(fault: Fault, case: Case, columns: int) -> int:
    amount = fault.amount
    if amount is None:
        whole_tiles = case.tile.get("tile_n", 0) * (case.herd[-1] if case.herd else 0)
        amount = columns % whole_tiles if whole_tiles else 0
        amount = amount or _DEFAULT_SHARE
    if amount < 1.0:
        amount = max(1, round(amount * columns))
    return min(columns, int(amount))


_SPOILED: Mapping[str, Callable[[Fault, Case, Iterator[Block]], Iterator[Block]]] = {
    "zeros": _zeros,
    "nan": _one_element(np.nan),
    "inf": _one_element(np.inf),
    "unwritten": _unwritten,
}
