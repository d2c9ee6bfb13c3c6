"""A config.json as plain JSON with the digest of its bytes; knows nothing of what the keys mean."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry_tool.errors import InputError


@dataclass(frozen=True)
class Document:
    """The keys of a config file, and the SHA-256 of its bytes."""

    path: Path
    sha256: str
    keys: dict[str, Any]


def read_document(path: Path) -> Document:
    """The JSON object in ``path``, or in the config.json of the folder ``path``.

    Raises InputError if there is none, a key stands twice, or a number is none.
    """
    data = _read(path)
    try:
        keys = json.loads(data, object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"not a JSON config: {error}", path=path, line=line) from None
    if not isinstance(keys, dict):
        raise InputError("not a config: expected a JSON object", path=path, line=1)
    return Document(path, hashlib.sha256(data).hexdigest(), keys)


def short(value: Any) -> str:
    """A JSON value on one line, cut where it is long; always printable ASCII."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _read(path: Path) -> bytes:
    if path.is_dir():
        path = path / "config.json"
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the config: {error.strerror}", path=path) from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {short(twice)} stands twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")
