"""Put records, models and schemas into canonical form where only the formatting is wrong."""

from __future__ import annotations

import argparse

from registry_tool.commands.common import find, say, stage, warn

_KINDS = {"records": "record", "models": "model", "baseline.json": "baseline", "layouts": "layout"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `fmt`."""
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it would")
    parser.add_argument("--no-stage", action="store_true", help="do not stage what was written")


def run(args: argparse.Namespace) -> int:
    """Repair formatting; exit 1 if a file is wrong in a way that formatting cannot mend."""
    import json

    import msgspec

    from registry_tool.errors import InputError
    from registry_tool.records import canonical
    from registry_tool.records.baseline import Baseline
    from registry_tool.records.explain import explain
    from registry_tool.records.fields import Part
    from registry_tool.records.layout import Layout
    from registry_tool.records.migrate import migrate
    from registry_tool.records.model import Model
    from registry_tool.records.record import Record
    from registry_tool.records.schema import schema_for
    from registry_tool.store import registry as registries
    from registry_tool.store import snapshot
    from registry_tool.store.files import write_atomic

    types: dict[str, type[Part]] = {
        "record": Record,
        "model": Model,
        "baseline": Baseline,
        "layout": Layout,
    }
    registry = registries.load(snapshot.of_worktree(find(args)))
    changed, broken = [], 0
    for path in sorted(registry.snapshot.oids):
        kind = _KINDS.get(path.partition("/")[0])
        if kind is None or not path.endswith(".json"):
            continue
        data = registry.snapshot.read(path)
        type_ = types[kind]
        problems = explain(data, type_, schema_for(type_))
        if not problems:
            continue
        try:
            wanted = [p for p in problems if p.kind not in ("formatting", "schema")]
            if wanted:
                raise InputError(wanted[0].message, path=path, line=wanted[0].line)
            document = migrate(kind, json.loads(data.decode("utf-8-sig")))
            new = canonical.encode(msgspec.convert(document, type_, strict=True))
        except (InputError, ValueError) as error:
            warn(
                error.args[0]
                if isinstance(error, InputError) and error.path is None
                else str(error)
            )
            warn(f"{path}:{problems[0].line}: {problems[0].message}; this is not formatting")
            broken += 1
            continue
        changed.append(path)
        if not args.check:
            write_atomic(registry.root / path, new)
    for path in changed:
        say(f"{'would write' if args.check else 'wrote'} {path}")
    if changed and not args.check and not args.no_stage:
        stage(registry, changed)
    if not changed and not broken:
        say("everything is in canonical form")
    return 1 if broken or (args.check and changed) else 0
