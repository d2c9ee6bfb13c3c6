"""Which two states a review compares, from what a person types; raises what they can mend."""

from __future__ import annotations

import re
from dataclasses import dataclass

from registry_tool.errors import GitError, UsageError
from registry_tool.store import git
from registry_tool.store.git import Repository

_NOTHING = re.compile(r"0{40}(?:0{24})?")
"""What a code host calls the state before a branch's first push."""


@dataclass(frozen=True)
class Span:
    """Two commits; ``base`` is None for the state without files. ``title`` is how it was asked."""

    base: str | None
    head: str
    title: str


def resolve(repository: Repository, text: str | None) -> Span:
    """The span that ``text`` names.

    ``A..B`` compares A with B, ``A...B`` where B left A with B, a single revision its first parent
    with it, and None the place where HEAD left its upstream (or the main branch) with HEAD. Raises
    GitError for a revision that does not exist or lies beyond the end of a shallow clone.
    """
    if text is None:
        return _own_work(repository)
    if "..." in text:
        left, _, right = text.partition("...")
        one, other = _commit(repository, left or "HEAD"), _commit(repository, right or "HEAD")
        return Span(_parting(repository, one, other, left, right), other, text)
    if ".." in text:
        left, _, right = text.partition("..")
        base = None if _NOTHING.fullmatch(left) else _commit(repository, left or "HEAD")
        return Span(base, _commit(repository, right or "HEAD"), text)
    head = _commit(repository, text)
    return Span(_parent(repository, head, text), head, text)


def _own_work(repository: Repository) -> Span:
    if repository.head is None:
        raise UsageError("there is no commit to review yet", fix="registry-tool review --staged")
    main = git.main_line(repository)
    if main is None:
        head = repository.head
        return Span(_parent(repository, head, "HEAD"), head, "HEAD")
    base = _parting(repository, main, repository.head, main[:12], "HEAD")
    return Span(base, repository.head, f"{base[:12]}..HEAD")


def _commit(repository: Repository, revision: str) -> str:
    try:
        return git.resolve(repository, revision)
    except GitError:
        if not git.shallow_commits(repository):
            raise
        raise GitError(
            f"no commit is called {revision!r} in this shallow clone",
            fix="git fetch --unshallow   # or: git fetch --depth=1 origin COMMIT",
        ) from None


def _parent(repository: Repository, head: str, text: str) -> str | None:
    parent = git.first_parent(repository, head)
    if parent is None and git.is_cut(repository, head):
        raise GitError(
            f"the parent of {text!r} lies beyond the end of this shallow clone",
            fix="git fetch --deepen=1",
        )
    return parent


def _parting(repository: Repository, one: str, other: str, left: str, right: str) -> str:
    base = git.merge_base(repository, one, other)
    if base is not None:
        return base
    if git.shallow_commits(repository):
        raise GitError(
            f"where {right or 'HEAD'!r} left {left or 'HEAD'!r} lies beyond the end of this "
            "shallow clone",
            fix="git fetch --deepen=100   # or: git fetch --unshallow",
        )
    raise GitError(
        f"{left or 'HEAD'!r} and {right or 'HEAD'!r} have no commit in common",
        fix=f"registry-tool review {left or 'HEAD'}..{right or 'HEAD'}",
    )
