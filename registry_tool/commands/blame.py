"""Show which commit last set each field of a row, and each of its notes, uses and waivers.

Fields that people or a run changed since the last commit are shown as not committed yet.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from registry_tool.commands.common import find, find_row, say_json, say_lines, warn
from registry_tool.errors import EXIT_OK, UsageError
from registry_tool.history import blame, series
from registry_tool.history.versions import document, versions
from registry_tool.report.escape import line
from registry_tool.store import git, git_limits

if TYPE_CHECKING:
    from registry_tool.history.versions import Version
    from registry_tool.records.keys import RowId

FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which row, and when."""
    parser.add_argument("row", metavar="ROW", help="path, target/kernel/key, or its unique end")
    parser.add_argument("--at", metavar="REV", help="the row as it stood in a commit")


def run(args: argparse.Namespace) -> int:
    """Print a line for each field."""
    from registry_tool.store import registry, snapshot

    root = find(args)
    repository = git.require_repository(root)
    state = snapshot.of_worktree(root) if args.at is None else snapshot.of_revision(root, args.at)
    row = find_row(registry.load(state), args.row)
    led = _led(repository, row, args.at or "HEAD")
    shown = document(state.read(row.record_path))
    if "unreadable" in shown:
        raise UsageError(
            f"it cannot be read: {shown['unreadable']}", path=row.record_path,
            fix=f"registry-tool log {row.kernel} {row.key.partition('+')[0]}",
        )  # fmt: skip
    lines = blame.blame(led, shown)
    if args.format == "json":
        say_json([_document(one) for one in lines])
    else:
        wide = max(len(one.field) for one in lines)
        who = [line(_who(one)) for one in lines]
        column = max(map(len, who))
        for name, one in zip(who, lines, strict=True):
            say_lines([f"{name:<{column}}  {one.field:<{wide}}  {line(_gist(one.value))}"])
    if git_limits.cut_at(repository):
        warn("history ends here: shallow clone; git fetch --unshallow")
    return EXIT_OK


def _led(repository: git.Repository, row: RowId, revision: str) -> list[Version]:
    if revision == "HEAD" and git.head(repository) is None:
        return []

    def wanted(*parts: str) -> bool:
        return parts == (row.target, row.kernel, row.key)

    found = list(versions(repository, wanted, revision))
    return series.line(found, series.tips(repository, revision).get(row.record_path))


def _who(line: blame.Line) -> str:
    if line.commit is None:
        return "not committed yet"
    return f"{line.commit.oid[:12]} {line.commit.date[:10]} {line.commit.author}"


def _gist(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _document(line: blame.Line) -> dict[str, Any]:
    commit = line.commit
    return {
        "field": line.field,
        "value": line.value,
        "commit": None if commit is None else commit.oid,
        "date": None if commit is None else commit.date,
        "author": None if commit is None else commit.author,
        "verdict": line.verdict,
    }
