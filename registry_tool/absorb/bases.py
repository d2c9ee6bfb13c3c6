"""What committed versions of a page showed in a region: what a hand edit or a merge began from."""

from __future__ import annotations

from dataclasses import dataclass

from registry_tool.absorb.expected import ExpectedTable, Key
from registry_tool.errors import GitError
from registry_tool.store import git, snapshot
from registry_tool.store.snapshot import Snapshot
from registry_tool.tables import document
from registry_tool.tables.document import Region, TableError
from registry_tool.tables.read import read_tables

_OTHER_SIDES = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD")


@dataclass(frozen=True)
class Base:
    """The rows of a region in one version, as displayed, by the cells that name them.

    ``is_origin`` says that the region's checksum is that of this version.
    """

    rows: dict[Key, list[str]]
    is_origin: bool


class Versions:
    """The committed versions of a registry's pages, read when they are asked for."""

    def __init__(self, now: Snapshot) -> None:
        self._now = now
        self._sides: list[Snapshot] | None = None
        self._merging = False

    def bases(self, table: ExpectedTable, region: Region) -> list[Base]:
        """What a region was made from; none if nobody can tell.

        In a merge that is every side, else the version that its checksum names.

        Versions whose region was edited by hand themselves are left out.
        """
        found = []
        for side in self._all():
            data = side.read(table.path) if table.path in side.oids else None
            if data is None:
                continue
            try:
                old = next((r for r in document.regions(data) if r.name == region.name), None)
                if old is None or old.edited:
                    continue
                is_origin = old.checksum == region.checksum
                if self._merging or is_origin:
                    found += _base(data, old, table, is_origin)
            except TableError:  # a version that cannot be read is no base
                continue
        return found

    def _all(self) -> list[Snapshot]:
        if self._sides is None:
            self._sides = []
            repository = self._now.repository
            if repository is not None:
                heads = [name for name in _OTHER_SIDES if self._names_commit(name)]
                self._merging = bool(heads)
                root = self._now.root
                if self._now.base is not None:
                    heads.insert(0, "HEAD")
                self._sides = [snapshot.of_revision(root, name) for name in heads]
                self._sides.append(snapshot.of_index(root))
        return self._sides

    def _names_commit(self, name: str) -> bool:
        assert self._now.repository is not None
        try:
            git.resolve(self._now.repository, name)
        except GitError:
            return False
        return True


def _base(data: bytes, region: Region, table: ExpectedTable, is_origin: bool) -> list[Base]:
    inside = [one for one in read_tables(data) if region.start_line < one.line < region.end_line]
    # Where the columns were other ones, no cell can be compared.
    if len(inside) != 1 or inside[0].header != table.header:
        return []
    return [Base({table.key(row): row for row in inside[0].rows}, is_origin)]
