"""What a push would publish: every ref of it, and every commit that the other side lacks.

A push hook is the only one that sees what a rebase, a cherry-pick, a revert, a fast-forward, or a
commit with --no-verify made. Commits that were judged before are remembered by their id.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from registry_tool.errors import UsageError
from registry_tool.gates import judge, places
from registry_tool.gates.judge import Judged
from registry_tool.rules.state import tool_signature
from registry_tool.store import git
from registry_tool.store.cache import Cache
from registry_tool.store.git import Repository, Revision
from registry_tool.store.root import POLICY
from registry_tool.store.snapshot import OWN

_REMEMBERED = "judged-commits.json"
_PAGES = "KR3"
_LIMIT = 20_000
"""Commits that are remembered; the oldest are forgotten first."""
_LAST_SECOND = 253_402_300_799
"""The end of the year 9999, s since 1970."""


class Ref(NamedTuple):
    """One ref of a push: its name, the object it gets, and the one it had on the other side.

    An id of zeros stands for nothing: a ref that is deleted, or made.
    """

    name: str
    new: str
    old: str


class Verdict(NamedTuple):
    """A commit of the push that the rules refuse."""

    commit: str
    refs: list[str]
    judged: list[Judged]


def read_pre_push(text: str) -> list[Ref]:
    """The lines that git gives to pre-push: local name and id, remote name and id."""
    return [Ref(remote, new, old) for _, new, remote, old in _split(text, 4)]


def read_pre_receive(text: str) -> list[Ref]:
    """The lines that git gives to pre-receive: old id, new id, name."""
    return [Ref(name, new, old) for old, new, name in _split(text, 3)]


def _split(text: str, wanted: int) -> Iterator[list[str]]:
    # No ref holds a space; a local name may, if it is an expression such as `HEAD@{2 days ago}`.
    for line in text.split("\n"):
        if not line.strip():
            continue
        words = line.rsplit(" ", wanted - 1) if wanted == 4 else line.split(" ", wanted - 1)
        if len(words) != wanted:
            raise UsageError(f"git gives {wanted} words per ref, found {line!r}")
        yield words


def refused(
    repository: Repository,
    refs: Sequence[Ref],
    elsewhere: Sequence[str],
    on_commit: Callable[[int, int], None] = lambda done, all_: None,
) -> Iterator[Verdict]:
    """Each commit of ``refs`` that the rules refuse, oldest first.

    ``elsewhere`` are options of rev-list for what the other side has already (`--remotes=origin`,
    or `--all` where the receiving side asks). ``on_commit`` is told how far it has come.
    """
    cache = Cache(repository)
    tool = tool_signature()
    fine = _remembered(cache, tool)
    known = _known(repository, refs)
    work = list(_work(repository, refs, known, elsewhere))
    tips = {one.tip for one in work}
    every = sum(len(one.commits) for one in work)
    done, learned = 0, dict[str, None]()
    seen: set[str] = set()
    for one in work:
        for commit in one.commits:
            done += 1
            on_commit(done, every)
            is_tip = commit.oid in tips
            # Which waivers hold depends on the day: the tip is judged every time, by today's.
            if commit.oid in seen or (commit.oid in fine and not is_tip):
                continue
            seen.add(commit.oid)
            parent = commit.parents[0] if commit.parents else None
            registries = places.among(one.candidates, commit.oid, parent)
            found = [
                (judge.commit if is_tip else _followed)(registry, commit) for registry in registries
            ]
            if any(judged.report.blocking for judged in found):
                yield Verdict(commit.oid, one.names, found)
            else:
                learned[commit.oid] = None
    if learned.keys() - fine.keys():
        kept = [*fine, *learned][-_LIMIT:]
        cache.save(_REMEMBERED, {"tool": tool, "commits": kept})


def _followed(registry: Repository, commit: Revision) -> Judged:
    """What is found in a commit that another one follows, but for what that one answers for.

    Pages that lag behind the rows: a rebase leaves such commits behind, since git runs no hook
    there; a page proves nothing, and that of the tip is right or the push refused. And waivers
    that have lapsed since: they held on the day of the commit.
    """
    judged = judge.commit(registry, commit)
    found = judged.report.findings
    kept = [finding for finding in found if not finding.rule.startswith(_PAGES)]
    if any(finding.severity == "error" for finding in kept):
        # A commit may claim any time; there are no dates after this one.
        made = time.gmtime(min(commit.made, _LAST_SECOND))
        then = judge.commit(registry, commit, time.strftime("%Y-%m-%d", made))
        kept = [finding for finding in kept if finding in then.report.findings]
    return judged._replace(report=judged.report._replace(findings=tuple(kept)))


class _Tip(NamedTuple):
    """One commit that refs get, and what is new with it."""

    tip: str
    names: list[str]
    commits: list[Revision]
    candidates: list[Repository]


def _work(
    repository: Repository, refs: Iterable[Ref], known: Sequence[str], elsewhere: Sequence[str]
) -> Iterator[_Tip]:
    tips: dict[str, list[str]] = {}
    for ref in refs:
        # A deletion publishes nothing; a tag of a file or a tree is no state of a registry.
        commit = git.commit_or_none(repository, ref.new) if ref.new.strip("0") else None
        if commit is not None:
            tips.setdefault(commit, []).append(ref.name)
    for tip, names in tips.items():
        new = git.new_commits(repository, tip, known, elsewhere)
        if not new:
            continue  # the other side has it
        candidates = _candidates(repository, tip, known, elsewhere)
        if not candidates:
            continue
        specs = [spec for registry in candidates for spec in registry.pathspecs(OWN)]
        touched = git.touching(repository, tip, known, elsewhere, specs)
        commits = [
            commit
            for commit in new
            if commit.oid in touched or len(commit.parents) > 1 or commit.oid == tip
        ]
        yield _Tip(tip, names, commits, candidates)


def _known(repository: Repository, refs: Iterable[Ref]) -> list[str]:
    """The commits that the other side said it has, as far as they are here."""
    found = {ref.old: None for ref in refs if ref.old.strip("0")}
    commits = [git.commit_or_none(repository, oid) for oid in found]
    return [commit for commit in commits if commit is not None]


def _candidates(
    repository: Repository, tip: str, known: Sequence[str], elsewhere: Sequence[str]
) -> list[Repository]:
    """Every registry that a new commit may hold: those of the tip, and those that came or went."""
    found = {registry.prefix: registry for registry in places.in_revision(repository, tip)}
    for path in git.marked_in(repository, tip, known, elsewhere, POLICY):
        prefix = path.removesuffix(POLICY)
        found.setdefault(prefix, repository.at(prefix))
    return list(found.values())


def _remembered(cache: Cache, tool: str) -> dict[str, None]:
    """The commits that this very tool found in order."""
    kept = cache.load(_REMEMBERED)
    if not isinstance(kept, dict) or kept.get("tool") != tool:
        return {}
    commits = kept.get("commits")
    return dict.fromkeys(commits) if isinstance(commits, list) else {}
