"""A page of three versions made one: its prose as text, what is generated from the merged rows."""

from __future__ import annotations

from typing import NamedTuple

from registry_tool.errors import ToolError
from registry_tool.merging import sides
from registry_tool.merging.sides import UnknownError
from registry_tool.store import git
from registry_tool.store.git import Repository
from registry_tool.tables import document
from registry_tool.tables.document import TableError
from registry_tool.tables.render import Page, WholeFile, pages


class Merged(NamedTuple):
    """The new bytes; whether the prose has conflicts; and why the tables are old, if they are."""

    data: bytes
    conflict: bool
    outdated: str | None


def merged(
    repository: Repository,
    path: str,
    base: bytes,
    ours: bytes,
    theirs: bytes,
    marker_size: int,
) -> Merged:
    """The page at ``path`` below the registry; ``base`` is empty where both sides made it.

    Where the rows of the merge cannot be told, generated parts stay as they are on our side, whole
    and marked as generated: the gate then says that they are out of date, and `render` makes them.
    """
    try:
        page = _rendered(repository, path, base, ours, theirs)
        reason = None
    except UnknownError as error:
        page, reason = None, str(error)
    if page is None and reason is None:
        return Merged(*git.merge_texts(repository, base, ours, theirs, marker_size), None)
    if isinstance(page, WholeFile):
        return Merged(page.on(ours, path), False, None)
    if page is None and not path.endswith(".md"):
        return Merged(ours, False, reason)
    try:
        before, mine, other = (_with(page, text, ours, path) for text in (base, ours, theirs))
        data, conflict = git.merge_texts(repository, before, mine, other, marker_size)
        if not conflict and page is not None:
            data = page.on(data, path) or data
    except TableError:  # broken markers on a side: a person has to look at all of it
        data, conflict = git.merge_texts(repository, base, ours, theirs, marker_size)
    return Merged(data, conflict, reason)


def _rendered(
    repository: Repository, path: str, base: bytes, ours: bytes, theirs: bytes
) -> Page | None:
    """What the merged rows make of the page; None if it is not generated."""
    oids = [git.blob_id(repository, text) for text in (base, ours, theirs)]
    found = sides.find(repository, path, oids[0] if base else None, oids[1], oids[2])
    registry, records = sides.together(repository, found)
    try:
        return pages(registry, records).get(path)
    except ToolError as error:
        raise UnknownError(error.message) from None


def _with(page: Page | None, text: bytes, ours: bytes, path: str) -> bytes:
    """``text`` with what is generated as in the merge (or on our side): only prose differs."""
    if not text:
        return text
    if page is not None:
        return page.on(text, path) or text
    bodies = {region.name: region.text for region in document.regions(ours, path)}
    return document.splice(text, bodies, path)
