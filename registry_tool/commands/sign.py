"""Sign verdicts of rows with the SSH key that git uses, and stage the signatures.

Whoever signs vouches for the run: that it was made as the verdict says. A second person's signature
stands beside the first. Nothing that is signed is ever signed over.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from registry_tool.commands.common import find_row, open_worktree, say, stage, warn
from registry_tool.commands.keys import add_key, announce_touch
from registry_tool.errors import EXIT_OK, InputError, UsageError

if TYPE_CHECKING:
    from registry_tool.store.registry import Registry


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `sign`."""
    parser.add_argument(
        "rows",
        metavar="ROW",
        nargs="*",
        help="path, target/kernel/key, or its unique end; or the path of one verdict",
    )
    parser.add_argument(
        "--all-unsigned",
        action="store_true",
        help="every row whose verdict nobody signed, on the targets where signatures are looked at",
    )
    parser.add_argument("--target", metavar="NAME", help="with --all-unsigned: this one alone")
    add_key(parser)
    parser.add_argument("--no-stage", action="store_true", help="do not stage the signatures")


def run(args: argparse.Namespace) -> int:
    """Write the signatures; raises SigningError, with nothing written, if one cannot be made."""
    from registry_tool.signing import act
    from registry_tool.signing.key import chosen

    if bool(args.rows) == args.all_unsigned:
        raise UsageError(
            "name the rows to sign, or --all-unsigned", fix="registry-tool sign --all-unsigned"
        )
    if args.target is not None and not args.all_unsigned:
        raise UsageError("--target is for --all-unsigned")
    registry = open_worktree(args)
    paths = _unsigned(registry, args.target) if args.all_unsigned else _named(registry, args.rows)
    if not paths:
        say("nothing to sign: every verdict that a row stands on has a signature")
        return EXIT_OK
    _require_unedited(registry, paths)
    with chosen(registry.root, args.key) as key:
        announce_touch(key, len(paths))
        written = act.sign(registry.root, paths, key)
    if not args.no_stage:
        stage(registry, written)
    known = len(paths) - len(written)
    before = f"; {_count(known)} had this key's signature already" if known else ""
    if written:
        say(f"signed {_count(len(written))}{before}")
    else:
        say(f"nothing to sign{before}")
    for text in _doubts(registry, paths):
        warn(text)
    if written and not args.no_stage and registry.snapshot.repository is not None:
        say('next: git commit -m "Sign ..."')
    return EXIT_OK


def _count(number: int) -> str:
    return f"{number} verdict{'' if number == 1 else 's'}"


def _named(registry: Registry, words: list[str]) -> list[str]:
    from registry_tool.records.keys import parse_verdict_path

    found = []
    for text in words:
        parts = parse_verdict_path(text.removeprefix("./"))
        if parts is not None and parts.suffix == "json":
            path = text.removeprefix("./")
        else:
            path = registry.records[find_row(registry, text)].verdict.artifact
        if path not in registry.snapshot.oids or parse_verdict_path(path) is None:
            raise UsageError(f"the verdict {path} is not there", fix="registry-tool check")
        found.append(path)
    return list(dict.fromkeys(found))


def _unsigned(registry: Registry, target: str | None) -> list[str]:
    """The verdicts of rows, as far as they were run, that have no signature."""
    from registry_tool.signing import act

    if target is not None:
        registry.target(target)
        targets = [target]
    else:
        policy = registry.policy
        targets = [name for name in policy.targets if policy.signing_of(name) != "off"]
        if not targets:
            raise UsageError(
                "signing is off for every target, so that nobody looks at signatures",
                path=registry.root / "registry.yaml",
                fix="signing: optional   # in registry.yaml; or name a --target",
            )
    found = []
    for row, record in sorted(registry.records.items(), key=lambda pair: str(pair[0])):
        path = record.verdict.artifact
        wanted = row.target in targets and record.verdict.kind != "imported"
        if not wanted or path not in registry.snapshot.oids:
            continue
        if next(act.signatures(registry.root, path), None) is None:
            found.append(path)
    return found


def _require_unedited(registry: Registry, paths: list[str]) -> None:
    """Raise InputError for a verdict that is not as a run wrote it."""
    from registry_tool.records.verdict import Verdict
    from registry_tool.store.registry import decode
    from registry_tool.verifier import artifact

    for path, data in registry.snapshot.read_many(paths).items():
        verdict = decode(data, Verdict, path)
        if verdict.attempts and artifact.run_id(verdict) != verdict.run_id:
            raise InputError(
                "this verdict was edited: its run id is not that of its content",
                path=path,
                fix="registry-tool check",
            )


def _doubts(registry: Registry, paths: list[str]) -> list[str]:
    """What the gate will say of the new signatures, each thing once."""
    from registry_tool.records.keys import parse_verdict_path
    from registry_tool.signing.signer import reader
    from registry_tool.store import snapshot

    found: dict[str, str] = {}
    ask = reader(snapshot.of_worktree(registry.root))
    for path in paths:
        parts = parse_verdict_path(path)
        assert parts is not None
        if registry.policy.signing_of(parts.row.target) == "off":
            text = f"signing is off for {parts.row.target}: nobody looks at the signature"
            found.setdefault(text, text)
            continue
        signer = ask(path)
        if signer is not None and signer.fault is not None:
            found.setdefault(signer.fault, f"the gate will not count it: {signer.message}")
    return list(found.values())
