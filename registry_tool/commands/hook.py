"""What git's hooks call: judge every registry of the repository where the hook stands.

    registry-tool hook pre-commit          the index (also pre-merge-commit and pre-applypatch)
    registry-tool hook pre-push REMOTE     every new commit of every ref named on standard input
    registry-tool hook pre-receive         the same, where a server receives a push
    registry-tool hook update REF OLD NEW  the same, for one ref
    registry-tool hook post-merge          the commit that git just made; says what to mend

Exit status 0: git may go on. 1: a rule refuses it. `registry-tool init --hooks` installs these.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from registry_tool.commands.common import say, warn
from registry_tool.errors import EXIT_FINDINGS, EXIT_OK, UsageError

if TYPE_CHECKING:
    from registry_tool.gates.judge import Judged
    from registry_tool.gates.push import Ref
    from registry_tool.store.git import Repository

_OLD_TABLE = "KR301"
_RENDER, _COMMIT = "registry-tool render", "git commit -m Render"
_SHOWN = 5
"""Refused commits that are written out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The hook, and what git hands to it."""
    parser.add_argument("name", metavar="HOOK", choices=sorted(HOOKS), help=", ".join(HOOKS))
    parser.add_argument(
        "words", metavar="ARG", nargs=argparse.REMAINDER, help="what git gives to the hook"
    )


def run(args: argparse.Namespace) -> int:
    """Judge; 1 if a rule refuses."""
    from registry_tool.store import git

    repository = git.open_any(Path.cwd())
    if repository is None:
        git.require_git()
        raise UsageError("not in a git repository", path=Path.cwd(), fix="git init")
    return HOOKS[args.name](repository, args.words, args.quiet)


def _commit(repository: Repository, words: Sequence[str], quiet: bool) -> int:
    # pre-commit calls a hook of its own for a push, and tells it of one ref alone.
    if "PRE_COMMIT_TO_REF" in os.environ:
        return _pushed_by_pre_commit(repository)
    # ... and the same one for a clean merge, which only git's own environment tells.
    if any(name.startswith("GITHEAD_") for name in os.environ):
        return _merge(repository, words, quiet)
    import gc

    from registry_tool.gates import places
    from registry_tool.store import git

    # What a check makes it keeps until it ends: looking for garbage takes a tenth of its time.
    gc.disable()
    staged = places.in_index(repository)
    for gone in staged.removed:
        warn(f"this commit removes the registry in {gone.prefix or './'} as a whole")
    sides = git.merging(repository)
    found = [_judged(registry, sides) for registry in staged.registries]
    return _told([judged for judged in found if judged is not None], quiet)


def _judged(registry: Repository, sides: Sequence[str]) -> Judged | None:
    """What is found in the index; None, with a word of it, if nobody can tell and nothing changed.

    A partial clone without its remote lacks contents: that must not hinder work on other things.
    """
    from registry_tool.errors import GitError
    from registry_tool.gates import judge

    try:
        return judge.index(registry, sides)
    except GitError as error:
        if sides or judge.is_changed(registry):
            raise
        warn(
            f"the registry in {registry.prefix or './'} was not judged: {error.message}\n"
            "  this commit changes nothing in it"
        )
        return None


def _merge(repository: Repository, words: Sequence[str], quiet: bool) -> int:
    """As `_commit`; where only tables are old, they are made new.

    Two sides that each add a row write the same `3 rows` into the index page: git takes that for
    one change and asks no merge driver. What a hook stages here comes too late for the merge
    itself, so it ends here and one more commit finishes it.
    """
    from registry_tool.gates import judge, places
    from registry_tool.store import git

    registries = places.in_index(repository).registries
    sides = git.merging(repository)
    found = [judge.index(registry, sides) for registry in registries]
    if not _are_old_tables(found):
        return _told(found, quiet)
    from registry_tool.gates.rendering import render_index

    for registry in registries:
        render_index(registry)
    again = [judge.index(registry, sides) for registry in registries]
    if any(report.blocking for _, report in again):
        return _told(again, quiet)
    warn(
        "the rows merged, and the tables lagged behind: they are rendered and staged now\n"
        "  next: git commit --no-edit"
    )
    return EXIT_FINDINGS


def _advise(repository: Repository, words: Sequence[str], quiet: bool) -> int:
    """What git made without asking; nobody can refuse it any more, but a push would be."""
    if words[:1] == ["amend"]:
        return EXIT_OK  # pre-commit has judged it
    from registry_tool.gates import judge, places

    found = [judge.index(registry) for registry in places.in_index(repository).registries]
    if not _told(found, quiet=True):
        return EXIT_OK
    # `merge --squash` made no commit yet.
    refused, finish = ("commit", "git commit") if words[:1] == ["1"] else ("push", _COMMIT)
    mend = "" if _are_old_tables(found) else "mend what is said above, "
    warn(
        f"the registry is not in order after this; a {refused} will be refused\n"
        f"  next: {mend}{_RENDER} && {finish}"
    )
    return EXIT_OK


def _are_old_tables(found: Sequence[Judged]) -> bool:
    """Whether nothing is wrong but that generated parts lag behind the rows."""
    errors = [one for _, report in found for one in report.findings if one.severity == "error"]
    return bool(errors) and all(one.rule == _OLD_TABLE for one in errors)


def _push(repository: Repository, words: Sequence[str], quiet: bool) -> int:
    from registry_tool.gates import push
    from registry_tool.store import git

    remote = words[0] if words else ""
    tracked = bool(remote) and git.tracked_remote(repository, remote)
    elsewhere = [f"--remotes={remote}"] if tracked else []
    refs = push.read_pre_push(_standard_input())
    mend = "git rebase -i {}^   # mend it there; git push --no-verify would only move the refusal"
    return _refuse(repository, refs, elsewhere, mend)


def _pushed_by_pre_commit(repository: Repository) -> int:
    from registry_tool.gates.push import Ref

    ref = Ref(
        os.environ.get("PRE_COMMIT_REMOTE_BRANCH", "the pushed ref"),
        os.environ["PRE_COMMIT_TO_REF"],
        os.environ.get("PRE_COMMIT_FROM_REF", ""),
    )
    return _refuse(repository, [ref], [], "git rebase -i {}^   # mend it there")


def _receive(repository: Repository, words: Sequence[str], quiet: bool) -> int:
    from registry_tool.gates import push

    refs = push.read_pre_receive(_standard_input())
    return _refuse(repository, refs, ["--all"], "git rebase -i {}^   # mend it, then push again")


def _update(repository: Repository, words: Sequence[str], quiet: bool) -> int:
    from registry_tool.gates.push import Ref

    if len(words) != 3:
        raise UsageError("expected: registry-tool hook update REF OLD NEW")
    name, old, new = words
    mend = "git rebase -i {}^   # mend it, then push again"
    return _refuse(repository, [Ref(name, new, old)], ["--all"], mend)


def _refuse(
    repository: Repository, refs: Sequence[Ref], elsewhere: Sequence[str], mend: str
) -> int:
    """Say which commits are refused; 1 if any is."""
    import gc

    from registry_tool.gates import push
    from registry_tool.store import git

    gc.disable()
    first, number, are_tables = "", 0, True
    for verdict in push.refused(repository, refs, elsewhere, _progress()):
        first, number = first or verdict.commit[:12], number + 1
        are_tables = are_tables and _are_old_tables(verdict.judged)
        if number <= _SHOWN:
            subject = git.subject(repository, verdict.commit)
            say(f"commit {verdict.commit[:12]} ({subject}), in {', '.join(verdict.refs)}:")
            _told(verdict.judged, quiet=True)
    if not number:
        return EXIT_OK
    more = f", {number - _SHOWN} of them not shown" if number > _SHOWN else ""
    # Old tables are forgiven in a commit that another one follows.
    step = f"{_RENDER} && {_COMMIT}, then push again" if are_tables else mend.format(first)
    say(f"{number} commit{'s' if number != 1 else ''} refused{more}\n  next: {step}")
    return EXIT_FINDINGS


def _told(found: Sequence[Judged], quiet: bool) -> int:
    """Print the findings of each registry (all is well: one line, unless ``quiet``)."""
    from registry_tool.report import text

    for prefix, report in found:
        if report.blocking or not quiet:
            say(text.write(report, prefix))
    return EXIT_FINDINGS if any(judged.report.blocking for judged in found) else EXIT_OK


def _progress() -> Callable[[int, int], None]:
    """How far a long push has come, on a terminal."""
    if not sys.stderr.isatty():
        return lambda done, every: None
    return lambda done, every: (
        warn(f"\rjudging commit {done} of {every}", end="\n" if done == every else "")
        if every > 20
        else None
    )


def _standard_input() -> str:
    return os.fsdecode(sys.stdin.buffer.read())


HOOKS: dict[str, Callable[[Repository, Sequence[str], bool], int]] = {
    "pre-commit": _commit,
    "pre-merge-commit": _merge,
    "pre-applypatch": _commit,
    "pre-push": _push,
    "pre-receive": _receive,
    "update": _update,
    "post-merge": _advise,
    "post-rewrite": _advise,
}
