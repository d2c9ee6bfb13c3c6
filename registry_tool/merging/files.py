"""The bytes of three versions of a row, model or baseline made one, or a conflict; no git here."""

from __future__ import annotations

import re

import msgspec

from registry_tool.merging.rows import MERGERS, ConflictError
from registry_tool.records import canonical
from registry_tool.records.baseline import Baseline
from registry_tool.records.fields import Part
from registry_tool.records.model import Model
from registry_tool.records.record import Record

_KINDS: tuple[tuple[re.Pattern[str], type[Part]], ...] = (
    (re.compile(r"(?:.*/)?records/[^/]+/[^/]+/[^/]+\.json", re.DOTALL), Record),
    (re.compile(r"(?:.*/)?models/[^/]+\.json", re.DOTALL), Model),
    (re.compile(r"(?:.*/)?baseline\.json", re.DOTALL), Baseline),
)


def kind_of(path: str) -> type[Part] | None:
    """The type of the file at ``path`` (below any registry), or None if it is no such file."""
    return next((type_ for pattern, type_ in _KINDS if pattern.fullmatch(path)), None)


def merged(type_: type[Part], base: bytes | None, ours: bytes, theirs: bytes) -> bytes:
    """The canonical bytes of the merge; ``base`` is None where both sides made the file.

    Raises ConflictError where a side cannot be read, or both cannot be had.
    """
    mine, other = _read(type_, ours, "our"), _read(type_, theirs, "their")
    # What stood there before and was broken tells nothing about who changed what.
    before = None
    if base:
        try:
            before = canonical.decode_lenient(base, type_)
        except ValueError:
            before = None
    return canonical.encode(MERGERS[type_](before, mine, other))


def _read(type_: type[Part], data: bytes, whose: str) -> Part:
    try:
        return canonical.decode_lenient(data, type_)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ConflictError(f"{whose} side cannot be read: {error}") from None
