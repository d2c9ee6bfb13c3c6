"""The matrix of models and kernels as text, JSON and Markdown, with the credits that do not fit."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from registry_tool.planning.coverage import Cell, Coverage, Credit
from registry_tool.tables import cells

Column = tuple[str, ...]
_WIDTH = 100
"""Columns of a line of the text form: more models go below."""
_SHOWN = 20
"""Credits that are written out; JSON has all of them."""


def document(target: str, found: Coverage) -> dict[str, object]:
    """The stable JSON form."""
    return {
        "target": target,
        "models": {
            model: {kernel: asdict(cell) for kernel, cell in row.items()}
            for model, row in found.cells.items()
        },
        "credits": [{**asdict(credit), "row": str(credit.row)} for credit in found.credits],
    }


def write_text(target: str, found: Coverage) -> str:
    """The matrix in columns: kernels down, so that a terminal holds it; models across."""
    return "\n".join([*_matrix(target, found), *_credits(found)])


def _matrix(target: str, found: Coverage) -> Iterator[str]:
    if not found.cells:
        yield "no model is saved; next: registry-tool verify --config CONFIG.json --model NAME"
        return
    yield f"verified / needed on {target} (+ stale, ~ imported and not verified)"
    table = [["", *found.cells]]
    table += [
        [kernel, *(_cell(row.get(kernel)) for row in found.cells.values())]
        for kernel in _kernels(found)
    ]
    table.append(["all", *(_cell(_sum(row.values())) for row in found.cells.values())])
    first, *columns = list(zip(*table, strict=True))
    for number, block in enumerate(_blocks(first, columns)):
        if number:
            yield ""
        for line in zip(_padded(first, str.ljust), *block, strict=True):
            yield "  ".join(line).rstrip()


def _blocks(first: Column, columns: Sequence[Column]) -> Iterator[list[Column]]:
    """As many columns at a time as stand beside the first one, and always one."""
    room = _WIDTH - max(map(len, first))
    block: list[Column] = []
    for column in columns:
        padded = _padded(column, str.rjust)
        taken = sum(len(one[0]) + 2 for one in [*block, padded])
        if block and taken > room:
            yield block
            block = []
        block.append(padded)
    yield block


def _padded(column: Column, side: Callable[[str, int], str]) -> Column:
    width = max(map(len, column))
    return tuple(side(text, width) for text in column)


def _credits(found: Coverage) -> Iterator[str]:
    for credit in found.credits[:_SHOWN]:
        yield f"{credit.row}: {credit.model}, {credit.site}: {credit.problem}"
        yield f"  next: {_next(credit)}"
    if len(found.credits) > _SHOWN:
        yield f"and {len(found.credits) - _SHOWN} more credits; --format json has all of them"


def _next(credit: Credit) -> str:
    words = f"registry-tool use {credit.row} {shlex.quote(credit.model)} {shlex.quote(credit.site)}"
    return words if credit.is_missing else f"{words} --remove"


def write_markdown(target: str, found: Coverage) -> str:
    """The matrix as a table, a model a line."""
    kernels = _kernels(found)
    lines = [
        f"Verified / needed on `{target}` (+ stale, ~ imported and not verified).",
        "",
        cells.row(["model", *kernels, "all"]),
        cells.row(["---"] * (len(kernels) + 2)),
    ]
    for model, row in found.cells.items():
        texts = [_cell(row.get(kernel)) for kernel in kernels]
        lines.append(cells.row([cells.escape(model), *texts, _cell(_sum(row.values()))]))
    return "\n".join(lines)


def _kernels(found: Coverage) -> list[str]:
    return sorted({kernel for row in found.cells.values() for kernel in row})


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "–"
    more = f"+{cell.stale}" if cell.stale else ""
    more += f"~{cell.imported}" if cell.imported else ""
    return f"{cell.verified}{more}/{cell.needed}"


def _sum(row: Iterable[Cell]) -> Cell:
    some = list(row)
    return Cell(
        verified=sum(cell.verified for cell in some),
        stale=sum(cell.stale for cell in some),
        imported=sum(cell.imported for cell in some),
        needed=sum(cell.needed for cell in some),
    )


FORMATS: Mapping[str, Callable[[str, Coverage], str]] = {"text": write_text, "md": write_markdown}
