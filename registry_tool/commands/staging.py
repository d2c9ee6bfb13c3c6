"""What a command stages: the files it wrote, and whatever the pages that it rendered show.

Pages are rendered from every record on disk. If a run was killed before it staged, or told not to,
the index lacks records that the pages already count; they are staged together, or the gate would
refuse the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from registry_tool.errors import ToolError
from registry_tool.records.keys import parse_record_path, parse_verdict_path
from registry_tool.store import git, snapshot
from registry_tool.store import registry as registries
from registry_tool.store.git import Repository
from registry_tool.store.registry import Registry


def stage_with_pages(root: Path, written: Iterable[str]) -> bool:
    """Stage ``written`` (relative to ``root``) and what belongs to it; False without a repository.

    Prose that was edited in a page whose tables are in the index already stays unstaged.
    """
    now = registries.load(snapshot.of_worktree(root))
    repository = now.snapshot.repository
    if repository is None:
        return False
    git.stage(repository, sorted({*written, *_data(repository), *_pages(now)}))
    return True


def _data(repository: Repository) -> Iterator[str]:
    """Records and models that differ from the index, and verdicts that it does not hold."""
    changed, untracked = git.worktree_differences(repository, snapshot.OWN)
    for path in changed | untracked:
        is_model = path.startswith("models/") and path.endswith(".json")
        if is_model or parse_record_path(path) is not None:
            yield path
    yield from (path for path in untracked if parse_verdict_path(path) is not None)


def _pages(now: Registry) -> Iterator[str]:
    """Generated files whose generated part the index does not hold."""
    from registry_tool.tables.render import pages

    index = snapshot.of_index(now.root)
    for path, page in pages(now, now.records).items():
        try:
            before = index.read(path) if path in index.oids else None
            if page.on(before, path) != before:
                yield path
        except ToolError:  # broken markers in the index: what is on disk was rendered, so it is not
            yield path
