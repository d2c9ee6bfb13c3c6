"""Canonical bytes of the registry's JSON files, and the one oracle: encode(decode(b)) == b.

Canonical is: the schema's key order, two-space indent, floats as Python's ``repr``, ints as ints,
UTF-8 without escapes that are not needed, one final newline. Anything else is refused.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TypeVar

import msgspec

from registry_tool.records.fields import Part

T = TypeVar("T", bound=Part)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# msgspec writes 0.00001 and 1e-9 where repr writes 1e-05 and 1e-09.
_WRITTEN_OTHERWISE = re.compile(rb": (-?(?:0\.0000[0-9]+|[0-9.]+[eE][-+]?[0-9]+))(?=,?\n)")


class NotCanonicalError(ValueError):
    """The bytes are not what encoding their own content would give."""


@cache
def _decoder(type_: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(type_)


def encode(value: Part) -> bytes:
    """The canonical bytes of ``value``. Raises ValueError for NaN or infinity."""
    # Importing json is only worth it where something is written or does not match at once.
    import json

    builtins = msgspec.to_builtins(value)
    text = json.dumps(builtins, indent=2, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def decode(data: bytes, type_: type[T]) -> T:
    """The typed value of canonical ``data``.

    Raises NotCanonicalError (a ValueError) if encoding the value again gives other bytes, and
    msgspec.DecodeError (also a ValueError) if it cannot be decoded; `explain` says where and why.
    """
    value: T = _decoder(type_).decode(data)
    fast = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    if _WRITTEN_OTHERWISE.sub(_as_repr, fast) != data and encode(value) != data:
        raise NotCanonicalError("the file is not in canonical form")
    return value


def _as_repr(match: re.Match[bytes]) -> bytes:
    return b": " + repr(float(match[1])).encode()


def decode_lenient(data: bytes, type_: type[T]) -> T:
    """The typed value of ``data`` in any formatting (for `fmt`); raises msgspec.DecodeError."""
    value: T = _decoder(type_).decode(data.removeprefix(BYTE_ORDER_MARK))
    return value
