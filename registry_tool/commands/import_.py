"""Read an existing registry (pages, index, JSON in the upstream form) into rows of a target.

The rows stand on artifacts of the kind `imported` and the status `unverified`: debt, which
baseline.json names and `verify --baseline` works off. Nothing is written if anything cannot be
read.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from registry_tool.commands.common import say, say_json, warn
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError

if TYPE_CHECKING:
    from registry_tool.adoption.model import Adoption
    from registry_tool.adoption.plan import Step
    from registry_tool.adoption.prose import Reading
    from registry_tool.adoption.summary import Report
    from registry_tool.commands.import_place import Place
    from registry_tool.store.registry import Registry

FORMATS = ("text", "json")
_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `import`."""
    parser.add_argument("folder", metavar="DIR", help="the folder with supported_kernels.md")
    parser.add_argument("--target", required=True, metavar="NAME", help="what its figures are of")
    parser.add_argument("--report", metavar="FILE", help="write counts and drift as JSON")
    parser.add_argument(
        "--mark",
        action="store_true",
        help="take its pages over, with markers around the tables and nothing else changed",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be written")
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="TITLE=FIELD",
        help="what an unknown column holds: notes, used_by, status, max_abs ...",
    )
    parser.add_argument(
        "--without", action="append", default=[], metavar="KERNEL", help="leave a kernel out"
    )
    parser.add_argument("--no-stage", action="store_true", help="do not `git add` what is written")


def run(args: argparse.Namespace) -> int:
    """Read, compare with what is there, write all of it or nothing, stage it."""
    from registry_tool import adoption as adopting
    from registry_tool.adoption import doubts, drift, imported, plan, summary
    from registry_tool.baseline.once import require_same_target
    from registry_tool.commands.import_place import opened

    folder = Path(args.folder)
    with opened(folder, args.registry) as place:
        registry = place.registry
        _check_target(place, args.target)
        require_same_target(registry, args.target)
        _check_pages(args, place)
        adoption = adopting.read(folder, registry.specs, _columns(args.column), args.without)
        moment = datetime.now(timezone.utc)
        found = drift.find(adoption, registry.specs)
        held = doubts.of_rows(adoption, found)
        made, refused = imported.make(adoption, args.target, moment, held)
        there = registry.records
        steps = plan.steps(made, there, plan.words_for(adoption))
        report = summary.Report(
            adoption,
            plan.counts(adoption, made, refused),
            refused,
            found,
            _prose(folder, adoption),
        )
        status = EXIT_OK
        written: list[str] = []
        if _is_first(registry, args.target):
            if not args.dry_run:
                written = _write(args, place, adoption, steps)
        else:
            status = _compare(args, steps, plan.gone(made, there, args.target))
    _write_report(args, folder, report)
    _tell(args, report, steps, written)
    return status


def _check_pages(args: argparse.Namespace, place: Place) -> None:
    """What the pages of the registry would become; raises UsageError where that cannot be meant."""
    registry = place.registry
    if place.is_new and not args.mark and not args.dry_run:
        raise UsageError(
            "there is no registry yet, and this folder's own pages would become its pages",
            path=args.folder,
            fix=f"registry-tool import {args.folder} --target {args.target} --mark "
            "(or registry-tool init NEW; registry-tool import ... --registry NEW)",
        )
    # Pages show the first target: those of another one cannot be marked over them.
    if args.mark and registry.records and registry.first_target != args.target:
        raise UsageError(
            f"the pages of this registry show {registry.first_target}, which has rows",
            path=registry.root,
            fix="leave --mark away, or import into an empty registry",
        )


def _check_target(place: Place, name: str) -> None:
    registry = place.registry
    if place.is_new and name not in registry.policy.targets:
        there = ", ".join(registry.policy.targets)
        raise UsageError(
            f"unknown target {name!r}; a new registry has {there}",
            fix=f"registry-tool init {place.root}, then name {name!r} in its registry.yaml",
        )
    if registry.target(name).kind != "hardware":
        hardware = [n for n, one in registry.policy.targets.items() if one.kind == "hardware"]
        raise UsageError(
            f"{name} is emulated: figures of a device cannot be its rows",
            fix=f"--target {' or '.join(hardware) or 'NAME'}",
        )


def _columns(given: Sequence[str]) -> dict[str, str]:
    """Title to role, from the words of ``--column``; raises UsageError for an unknown role."""
    from registry_tool.adoption.columns import GIVEN

    found = {}
    for text in given:
        title, _, role = text.rpartition("=")
        if not title or role not in GIVEN:
            raise UsageError(
                f"--column {text!r}: expected TITLE=FIELD, with one of {', '.join(GIVEN)}"
            )
        found[title.strip()] = role
    return found


def _is_first(registry: Registry, target: str) -> bool:
    """Whether nothing was imported for the target yet, or an import was cut short."""
    from registry_tool.baseline import read

    held = read.on_disk(registry.root)
    return held is None or not any(entry.row.startswith(f"{target}/") for entry in held.rows)


def _prose(folder: Path, adoption: Adoption) -> Reading:
    """The figures in the prose of the pages, and of a README beside them."""
    from registry_tool.adoption.prose import propose

    pages = {one.name: one.data for one in adoption.sources if one.name.endswith(".md")}
    readme = folder / "README.md"
    if readme.is_file():
        pages["README.md"] = readme.read_bytes()
    return propose(pages, adoption, adoption.specs)


