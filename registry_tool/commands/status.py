"""Count the rows and what is owed, and say which needs of the saved models are met on a target."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from registry_tool.commands.common import open_worktree, say, say_json
from registry_tool.errors import UsageError

if TYPE_CHECKING:
    from registry_tool.baseline.debt import Debt
    from registry_tool.stale.rows import Reasons
    from registry_tool.store.registry import Registry

FORMATS = ("text", "json", "md")
_NAMED = 5
"""Rows that are named one by one, where only some of many are amiss."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `status`."""
    parser.add_argument("--target", metavar="NAME", help="device kind (default: the first)")
    parser.add_argument(
        "--models",
        action="store_true",
        help="the matrix of saved models and kernels, and credits that do not fit the needs",
    )


def run(args: argparse.Namespace) -> int:
    """Print the counts; exit 0 whether or not a need is unmet."""
    from registry_tool.baseline import debt as debts
    from registry_tool.planning import pages, plan
    from registry_tool.stale import rows as stale_rows

    registry = open_worktree(args)
    target = args.target or registry.first_target
    kind = registry.target(target).kind
    if args.format == "md" and not args.models:
        raise UsageError("--format md is for --models", fix="registry-tool status --models")
    if args.models:
        return _models(registry, target, args.format)
    rows = Counter(row.kernel for row in registry.record_paths if row.target == target)
    debt = debts.of(registry, target)
    moved = stale_rows.of(registry, target)
    signed = _signed(registry, target)
    models = {}
    for model in registry.models():
        wants = plan.of_models(registry, [pages.paged(registry, model)])
        tasks = plan.make(registry, target, wants, moved=moved)
        met = sum(task.is_met for task in tasks)
        unmet = [task.text for task in tasks if not task.is_met]
        unmet += [
            f"{one.kernel} {pages.text(one)} (no page)" for one in pages.pageless(registry, model)
        ]
        models[model.model] = (met, met + len(unmet), unmet)
    if args.format == "json":
        say_json(
            {
                "target": target,
                "kind": kind,
                "rows": dict(rows),
                "debt": None if debt is None else asdict(debt),
                "stale": {str(row): reasons for row, reasons in moved.items()},
                "signing": signed,
                "models": {
                    name: {"met": met, "needs": needs, "unmet": unmet}
                    for name, (met, needs, unmet) in models.items()
                },
            }
        )
        return 0
    say(f"{target} ({kind}): {_rows(sum(rows.values()))}")
    for kernel in registry.specs:
        if rows[kernel]:
            say(f"  {rows[kernel]:>5}  {kernel}")
    if signed is not None:
        say(_signed_text(signed))
    if debt is not None:
        for line in _debt(debt, target, args.target):
            say(line)
    for line in _stale(moved, args.target):
        say(line)
    for name, (met, needs, unmet) in models.items():
        say(f"{name}: {met} of {needs} needs met")
        for text in unmet:
            say(f"    unmet: {text}")
    if any(unmet for _, _, unmet in models.values()):
        say("next: registry-tool verify")
    return 0


def _models(registry: Registry, target: str, form: str) -> int:
    from registry_tool.planning import pages, plan
    from registry_tool.planning.coverage import coverage
    from registry_tool.report import coverage as report
    from registry_tool.stale import rows as stale_rows

    moved = stale_rows.of(registry, target)
    models = list(registry.models())
    tasks = {
        model.model: plan.make(
            registry, target, plan.of_models(registry, [pages.paged(registry, model)]), moved=moved
        )
        for model in models
    }
    rows = {row: record for row, record in registry.records.items() if row.target == target}
    found = coverage(tasks, models, rows)
    if form == "json":
        say_json(report.document(target, found))
    else:
        say(report.FORMATS[form](target, found))
    return 0


def _stale(moved: Reasons, asked: str | None) -> Iterator[str]:
    if not moved:
        return
    yield f"stale (what ran has moved since): {_rows(len(moved))}"
    for reason, number in Counter(one for some in moved.values() for one in some).most_common(
        _NAMED
    ):
        yield f"  {number:>5}  {reason}"
    only = f" --target {asked}" if asked else ""
    yield f"  next: registry-tool verify --stale{only}"


def _signed(registry: Registry, target: str) -> dict[str, Any] | None:
    """The level of signing, how many rows each signer vouches for, and how many nobody does.

    None where signatures are not looked at.
    """
    level = registry.policy.signing_of(target)
    if level == "off":
        return None
    from registry_tool.signing import reader

    ask = reader(registry.snapshot)
    signers: Counter[str] = Counter()
    unsigned = 0
    for row, record in registry.records.items():
        path = record.verdict.artifact
        if row.target != target or path not in registry.snapshot.oids:
            continue
        signer = ask(path)
        if signer is not None:
            signers[signer.text] += 1
        else:
            unsigned += 1
    return {"level": level, "signers": dict(signers.most_common()), "unsigned": unsigned}


def _signed_text(signed: dict[str, Any]) -> str:
    parts = [f"{number} by {who}" for who, number in signed["signers"].items()]
    if signed["unsigned"] or not parts:
        parts.append(f"{signed['unsigned']} unsigned")
    return f"signatures ({signed['level']}): {', '.join(parts)}"


def _debt(debt: Debt, target: str, asked: str | None) -> Iterator[str]:
    waived = f", {debt.waived} of them with a waiver" if debt.waived else ""
    yield f"owed (imported, in baseline.json, not verified): {_rows(debt.rows)}{waived}"
    for kernel, number in debt.kernels.items():
        yield f"  {number:>5}  {kernel}"
    if debt.rows:
        yield "  by the models that use them (a row counts for each):"
        for model, number in debt.models.items():
            yield f"  {number:>5}  {model}"
        if debt.unused:
            yield f"  {debt.unused:>5}  no model"
    yield from _named("changed since the import, so a run is needed", debt.changed)
    yield from _named("named in baseline.json, but gone or verified", debt.stale)
    for other, number in debt.elsewhere.items():
        yield f"  on {other}: {_rows(number)} owed"
    if debt.rows or debt.changed or debt.stale:
        only = f" --target {target}" if asked else ""
        yield f"  next: registry-tool verify --baseline{only}"


def _named(what: str, rows: list[str]) -> Iterator[str]:
    if rows:
        yield f"  {what}: {_rows(len(rows))}"
        for row in rows[:_NAMED]:
            yield f"    {row}"
        if len(rows) > _NAMED:
            yield f"    and {len(rows) - _NAMED} more; --format json has all of them"


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"
