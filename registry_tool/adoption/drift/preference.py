"""The rule that picks a method by the size of the shape, held against shapes measured with both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift.figures import disagree, shown
from registry_tool.adoption.drift.finding import Finding
from registry_tool.adoption.drift.naming import figure_side, shape_name
from registry_tool.adoption.drift.stray import stray_figure
from registry_tool.adoption.model import Adoption, Claim, Quantity, Row
from registry_tool.records.expressions import holds
from registry_tool.records.kernel import names, shape_text, variant_order
from registry_tool.records.spec import KernelSpec

_Speed = tuple[Claim, Quantity]


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Shapes for which the rule picks the slower of two methods of one tier."""
    shapes: dict[tuple[str, tuple[int, ...]], list[Row]] = defaultdict(list)
    for row in adoption.rows:
        shapes[row.key[:2]].append(row)
    for rows in shapes.values():
        spec = specs[rows[0].kernel]
        speeds = _speeds(rows, spec)
        picked = next((one for one in variant_order(spec, rows[0].shape) if one in speeds), None)
        if picked is None:
            continue
        tier = spec.variants[picked].precision
        best = max(
            (name for name in speeds if spec.variants[name].precision == tier),
            key=lambda name: speeds[name][1].low,
        )
        if disagree(speeds[best][1], speeds[picked][1]):
            yield _finding(rows[0], picked, best, speeds, specs)


def _speeds(rows: list[Row], spec: KernelSpec) -> dict[str, _Speed]:
    """What the first place to measure it gives for each variant."""
    found: dict[str, _Speed] = {}
    for row in rows:
        if row.variant not in spec.variants or stray_figure(row, rows, spec.metric) is not None:
            continue
        for claim, figure in row.quantities(spec.metric):
            if claim.kind == "row" and not figure.misplaced and not figure.shared:
                found.setdefault(row.variant, (claim, figure))
    return found


def _finding(
    row: Row, picked: str, best: str, speeds: dict[str, _Speed], specs: Mapping[str, KernelSpec]
) -> Finding:
    spec = specs[row.kernel]
    told = {name: shown(speeds[name][1]) for name in (picked, best)}
    return Finding(
        kind="rule-contradicted",
        sides=(figure_side(*speeds[picked]), figure_side(*speeds[best])),
        record=shape_name(row.kernel, row.shape, None, specs),
        found=f"{picked} ({told[picked]})",
        expected=f"{best} ({told[best]})",
        confidence="medium",
        message=f"the rule picks {picked} for {shape_text(spec, row.shape)} "
        f"({_condition(spec, row)}); {best} has {told[best]} and it {told[picked]}",
    )


def _condition(spec: KernelSpec, row: Row) -> str:
    known = names(spec, row.shape)
    for preference in spec.preference:
        if preference.when is not None and holds(preference.when, known):
            return preference.when
    return "by its size"
