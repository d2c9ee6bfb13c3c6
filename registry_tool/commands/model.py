"""Show how far a model is: four criteria for every kernel and shape that it needs (Phase 1).

signal       something proves the kernel on the target: a harness, or the model's diagnosis
correctness  a passing verdict backs the row, byte for byte
tiles        tile, herd and tiles in flight are there; fewer than the target, with the reason why
row          the record stands on its newest pass and lists the model in used_by

Exit 0 only if all of them hold for all needs. --write updates regions of the model's own files:
docs/development_progress/phase1_kernels.md and progress.md, and TODO.md.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from registry_tool.commands.common import open_worktree, say, say_json, warn
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from registry_tool.phase1.blockers import Blocker
    from registry_tool.phase1.gate import Gate, NeedState
    from registry_tool.records.model import Model
    from registry_tool.store.registry import Registry

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `model`."""
    parser.add_argument("model", metavar="NAME", help="a saved model, as in models/NAME.json")
    parser.add_argument("--target", metavar="NAME", help="device kind (default: the first)")
    files = parser.add_argument_group("the model's own files")
    files.add_argument("--write", action="store_true", help="write what was found into them")
    files.add_argument(
        "--folder",
        metavar="DIR",
        help="the model's folder (default: its folder in the harness tree, else REGISTRY/NAME)",
    )
    files.add_argument(
        "--force",
        action="store_true",
        help="overwrite regions that were edited by hand, or tell of another target",
    )
    files.add_argument("--no-stage", action="store_true", help="do not stage what was written")


def run(args: argparse.Namespace) -> int:
    """Print the gate, and write it down if asked; exit 0 only if it holds."""
    import time

    from registry_tool.phase1.blockers import blockers
    from registry_tool.phase1.gate import assess

    if not args.write and (args.folder or args.force):
        raise UsageError("--folder and --force are for --write")
    registry = open_worktree(args)
    target = args.target or registry.first_target
    registry.target(target)
    model = _find(registry, args.model)
    gate = assess(registry, model, target, time.strftime("%Y-%m-%d", time.gmtime()))
    blocked = blockers(registry, gate)
    written = _write(args, registry, gate, blocked) if args.write else None
    if args.format == "json":
        say_json(_document(gate, blocked, written))
    else:
        for line in _lines(gate, blocked, args.quiet):
            say(line)
        for path in written or ():
            say(f"wrote {_shown(path)}")
        if written == [] and not args.quiet:
            say("the model's files are up to date")
    return EXIT_OK if gate.passed else EXIT_FINDINGS


def _find(registry: Registry, name: str) -> Model:
    from registry_tool.records.model import Model
    from registry_tool.store.registry import decode

    path = f"models/{name}.json"
    if path in registry.snapshot.oids:
        return decode(registry.snapshot.read(path), Model, path)
    import difflib

    prefix = "models/"
    known = [
        one.removeprefix(prefix).removesuffix(".json")
        for one in sorted(registry.snapshot.oids)
        if one.startswith(prefix) and one.endswith(".json")
    ]
    folded = {one.lower(): one for one in known}
    close = [folded[one] for one in difflib.get_close_matches(name.lower(), folded, 3, 0.4)]
    hint = f"near: {', '.join(close)}" if close else f"there are: {', '.join(known) or 'none'}"
    raise UsageError(
        f"no model {name!r} is saved here; {hint}",
        fix=f"registry-tool model {close[0]}"
        if close
        else "registry-tool verify --config CONFIG --model NAME",
    )


def _write(
    args: argparse.Namespace, registry: Registry, gate: Gate, blocked: Sequence[Blocker]
) -> list[Path]:
    from registry_tool.phase1 import folder, update
    from registry_tool.phase1.pages import pages

    name = gate.model.model
    place = folder.choose(registry, gate.target, name, args.folder)
    words = ["registry-tool", "model", name, "--target", gate.target, "--write"]
    words += ["--folder", args.folder] if args.folder else []
    fix = f"{shlex.join(words)} --force"
    changed = update.render(place, pages(gate, blocked), args.force, fix)
    update.write(changed)
    if changed and not args.no_stage:
        _stage(registry, place, changed)
    return list(changed)


def _stage(registry: Registry, place: Path, paths: Iterable[Path]) -> None:
    """`git add` just these files, if they are in the registry's repository and in no other."""
    from registry_tool.store import git

    ours = registry.snapshot.repository
    if ours is None:
        return
    theirs = git.open_repository(place)
    top = ours.top.resolve()
    if theirs is not None and theirs.top.resolve() == top:
        inside = [path for path in paths if path.is_relative_to(top)]
        git.stage_in_top(ours, [path.relative_to(top).as_posix() for path in inside])


