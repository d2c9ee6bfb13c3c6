"""KR602: each commit of a range, judged by today's rules against its parents.

A commit answers for what it brought in: for findings about its state that no parent has, and for
findings about its change that it has against every parent. Waivers hold as on the commit's day.
What was found is remembered by commit, so that a range that grew costs only its new commits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from registry_tool.errors import GitError, UsageError
from registry_tool.rules import context as contexts
from registry_tool.rules import standing
from registry_tool.rules import state as states
from registry_tool.rules.catalog import BY_ID
from registry_tool.rules.counting import counted
from registry_tool.rules.engine import judged
from registry_tool.rules.finding import Finding
from registry_tool.rules.judging import Site, place
from registry_tool.rules.layout import kind_of
from registry_tool.rules.model import Report
from registry_tool.rules.severity import levels_of
from registry_tool.rules.state import State
from registry_tool.rules.views import CommitView
from registry_tool.store import git, snapshot
from registry_tool.store.cache import Cache
from registry_tool.store.git import Repository, Step
from registry_tool.store.snapshot import OWN

RULE = BY_ID["KR602"]
_NAME = "check-range.json"
_MOST = 20_000
"""Commits that are remembered."""

Key = tuple[str, str, str, str]


def ends(repository: Repository, text: str) -> tuple[str, str]:
    """The commits of ``BASE..HEAD``; raises UsageError if it is no range, GitError for a bad end.

    Without a right side, HEAD is meant.
    """
    base, dots, head = text.partition("..")
    if not dots or not base or head.startswith("."):
        raise UsageError(
            f"{text!r} is no range of commits; expected BASE..HEAD, e.g. origin/main..HEAD"
        )
    return git.resolve(repository, base), git.resolve(repository, head or "HEAD")


def check_range(root: Path, text: str, wanted: Callable[[str], bool] = bool) -> Report:
    """Every commit of the range ``text`` that fails, with each error that it brought in.

    ``wanted`` says of which rules. Raises UsageError and GitError as `ends` does, and GitError for
    a history that is cut within the range.
    """
    started = time.perf_counter()
    repository = git.require_repository(root)
    base, head = ends(repository, text)
    found = [
        finding
        for step, errors in failing(root, repository, base, head, wanted)
        for finding in _placed(CommitView(step.oid, _printable(step.subject), errors))
    ]
    state = snapshot.of_commit(root, repository, head, head)
    context, _ = contexts.read(state.narrowed(git.tree(repository, head, contexts.FILES)))
    levels = {} if context is None else levels_of(context.policy)
    records = sum(kind_of(path) == "record" for path in state.oids)
    return Report(tuple(counted(found, levels)), records, time.perf_counter() - started)


def failing(
    root: Path, repository: Repository, base: str, head: str, wanted: Callable[[str], bool] = bool
) -> list[tuple[Step, list[Finding]]]:
    """Each commit from ``base`` (left out) to ``head`` that fails, with the errors that it brought.

    Raises GitError for a history that is cut within the range.
    """
    walk = _Walk(root, repository)
    steps = [(step, walk.brought_in(step)) for step in git.walk(repository, base, head, OWN)]
    walk.keep()
    chosen = [(step, [one for one in some if wanted(one.rule)]) for step, some in steps]
    return [(step, some) for step, some in chosen if some]


def _printable(subject: str) -> str:
    """A subject without what would steer a terminal."""
    return "".join(character if character.isprintable() else "?" for character in subject)


def _placed(view: CommitView) -> Iterator[Finding]:
    assert RULE.on_commit is not None
    for complaint in RULE.on_commit(view):
        yield place(RULE, complaint, Site(complaint.path or ""))


class _Walk:
    """Judges commits one after the other, each from what is known of the one before."""

    def __init__(self, root: Path, repository: Repository) -> None:
        self._root = root
        self._repository = repository
        self._cache = Cache(repository)
        self._tool = states.tool_signature()
        self._state: State | None = None
        self._keys: dict[str, frozenset[Key]] = {}
        self._name = states.name_of(repository.prefix, _NAME)
        kept = self._cache.load(self._name)
        self._commits: dict[str, list[list[Any]]] = {}
        if isinstance(kept, dict) and kept.get("tool") == self._tool:
            self._commits = kept["commits"]
        self._before = len(self._commits)

    def brought_in(self, step: Step) -> list[Finding]:
        """The errors that a commit answers for."""
        # Which commits count as its parents depends on where the range begins.
        name = " ".join((step.oid, *step.parents))
        if name not in self._commits:
            found = sorted(set(self._judge(step)))
            self._commits[name] = [list(one) for one in found]
        return [Finding(*fields) for fields in self._commits[name]]

    def keep(self) -> None:
        """Remember what was found."""
        if len(self._commits) > self._before:
            commits = dict(list(self._commits.items())[-_MOST:])
            self._cache.save(self._name, {"tool": self._tool, "commits": commits})

    def _judge(self, step: Step) -> Iterator[Finding]:
        inherited: frozenset[Key] = frozenset()
        for parent in step.parents:
            inherited |= self._keys_of(parent, step.made)
        first, *others = step.parents or (None,)
        here = self._judged(step.oid, first)
        state = self._errors(replace(here, change=[]), step.made)
        self._keys[step.oid] = frozenset(map(_key, state))
        yield from (one for one in state if _key(one) not in inherited)
        changes = self._errors(_only_change(here), step.made)
        for parent in others:
            if not changes:
                break
            again = self._errors(_only_change(self._judged(step.oid, parent)), step.made)
            also = set(map(_key, again))
            changes = [one for one in changes if _key(one) in also]
        yield from changes

    def _keys_of(self, commit: str, made: float) -> frozenset[Key]:
        """What is wrong with the state of a commit, which is a parent of one of ``made``."""
        if commit not in self._keys:
            state = replace(self._judged(commit, commit), change=[])
            self._keys[commit] = frozenset(map(_key, self._errors(state, made)))
        return self._keys[commit]

    def _judged(self, commit: str, base: str | None) -> State:
        here = snapshot.of_commit(self._root, self._repository, commit, base)
        try:
            self._state = judged(here, self._state, self._cache, self._tool)
        except GitError as error:
            raise GitError(
                f"{commit[:12]} cannot be judged: {error.message}", fix=error.fix
            ) from None
        return self._state

    @staticmethod
    def _errors(state: State, made: float) -> list[Finding]:
        today = time.strftime("%Y-%m-%d", time.gmtime(made))
        found = standing.of(state, standing.held(state), today, {})
        return [one for one in found if one.severity == "error"]


def _only_change(state: State) -> State:
    return State(state.tool, change=state.change, levels=state.levels)


def _key(finding: Finding) -> Key:
    return finding.rule, finding.path, finding.pointer, finding.message
