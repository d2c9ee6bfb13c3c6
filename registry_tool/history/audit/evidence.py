"""Verdicts and logs that were edited, deleted, or lost after they were committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from registry_tool.history.audit.finding import Found
from registry_tool.history.log import artifact
from registry_tool.history.versions import Version, document
from registry_tool.records.keys import parse_verdict_path
from registry_tool.store.git import Repository
from registry_tool.store.git_blobs import BlobReader
from registry_tool.store.git_history import Commit, Delta, holding

TOMBSTONE = ".pruned"
"""What stands beside a run that `prune` took away: its run id with this suffix."""


class Touch(NamedTuple):
    """What one commit did to one file below verdicts/."""

    commit: Commit
    delta: Delta


def touches(commits: Sequence[Commit]) -> dict[str, list[Touch]]:
    """Every verdict and log with what was done to it, newest first, like ``commits``."""
    found: dict[str, list[Touch]] = {}
    for commit in commits:
        for delta in commit.deltas:
            if parse_verdict_path(delta.path) is not None:
                found.setdefault(delta.path, []).append(Touch(commit, delta))
    return found


def touched(
    repository: Repository,
    commits: Sequence[Commit],
    files: Mapping[str, Sequence[Touch]],
    inside: set[str],
) -> Iterator[Found]:
    """Edits and deletions in the commits ``inside``, other than to what was committed first."""
    tombs = {
        (commit.oid, delta.path)
        for commit in commits
        for delta in commit.deltas
        if delta.path.endswith(TOMBSTONE) and delta.new is not None
    }
    deleted = []
    for path, done in files.items():
        original = done[-1].delta.new
        for at, (commit, delta) in enumerate(done):
            if commit.oid not in inside:
                continue
            if delta.new is None:
                tomb = f"{path.rpartition('.')[0]}{TOMBSTONE}"
                if (commit.oid, tomb) not in tombs:
                    deleted.append((path, done[at], done[at + 1 :]))
            elif delta.old is not None and delta.new != original:
                yield Found(
                    "evidence-edited",
                    commit,
                    _row(path),
                    path,
                    "it is not what was committed first",
                    _restore(done[-1], path),
                    (done[-1].commit.oid,),
                )
    yield from _deleted(repository, deleted, inside)


def _deleted(
    repository: Repository,
    deleted: Sequence[tuple[str, Touch, Sequence[Touch]]],
    inside: set[str],
) -> Iterator[Found]:
    cited = _cited(repository, [(path, touch) for path, touch, _ in deleted])
    for path, touch, earlier in deleted:
        added = next((one for one in earlier if one.delta.old is None), None)
        row = _row(path)
        if path in cited.get(touch.commit.oid, ()):
            message = f"it was deleted while the row {row} cited its run"
        else:
            message = f"it was deleted, and no {TOMBSTONE} beside it says so"
        came_and_went = added is not None and added.commit.oid in inside
        if came_and_went and added is not None:
            message += f"; {added.commit.oid[:12]} had added it on {added.commit.date[:10]}"
        yield Found(
            "evidence-came-and-went" if came_and_went else "evidence-deleted",
            touch.commit,
            row,
            path,
            message,
            _restore(added or touch, path),
            () if added is None else (added.commit.oid,),
        )


def _cited(repository: Repository, deleted: Sequence[tuple[str, Touch]]) -> dict[str, set[str]]:
    """Commit to those of its deleted files whose run its row still cites."""
    names = {
        (path, touch): f"{touch.commit.oid}:{touch.delta.place}records/{_row(path)}.json"
        for path, touch in deleted
    }
    with BlobReader(repository, document) as reader:
        reader.ask(names.values())
        rows = reader.finish()
    found: dict[str, set[str]] = {}
    for (path, touch), name in names.items():
        run = artifact(rows.get(name))
        if run is not None and run.rpartition(".")[0] == path.rpartition(".")[0]:
            found.setdefault(touch.commit.oid, set()).add(path)
    return found


def lost(
    repository: Repository,
    commits: Sequence[Commit],
    files: Mapping[str, Sequence[Touch]],
    there: set[str],
) -> Iterator[Found]:
    """Files that no commit deleted and the last one (whose paths are ``there``) does not have.

    ``commits`` are all of them, newest first, merges with their parents.
    """
    gone = [
        path
        for path, done in files.items()
        # No run is called by a name with a line break, and git takes such names nowhere.
        if path not in there
        and "\n" not in path
        and not any(touch.delta.new is None for touch in done)
    ]
    merges = [commit for commit in reversed(commits) if len(commit.parents) > 1]
    for path in gone:
        place = files[path][0].delta.place
        asked = [one for merge in merges for one in (merge.oid, *merge.parents)]
        has = holding(repository, asked, f"{place}{path}")
        for merge in merges:
            if merge.oid not in has and any(parent in has for parent in merge.parents):
                added = files[path][-1]
                yield Found(
                    "evidence-lost-in-merge",
                    merge,
                    _row(path),
                    path,
                    f"a side of this merge has it (added by {added.commit.oid[:12]}), its result "
                    "does not",
                    _restore(added, path),
                    (added.commit.oid,),
                )
                break


def uncommitted(
    repository: Repository, versions: Sequence[Version], files: Mapping[str, Sequence[Touch]]
) -> Iterator[Found]:
    """Versions that cite a verdict which was not in their commit, nor before it."""
    added = {
        (touch.commit.oid, path)
        for path, done in files.items()
        for touch in done
        if touch.delta.new is not None
    }
    doubtful = []
    for version in versions:
        run = artifact(version.after)
        if run is None or run == artifact(version.before):
            continue
        if (version.commit.oid, run) not in added:
            doubtful.append((version, run))
    names = {f"{version.commit.oid}:{version.place}{run}" for version, run in doubtful}
    with BlobReader(repository, len) as reader:
        reader.ask(sorted(names))
        held = reader.finish()
    for version, run in doubtful:
        if f"{version.commit.oid}:{version.place}{run}" in held:
            continue
        later = files.get(run)
        since = (
            f"{later[-1].commit.oid[:12]} added it only later" if later else "no commit ever had it"
        )
        yield Found(
            "cites-uncommitted",
            version.commit,
            version.row,
            version.path,
            f"it cites {run}, which was not committed; {since}",
            f"registry-tool verify --kernel {version.row.split('/')[1]} "
            f"--shape {version.row.split('/')[2].partition('+')[0]}",
            (later[-1].commit.oid,) if later else (),
        )


def _row(path: str) -> str | None:
    parts = parse_verdict_path(path)
    return None if parts is None else str(parts.row)


def _restore(first: Touch, path: str) -> str:
    if first.delta.new is None:
        return f"git show {first.commit.oid[:12]}^:{first.delta.place}{path}"
    return f"git show {first.commit.oid[:12]}:{first.delta.place}{path} > {path}"
