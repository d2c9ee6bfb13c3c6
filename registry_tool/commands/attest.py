"""Write rows' verdicts as in-toto statements (test-result predicate), for other tools to verify.

A statement is not signed by itself; the verdict that it names by digest may be (`sign`). --dsse
wraps each in an envelope that is, with the public key beside it, as tools for DSSE read them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from registry_tool.commands.common import find_row, open_worktree, say, say_json, warn
from registry_tool.commands.keys import add_key
from registry_tool.errors import EXIT_OK, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from registry_tool.records.keys import RowId
    from registry_tool.store.registry import Registry

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `attest`."""
    parser.add_argument(
        "rows", metavar="ROW", nargs="*", help="path, target/kernel/key, or its unique end"
    )
    parser.add_argument("--all", action="store_true", help="every row that was run")
    parser.add_argument("--out", metavar="DIR", help="write one file per row into this folder")
    parser.add_argument("--dsse", action="store_true", help="sign each, in a DSSE envelope")
    add_key(parser)


def run(args: argparse.Namespace) -> int:
    """Write the statements; raises UsageError for rows without a verdict of their own."""
    if bool(args.rows) == args.all:
        raise UsageError("name the rows to attest, or --all", fix="registry-tool attest --all")
    if args.key is not None and not args.dsse:
        raise UsageError("--key is for --dsse")
    registry = open_worktree(args)
    rows = _rows(registry, args)
    if args.out is None and len(rows) > 1:
        raise UsageError(f"these are {len(rows)} statements", fix="add --out DIR")
    documents = dict(_documents(registry, rows))
    files = {name: _encoded(document) for name, document in documents.items()}
    if args.dsse:
        files = _enveloped(registry, files, args.key)
    if args.out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(next(iter(files.values())))
        sys.stdout.buffer.flush()
        return EXIT_OK
    _write(Path(args.out), files, args)
    return EXIT_OK


def _write(folder: Path, files: dict[str, bytes], args: argparse.Namespace) -> None:
    from registry_tool.store.files import write_if_changed

    for name, data in files.items():
        write_if_changed(folder / name, data)
    if args.format == "json":
        say_json({"files": sorted(files)})
    elif not args.quiet:
        number = sum(name.endswith(".json") for name in files)
        say(f"wrote {number} statement{'' if number == 1 else 's'} into {folder}")


def _rows(registry: Registry, args: argparse.Namespace) -> list[RowId]:
    if not args.all:
        return list(dict.fromkeys(find_row(registry, text) for text in args.rows))
    rows = [
        row
        for row, record in sorted(registry.records.items(), key=lambda pair: str(pair[0]))
        if record.verdict.kind != "imported"
    ]
    left_out = len(registry.records) - len(rows)
    if left_out:
        warn(f"left out: {left_out} imported rows, of which no run is known")
    if not rows:
        raise UsageError("no row was run", fix="registry-tool status")
    return rows


def _documents(registry: Registry, rows: list[RowId]) -> Iterator[tuple[str, dict[str, Any]]]:
    from registry_tool.records.verdict import Verdict
    from registry_tool.signing import signer, statement
    from registry_tool.store.registry import decode

    snapshot = registry.snapshot
    ask = signer.reader(snapshot)
    for row in rows:
        record = registry.records[row]
        path = record.verdict.artifact
        if path not in snapshot.oids:
            raise UsageError(f"the verdict {path} is not there", fix="registry-tool check")
        if record.verdict.kind == "imported":
            raise UsageError(
                f"{row} was imported: no run of it is known, so nothing can be attested",
                fix=f"registry-tool verify --target {row.target} --kernel {row.kernel}",
            )
        data = snapshot.read(path)
        verdict = decode(data, Verdict, path)
        record_path = registry.record_paths[row]
        found = ask(path)
        who = None
        if found is not None and found.fault is None and found.fingerprint is not None:
            who = {"principal": found.principal or "", "key": found.fingerprint}
        emulated = registry.target(row.target).kind == "emulated"
        yield (
            f"{row.target}/{row.kernel}/{row.key}.json",
            statement.make(
                path, data, verdict, (record_path, snapshot.read(record_path)), emulated, who
            ),
        )


def _enveloped(registry: Registry, files: dict[str, bytes], named: str | None) -> dict[str, bytes]:
    from registry_tool.signing import envelope, statement
    from registry_tool.signing.key import chosen

    with chosen(registry.root, named) as key:
        private = envelope.load(key.path)
    found = {
        name: _encoded(envelope.wrap(data, statement.PAYLOAD, private))
        for name, data in files.items()
    }
    return {**found, "public-key.pem": envelope.public_pem(private)}


def _encoded(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