def _shown(path: Path) -> str:
    """A path as short as it can be typed from here."""
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def _lines(gate: Gate, blocked: Sequence[Blocker], quiet: bool) -> Iterable[str]:
    from registry_tool.phase1.gate import CRITERIA
    from registry_tool.phase1.pages import complaints, heading, next_steps

    where = f"{gate.model.model} on {gate.target}"
    if not quiet:
        yield f"{where} (emulated: it stands for no hardware)" if gate.emulated else where
        yield "  ".join(CRITERIA)
    causes = {id(one.need): one for one in blocked}
    for need in gate.needs:
        if need.passed and quiet:
            continue
        marks = "  ".join(
            ("yes" if need.holds(criterion) else "NO").ljust(len(criterion))
            for criterion in CRITERIA
        )
        yield f"{marks}  {need.kernel} {need.shape}: {_verdict(gate, need)}, {need.source}"
        yield f"    for {'; '.join(need.sites)}"
        for complaint in complaints(need):
            yield f"    {complaint}"
        if id(need) in causes:
            yield from _causes(causes[id(need)])
        for command in next_steps(need):
            yield f"    next: {command}"
    if not gate.needs:
        warn(f"{gate.model.model} has no needs: nothing is proved")
    yield heading(gate)


def _causes(blocker: Blocker) -> Iterable[str]:
    for cause in blocker.causes:
        yield f"    likely: {cause.likely}; look at {cause.look_at}"
    if blocker.log is not None:
        yield f"    log: {blocker.log}"


def _verdict(gate: Gate, need: NeedState) -> str:
    from registry_tool.phase1.pages import verdict_text

    return verdict_text(gate, need).replace("\n", " ")


def _document(
    gate: Gate, blocked: Sequence[Blocker], written: Sequence[Path] | None
) -> dict[str, Any]:
    from msgspec import to_builtins

    from registry_tool.phase1.evidence import seconds_of

    document = {
        "model": gate.model.model,
        "target": gate.target,
        "emulated": gate.emulated,
        "passed": gate.met,
        "total": len(gate.needs),
        "seconds": round(seconds_of(gate.verdicts), 6),
        "needs": [_need(need) for need in gate.needs],
        "uncovered": [to_builtins(one) for one in gate.model.uncovered],
        "notes": list(gate.model.notes),
        "blockers": [_blocker(one) for one in blocked],
    }
    if written is not None:
        document["written"] = [str(path) for path in written]
    return document


def _need(need: NeedState) -> dict[str, Any]:
    from msgspec import to_builtins

    from registry_tool.phase1.gate import CRITERIA
    from registry_tool.phase1.pages import next_steps

    record, link = need.record, need.record.verdict if need.record else None
    failing = need.failing.verdict.status if need.failing else None
    diagnosis = link is not None and link.kind == "diagnosis"
    return {
        "kernel": need.kernel,
        "shape": need.wanted.shape,
        "sites": list(need.sites),
        "passed": need.passed,
        "criteria": {criterion: need.holds(criterion) for criterion in CRITERIA},
        "problems": [
            {"criterion": one.criterion, "reason": one.reason, "next": one.next}
            for one in need.problems
        ],
        "row": str(need.row) if need.row else None,
        "block": need.block.kernel if need.block else None,
        "verdict": link.status if link else failing,
        "artifact": link.artifact if link else need.failing.path if need.failing else None,
        "flaky": need.flaky,
        "source": need.source,
        "variant": record.variant if record else None,
        "mean_rel_L1": record.mean_rel_L1 if record and not diagnosis else None,
        "max_abs": record.max_abs if record else None,
        "max_rel": record.max_rel if record else None,
        "performance": to_builtins(record.performance) if record else None,
        "tile": record.tile if record else None,
        "herd": record.herd if record else None,
        "tiles_in_flight": record.tiles_in_flight if record else None,
        "tiles_target": (need.block or need.wanted.spec).tiles_target,
        "notes": list(record.notes) if record else [],
        "next": next_steps(need),
    }


def _blocker(blocker: Blocker) -> dict[str, Any]:
    from msgspec import to_builtins

    return {
        "kernel": blocker.need.kernel,
        "shape": blocker.need.wanted.shape,
        "sites": list(blocker.need.sites),
        "status": blocker.status,
        "reason": blocker.reason,
        "attempts": blocker.attempts,
        "causes": [to_builtins(cause) for cause in blocker.causes],
        "verdict": blocker.verdict,
        "log": blocker.log,
    }
