"""Generated files of the index made new, where a merge left them behind; the work tree may differ.

What somebody edits and has not staged must not get into the tables of what is committed.
"""

from __future__ import annotations

from registry_tool.store import git, registry, snapshot
from registry_tool.store.files import write_atomic
from registry_tool.store.git import Repository
from registry_tool.tables.readback import require_reads_back
from registry_tool.tables.render import pages, refuse_edited, stale


def render_index(repository: Repository) -> list[str]:
    """Stage what the staged rows render to, and write it where the file is as it was staged.

    Returns the paths. Raises TableError for a region that was edited by hand, for broken markers,
    and for tables that do not read back.
    """
    root = repository.top / repository.prefix
    staged = registry.load(snapshot.index_of(repository, root))
    generated = pages(staged, staged.records)
    held = staged.snapshot
    existing = held.read_many(path for path in generated if path in held.oids)
    refuse_edited(generated, existing)
    changed = stale(generated, existing)
    require_reads_back(staged, changed)
    git.refresh_index(repository)
    edited, untracked = git.worktree_differences(repository, list(changed)) if changed else ((), ())
    for path, data in changed.items():
        if path not in edited and path not in untracked:
            write_atomic(root / path, data)
    git.stage_contents(repository, changed)
    return list(changed)
