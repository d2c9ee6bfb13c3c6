"""Where a row and its verdicts live: keys and paths derived from the fields, and nothing else.

All paths are relative to the registry's root, with forward slashes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_KEY = re.compile(r"(?P<shape>[0-9]+(?:x[0-9]+)*)(?:\+(?P<variant>[A-Za-z0-9][A-Za-z0-9._-]*))?")
_RECORD = re.compile(r"records/([^/]+)/([^/]+)/([^/]+)\.json")
_VERDICT = re.compile(
    r"verdicts/([^/]+)/([^/]+)/([^/]+)/([^/]+?)"
    r"\.(json|log|err|json(?:\.[0-9a-f]{8})?\.sig)"
)


@dataclass(frozen=True)
class RowId:
    """Target, kernel and key: the identity of a row."""

    target: str
    kernel: str
    key: str

    def __str__(self) -> str:
        return f"{self.target}/{self.kernel}/{self.key}"

    @property
    def record_path(self) -> str:
        """Path of the record file."""
        return f"records/{self}.json"

    @property
    def verdict_folder(self) -> str:
        """Folder of the row's verdicts."""
        return f"verdicts/{self}"


def key_of(dims: Sequence[str], shape: Mapping[str, int], variant: str | None) -> str:
    """The key of a row, e.g. ``2048x8192x2048+fused-cast``; raises KeyError for a missing dim."""
    sizes = "x".join(str(shape[dim]) for dim in dims)
    return f"{sizes}+{variant}" if variant else sizes


def row_id(
    target: str, kernel: str, dims: Sequence[str], shape: Mapping[str, int], variant: str | None
) -> RowId:
    """The identity of a row from its fields."""
    return RowId(target, kernel, key_of(dims, shape, variant))


def parse_key(dims: Sequence[str], key: str) -> tuple[dict[str, int], str | None]:
    """Shape and variant of ``key``; raises ValueError if it does not fit ``dims``."""
    match = _KEY.fullmatch(key)
    sizes = match["shape"].split("x") if match else []
    if match is None or len(sizes) != len(dims):
        raise ValueError(f"{key!r} is not {'x'.join(dims)} with an optional +variant")
    return dict(zip(dims, map(int, sizes), strict=True)), match["variant"]


def parse_record_path(path: str) -> RowId | None:
    """The identity that a record's path claims, or None if it is no record's path."""
    match = _RECORD.fullmatch(path)
    return RowId(match[1], match[2], match[3]) if match else None


@dataclass(frozen=True)
class VerdictFile:
    """The parts of a path below verdicts/."""

    row: RowId
    run_id: str
    suffix: str


def parse_verdict_path(path: str) -> VerdictFile | None:
    """The parts of a verdict's path, or None if it is none."""
    match = _VERDICT.fullmatch(path)
    if match is None:
        return None
    return VerdictFile(RowId(match[1], match[2], match[3]), match[4], match[5])
