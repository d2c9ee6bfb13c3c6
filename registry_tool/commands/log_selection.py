"""Which rows and commits `log` is asked for."""

from __future__ import annotations

import argparse
import fnmatch
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from registry_tool.errors import GitError, UsageError
from registry_tool.history.versions import Version, Wanted
from registry_tool.store import git, git_limits

if TYPE_CHECKING:
    from registry_tool.history.identity import Document
    from registry_tool.store.git import Repository
    from registry_tool.store.git_history import Commit
    from registry_tool.store.registry import Registry


@dataclass(frozen=True)
class Selection:
    """Rows by ``wanted`` and ``model``; commits that reach ``until`` and none of ``without``."""

    root: Path
    kernel: str | None
    wanted: Wanted | None
    model: str | None
    author: str | None
    until: str
    without: tuple[str, ...]
    since_moment: int | None
    until_moment: int | None
    newer: frozenset[str] | None
    seen: set[str] = field(default_factory=set, repr=False)
    """Models that rows were found to be used by, for who mistypes one."""

    def of(self, found: Iterable[Version]) -> Iterator[Version]:
        """The versions that are asked for."""
        return (one for one in self.of_any_time(found) if self.takes(one.commit))

    def of_any_time(self, found: Iterable[Version]) -> Iterator[Version]:
        """The versions of the rows that are asked for, whenever and by whomever."""
        if self.model is None:
            return iter(found)
        listed = list(found)
        rows = set()
        for one in listed:
            models = {*_models(one.before), *_models(one.after)}
            self.seen.update(models)
            if any(_is_like(name, self.model) for name in models):
                rows.add(one.row)
        return (one for one in listed if one.row in rows)

    def takes(self, commit: Commit) -> bool:
        """Whether the commit is one that is asked for."""
        if self.newer is not None and commit.oid not in self.newer:
            return False
        if self.author is not None:
            name = f"{commit.author} <{commit.email}>".casefold()
            if self.author.casefold() not in name:
                return False
        if self.since_moment is None and self.until_moment is None:
            return True
        moment = datetime.fromisoformat(commit.date.replace("Z", "+00:00")).timestamp()
        return (self.since_moment is None or moment >= self.since_moment) and (
            self.until_moment is None or moment <= self.until_moment
        )

    def nothing(self) -> str:
        """What to say where nothing was found; raises UsageError for a kernel that is none."""
        if self.kernel is not None:
            _require_known(self.kernel, self.root)
        if self.model is not None and not any(_is_like(name, self.model) for name in self.seen):
            close = _close(self.model, self.seen)
            hint = f"; did you mean {close}?" if close else ""
            return f"no row was ever used by a model called {self.model!r}{hint}"
        narrowed = self.kernel or self.wanted or self.author or self.newer is not None
        dated = self.since_moment is not None or self.until_moment is not None
        return "no commit has such a row" if narrowed or dated else "no commit has a row yet"


def select(args: argparse.Namespace, repository: Repository, root: Path) -> Selection:
    """What the words of the command line ask for; raises UsageError and GitError."""
    kernel = _kernel(args)
    if args.improvements and not args.regressions:
        raise UsageError("--improvements goes with --regressions")
    if args.author is not None and not args.author.strip():
        raise UsageError("--author needs some text")
    since, since_moment = _point_in_time(repository, args.since, "--since", False)
    until, until_moment = _point_in_time(repository, args.until, "--until", True)
    newer = None
    if since is not None:
        newer = frozenset(git_limits.commits_of(repository, until or "HEAD", since))
    return Selection(
        root=root,
        kernel=kernel,
        wanted=_wanted(args, kernel, root),
        model=args.model,
        author=args.author,
        until=until or "HEAD",
        without=(since,) if since is not None else (),
        since_moment=since_moment,
        until_moment=until_moment,
        newer=newer,
    )


def _kernel(args: argparse.Namespace) -> str | None:
    given = {name for name in (args.kernel, args.kernel_name) if name is not None}
    if len(given) > 1:
        raise UsageError(f"KERNEL and --kernel are not the same: {', '.join(sorted(given))}")
    return next(iter(given), None)


def _point_in_time(
    repository: Repository, text: str | None, option: str, end_of_day: bool
) -> tuple[str | None, int | None]:
    """A commit, or a moment (seconds since 1970); a commit's name goes first."""
    if text is None:
        return None, None
    try:
        return git.resolve(repository, text), None
    except GitError:
        moment = git_limits.moment(repository, text, end_of_day)
    if moment is None:
        raise UsageError(
            f"{option} {text!r} is neither a commit nor a date like 2026-01-31 or '2 weeks ago'",
            fix="git log --oneline",
        )
    return None, moment


def _wanted(args: argparse.Namespace, kernel: str | None, root: Path) -> Wanted | None:
    if args.target is None and kernel is None and args.shape is None:
        return None
    sizes, variant = _key(args.shape, kernel, root)

    def wanted(target: str, of_kernel: str, key: str) -> bool:
        shape, _, of = key.partition("+")
        return (
            args.target in (None, target)
            and (kernel is None or _is_like(of_kernel, kernel))
            and sizes in (None, shape)
            and variant in (None, of)
        )

    return wanted


def _key(text: str | None, kernel: str | None, root: Path) -> tuple[str | None, str | None]:
    """Sizes and variant that SHAPE asks for, as they stand in a row's key."""
    if text is None:
        return None, None
    shape, _, variant = text.replace("×", "x").partition("+")
    if "=" in shape:
        from registry_tool.commands.common import parse_shape

        if kernel is None or _WILD.search(kernel):
            raise UsageError("a shape needs its kernel", fix="registry-tool log KERNEL SHAPE")
        spec = _registry(root).spec(kernel)
        shape = "x".join(map(str, parse_shape(spec, [shape]).values()))
    if not all(size.isascii() and size.isdigit() for size in shape.split("x")):
        raise UsageError(
            f"{text!r} is no shape; expected sizes like 2048x1024x1024",
            fix=f"registry-tool log {kernel or ''}".strip(),
        )
    return shape, variant or None


def _registry(root: Path) -> Registry:
    from registry_tool.store import registry, snapshot

    return registry.load(snapshot.of_worktree(root))


def _require_known(kernel: str, root: Path) -> None:
    specs = _registry(root).specs
    if not any(_is_like(name, kernel) for name in specs):
        close = _close(kernel, specs)
        hint = f"; did you mean {close}?" if close else f"; known are {', '.join(specs)}"
        raise UsageError(f"unknown kernel {kernel!r}{hint}")


def _close(name: str, known: Iterable[str]) -> str | None:
    import difflib

    names = {one.lower(): one for one in known}
    close = difflib.get_close_matches(name.lower(), names, 1)
    return names[close[0]] if close else None


_WILD = re.compile(r"[*?\[]")


def _is_like(name: str, pattern: str) -> bool:
    """Whether ``name`` is ``pattern``, which may hold the signs of a shell's patterns."""
    return name == pattern or (
        _WILD.search(pattern) is not None and fnmatch.fnmatchcase(name, pattern)
    )


def _models(document: Document | None) -> Iterator[str]:
    uses = (document or {}).get("used_by")
    for use in uses if isinstance(uses, list) else ():
        model = use.get("model") if isinstance(use, dict) else None
        if isinstance(model, str):
            yield model
