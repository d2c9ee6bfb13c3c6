"""Look in git's history for what should not have happened to rows and their evidence.

Without a range, everything that reaches HEAD; A..B is what reaches B and not A; a single commit
stands for everything that reaches it. Exit status 1 if something was found.
"""

from __future__ import annotations

import argparse

from registry_tool.commands.common import find, say, say_json, say_lines, warn
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, GitError
from registry_tool.history.audit import finding
from registry_tool.history.audit.finding import Found
from registry_tool.history.audit.look import Audit, Range, audit
from registry_tool.store import git, git_limits

FORMATS = ("text", "json")
_SHOWN = 50
"""Findings of one kind that are written out in text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which commits to look at."""
    parser.add_argument(
        "range", nargs="?", metavar="RANGE", help="A..B, or a commit (default: all of HEAD)"
    )
    parser.add_argument(
        "--no-rules", action="store_true", help="do not judge each commit by today's rules"
    )
    parser.add_argument(
        "--allow-shallow", action="store_true", help="look at what a shallow clone has"
    )


def run(args: argparse.Namespace) -> int:
    """Print what was found; 1 if anything was."""
    import gc

    gc.disable()
    root = find(args)
    repository = git.require_repository(root)
    wanted = Range(*git_limits.parse_range(args.range))
    if wanted.tip == "HEAD" and git.head(repository) is None:
        raise GitError("there is no commit yet to look at", fix="git commit")
    if git_limits.cut_at(repository):
        if not args.allow_shallow:
            raise GitError(
                "a shallow clone does not have the history that an audit is about",
                fix="git fetch --unshallow   # or --allow-shallow: look at what is there",
            )
        warn("history ends here: shallow clone; what was before it was not looked at")
    result = audit(repository, wanted)
    if not args.no_rules:
        from registry_tool.commands.audit_rules import failing

        result = result.with_more(failing(root, repository, wanted))
    if args.format == "json":
        say_json(
            {
                "findings": [one.as_json() for one in result.found],
                "commits": result.commits,
                "shallow": bool(git_limits.cut_at(repository)),
            }
        )
    else:
        _say_text(result, args.quiet)
    return EXIT_FINDINGS if result.found else EXIT_OK


def _say_text(result: Audit, quiet: bool) -> None:
    kinds: dict[str, list[Found]] = {}
    for one in result.found:
        kinds.setdefault(one.kind, []).append(one)
    for kind, meaning in finding.MEANING.items():
        found = kinds.get(kind, [])
        if not found:
            continue
        say(f"{kind}: {meaning}")
        for one in found[:_SHOWN]:
            commit = one.commit
            where = one.record or one.path
            say_lines(
                (
                    f"  {commit.oid[:12]} {commit.date} {commit.author}: {where}",
                    f"    {one.path}: {one.message}",
                    f"    next: {one.fix}",
                )
            )
        if len(found) > _SHOWN:
            say(f"  and {len(found) - _SHOWN} more; --format json has all of them")
    looked = f"{result.commits:,} commit{'' if result.commits == 1 else 's'}"
    if result.found:
        say(f"{len(result.found)} found in {looked}; docs/audit.md says what each means")
    elif not quiet:
        say(f"nothing found in {looked}")