def _write(
    args: argparse.Namespace, place: Place, adoption: Adoption, steps: Sequence[Step]
) -> list[str]:
    """Everything into the scratch folder first; only when all of it fits, into the registry."""
    from registry_tool.baseline.make import of_disk
    from registry_tool.commands.edits import refresh
    from registry_tool.commands.import_place import put, write
    from registry_tool.records.baseline import PATH

    scratch = place.scratch
    files: dict[str, bytes] = {}
    for step in steps:
        if step.fate in ("new", "changed"):
            files |= step.made.files
    if not place.registry.records:
        files |= _policy(place, args.target)
    if args.mark:
        files |= _marked(place, adoption, steps)
    put(scratch, {**files, **_artifacts_there(place, steps)})
    # With markers alone, the pages stay as they are until `render`: here it is only tried out.
    rendered = refresh(scratch)
    changed = [] if args.mark else rendered
    new = (".gitattributes", ".gitignore", "registry.yaml") if place.is_new else ()
    files |= {name: (scratch / name).read_bytes() for name in (*changed, *new)}
    owed = [step.made.row for step in steps if step.fate != "verified"]
    files[PATH] = of_disk(scratch, sorted(owed, key=str))
    write(place.root, files, stage=not args.no_stage)
    return sorted(files)


def _policy(place: Place, target: str) -> dict[str, bytes]:
    """registry.yaml with the target in front, for a registry that had no row."""
    from registry_tool.adoption import policy
    from registry_tool.store.registry import POLICY

    before = (place.scratch / POLICY).read_bytes()
    return {POLICY: policy.with_first(before, target, POLICY)}


def _marked(place: Place, adoption: Adoption, steps: Sequence[Step]) -> dict[str, bytes]:
    from registry_tool.adoption.mark import mark

    there = place.registry.records
    records = [
        there[step.made.row] if step.fate in ("verified", "same") else step.made.record
        for step in steps
    ]
    made = mark(adoption, records)
    return {**made.pages, **made.layouts}


def _artifacts_there(place: Place, steps: Sequence[Step]) -> dict[str, bytes]:
    """The artifacts of imported rows that stay as they are, for the list of debt to read."""
    there = place.registry.records
    paths = [there[step.made.row].verdict.artifact for step in steps if step.fate == "same"]
    return {path: (place.root / path).read_bytes() for path in paths}


def _compare(args: argparse.Namespace, steps: Sequence[Step], gone: Sequence[object]) -> int:
    """A second import changes nothing: it says what is different now."""
    lines = []
    for step in steps:
        if step.fate == "new":
            lines.append(f"new: {step.made.row}")
        elif step.differs:
            what = "verified here" if step.fate == "verified" else "imported"
            lines.append(f"differs from the row that was {what}: {step.made.row}"
                         f" ({', '.join(step.differs)})")  # fmt: skip
    lines += [f"no longer there: {row}" for row in gone]
    if not args.quiet:
        for line in lines[:_SHOWN]:
            warn(line)
        if len(lines) > _SHOWN:
            warn(f"... and {len(lines) - _SHOWN} more")
        kept = sum(step.fate == "verified" for step in steps)
        warn(
            f"{args.target} was imported before: nothing is written"
            + (f"; {kept} rows have a verdict of their own" if kept else "")
            + "\n  next: registry-tool verify for a new or changed row"
        )
    return EXIT_FINDINGS if lines else EXIT_OK


def _write_report(args: argparse.Namespace, folder: Path, report: Report) -> None:
    """The JSON where it was asked for, and a page to read beside it."""
    from registry_tool.adoption import summary
    from registry_tool.store.files import write_atomic

    if args.report is None:
        return
    path = Path(args.report)
    write_atomic(path, summary.of_json(report))
    base = os.path.relpath(folder.resolve(), path.resolve().parent)
    write_atomic(path.with_suffix(".md"), summary.of_page(report, f"{Path(base).as_posix()}/"))


def _tell(
    args: argparse.Namespace, report: Report, steps: Sequence[Step], written: Sequence[str]
) -> None:
    from registry_tool.adoption.summary import row_name

    fates = {fate: sum(step.fate == fate for step in steps) for fate in _FATES}
    prose = report.prose
    if args.format == "json":
        found = {"drift": len(report.drift), "prose": len(prose.contradictions)}
        say_json({"rows": dict(report.counts), "fates": fates, **found, "files": len(written)})
        return
    if args.quiet:
        return
    places = ", ".join(f"{n} in {place}" for place, n in _places(report.counts))
    say(f"read {report.counts['lines']} lines about {report.counts['total']} rows: {places}")
    for one in report.refused:
        where = ", ".join(claim.where for claim in one.row.claims)
        say(f"  no row: {row_name(one)} ({where}: {one.reason})")
    say("rows: " + ", ".join(f"{count} {fate}" for fate, count in fates.items() if count))
    say(
        f"{len(report.drift)} findings, {len(prose.contradictions)} figures in prose that rows "
        f"contradict, {len(prose.proposals)} that a row can show"
        + (f": {args.report}, and .md to read" if args.report else " (--report FILE.json)")
    )
    if args.dry_run:
        say("nothing was written (--dry-run)")
    elif written:
        debt = sum(fates[fate] for fate in ("new", "changed", "same"))
        say(f"wrote {len(written)} files; {debt} rows are debt until they are verified")
        first = "registry-tool render; " if args.mark else ""
        say(f"next: {first}registry-tool check; git commit; registry-tool verify --baseline")


def _places(counts: Mapping[str, object]) -> Iterable[tuple[str, int]]:
    places = counts["by_place"]
    assert isinstance(places, dict)
    yield from places.items()


_FATES = ("new", "changed", "same", "verified")
