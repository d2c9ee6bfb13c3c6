"""Constraints that rows break: enforced ones are the row's error, stated ones may be the rule's.

What is enforced and what is only stated is data of the kernel's spec (hard, guideline).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift.finding import Finding, sides
from registry_tool.adoption.drift.naming import row_name
from registry_tool.adoption.model import Adoption, Claim, Row
from registry_tool.records.expressions import names_in
from registry_tool.records.kernel import Violation, names, shape_text, violations
from registry_tool.records.spec import Constraint, KernelSpec

# A rule of ours that no page states cannot be contradicted by the pages' rows.
_OURS = "inferred"
_SHOWN = 6


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """Enforced constraints row by row, then each stated rule with all rows against it."""
    against: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in adoption.rows:
        for violation in broken(row, specs[row.kernel]):
            if violation.hard:
                yield _broken(row, violation, specs)
            else:
                against[(row.kernel, violation.id)].append(row)
    for (kernel, rule), rows in against.items():
        constraint = next(one for one in specs[kernel].constraints if one.id == rule)
        if not constraint.reason.startswith(_OURS):
            yield _contradicted(specs[kernel], constraint, rows, specs)


def broken(row: Row, spec: KernelSpec) -> list[Violation]:
    """The constraints that a row's tile and herd break; none where they are not all given."""
    tile, herd = row.tile(), row.herd() or tuple(spec.default_herd)
    if len(herd) != len(spec.herd) or (row.variant is None and spec.variants):
        return []
    known = names(spec, row.shape, row.variant, tile, herd)
    if not set(spec.tile) <= set(known):
        return []
    return violations(spec, row.shape, row.variant, tile, herd)


def _lines(row: Row) -> list[Claim]:
    own = [claim for claim in row.claims if claim.kind == "row" and (claim.tile or claim.herd)]
    return own or [claim for claim in row.claims if claim.kind == "row"]


def _settings(row: Row, spec: KernelSpec, read: frozenset[str] | None) -> str:
    tile, herd = row.tile(), row.herd() or tuple(spec.default_herd)
    known = {**tile, **dict(zip(spec.herd, herd, strict=False))}
    return ", ".join(
        f"{name}={size}" for name, size in known.items() if read is None or name in read
    )


def _broken(row: Row, violation: Violation, specs: Mapping[str, KernelSpec]) -> Finding:
    spec = specs[row.kernel]
    constraint = next((one for one in spec.constraints if one.id == violation.id), None)
    read = frozenset(names_in(constraint.holds)) if constraint else None
    found = _settings(row, spec, read) or _settings(row, spec, None)
    return Finding(
        kind="constraint-broken",
        sides=sides((claim.where, found) for claim in _lines(row)),
        record=row_name(row, specs),
        found=found,
        expected=constraint.holds if constraint else "another tiling",
        confidence="high",
        message=violation.message,
    )


def _contradicted(
    spec: KernelSpec, rule: Constraint, rows: list[Row], specs: Mapping[str, KernelSpec]
) -> Finding:
    read = frozenset(names_in(rule.holds))
    told = [
        shape_text(spec, row.shape) + (f" {row.variant}" if row.variant else "") for row in rows
    ]
    listed = ", ".join(told[:_SHOWN]) + (
        f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    )
    return Finding(
        kind="rule-contradicted",
        sides=sides(
            (_lines(row)[0].where, _settings(row, spec, read) or text)
            for row, text in zip(rows, told, strict=True)
        ),
        record=row_name(rows[0], specs) if len(rows) == 1 else None,
        found=f"{len(rows)} row{'s' * (len(rows) > 1)}",
        expected=rule.holds,
        confidence="high",
        message=f"{rule.holds} ({rule.reason}): recorded against it: {listed}",
    )
