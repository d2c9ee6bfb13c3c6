"""A config.json as plain JSON with the digest of its bytes; knows nothing of what the keys mean."""

from __future__ import annotations

import hashlib
import json
import math
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry_tool.errors import InputError

_FIX = "give the model's config.json, or the folder that holds it"
# Configs end near 100 KB, with their label tables; the weights beside them begin far above this.
_MOST_BYTES = 16 * 2**20
_MOST_DIGITS = 300


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
        keys = json.loads(
            data,
            object_pairs_hook=_no_duplicates,
            parse_constant=_no_constant,
            parse_int=_whole,
            parse_float=_finite,
        )
    except RecursionError:
        raise InputError("not a config: nested too deeply", path=path, fix=_FIX) from None
    except ValueError as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"not a JSON config: {error}", path=path, line=line, fix=_FIX) from None
    if not isinstance(keys, dict):
        raise InputError("not a config: expected a JSON object", path=path, line=1, fix=_FIX)
    return Document(path, hashlib.sha256(data).hexdigest(), keys)


def short(value: Any) -> str:
    """A JSON value on one line, cut where it is long; always printable ASCII."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _read(path: Path) -> bytes:
    if path.is_dir():
        path = path / "config.json"
    try:
        about = path.stat()
        # Reading a pipe that nobody writes to would wait for ever.
        if not stat.S_ISREG(about.st_mode):
            raise InputError("cannot read the config: it is no regular file", path=path, fix=_FIX)
        if about.st_size > _MOST_BYTES:
            raise InputError(
                f"not a config: {about.st_size} bytes, and a config has at most {_MOST_BYTES}",
                path=path,
                fix=_FIX,
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read the config: {told}", path=path, fix=_FIX) from None
    if not data.strip():
        raise InputError("not a config: the file is empty", path=path, fix=_FIX)
    return data


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {short(twice)} stands twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits ({text[:12]}...)")
    return int(text)


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:40]} is beyond every floating-point number")
    return value
