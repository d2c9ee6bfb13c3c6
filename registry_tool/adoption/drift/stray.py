"""A figure that stands in the column of another variant than the one that it was measured with."""

from __future__ import annotations

from collections.abc import Sequence

from registry_tool.adoption.model import Claim, Quantity, Row


def stray_figure(row: Row, shape: Sequence[Row], metric: str) -> tuple[Claim, Quantity, Row] | None:
    """The figure of ``row`` that belongs to another variant, its claim, and that variant's row.

    So it is where only one line gives this variant a figure, that line gives the other variant
    none, and other places give the other variant just this figure. ``shape`` are the rows of the
    same shape; ``metric`` is the field of a throughput.
    """
    own = [
        (claim, figure)
        for claim, figure in row.quantities(metric)
        if claim.kind == "row" and not figure.shared
    ]
    if len({claim.where for claim, _ in own}) != 1:
        return None
    claim, figure = own[0]
    for other in shape:
        if other.key == row.key:
            continue
        theirs = [one for one in other.quantities(metric) if one[0].kind == "row"]
        same = [one for one in theirs if (one[1].low, one[1].high) == (figure.low, figure.high)]
        here = any(one[0].where == claim.where for one in theirs)
        if same and not here:
            return claim, figure, other
    return None
