"""A registry adopts once, for one target: what an import asks before it reads anything."""

from __future__ import annotations

from registry_tool.baseline import digests, past, read
from registry_tool.errors import UsageError
from registry_tool.store import git
from registry_tool.store.registry import Registry


def require_same_target(registry: Registry, target: str) -> None:
    """Raise UsageError if ``registry`` adopted already, and not for ``target``.

    Raises InputError for a broken baseline.
    """
    found = _targets(registry)
    if not found or target in found:
        return
    theirs = ", ".join(sorted(found))
    raise UsageError(
        f"this registry adopted its rows for {theirs} already, and a registry adopts once: "
        f"imported rows of {target} could never be committed (KR112)",
        path=registry.root,
        fix=f"registry-tool init NEW; registry-tool import ... --target {target} --registry NEW "
        f"(or run {target} here: registry-tool verify --target {target})",
    )


def _targets(registry: Registry) -> set[str]:
    """The targets of imported rows that are there, or that a baseline names or ever named."""
    found = {record.target for record in registry.records.values() if digests.is_debt(record)}
    now = read.on_disk(registry.root)
    baselines = [] if now is None else [now]
    repository = registry.snapshot.repository
    if repository is not None and repository.head is not None:
        oids = [version.oid for version in past.versions(repository, [repository.head])]
        then = map(read.lenient, git.blobs(repository, oids).values())
        baselines += [one for one in then if one is not None]
    return found | {entry.row.partition("/")[0] for one in baselines for entry in one.rows}
