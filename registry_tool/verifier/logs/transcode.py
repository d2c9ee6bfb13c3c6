"""Turning a log in UTF-16 or UTF-32 into UTF-8, piece by piece; other bytes stay as they are."""

from __future__ import annotations

import codecs
import re

_BOMS = (
    # UTF-32 first: its little-endian mark starts with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ENOUGH = 16
# Words of a harness in 8-bit text: amid UTF-16 they were appended by another writer, and read as
# UTF-16 they would be lost.
_EIGHT_BIT = re.compile(
    rb"[Ff]ailed[.!\r\n]|FAIL|PASS!|ERROR|Error: |error: |Mismatches: |\[precision\]|Traceback"
    rb"|ERT_CMD"
)
_OVERLAP = 16


class Transcoder:
    """Takes a log in pieces of any size; ``encoding`` is known once some 16 bytes are.

    ``is_mixed``: words of a harness stand in a log of wide characters as 8-bit text.
    """

    def __init__(self) -> None:
        self.encoding: str | None = None
        self.is_mixed = False
        self._start = b""
        self._seen = b""
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes) -> bytes:
        """What is certain after this piece, as UTF-8."""
        if self.encoding is None:
            data = self._start + data
            if len(data) < _ENOUGH:
                self._start = data
                return b""
            self._choose(data)
        if self._decoder is None:
            return data
        return self._decode(data, final=False)

    def finish(self) -> bytes:
        """What was held back."""
        rest = b""
        if self.encoding is None:
            rest = self._start
            self._choose(rest)
        if self._decoder is None:
            return rest
        return self._decode(rest, final=True)

    def _decode(self, data: bytes, final: bool) -> bytes:
        assert self._decoder is not None
        seen = self._seen + data
        self.is_mixed = self.is_mixed or _EIGHT_BIT.search(seen) is not None
        self._seen = seen[-_OVERLAP:]
        return self._decoder.decode(data, final).encode("utf-8", "replace")

    def _choose(self, start: bytes) -> None:
        self.encoding = encoding_of(start[:_ENOUGH])
        if self.encoding != "utf-8":
            self._decoder = codecs.getincrementaldecoder(self.encoding)("replace")


def encoding_of(start: bytes) -> str:
    """The encoding of a log that starts like this: by its mark, or by every other byte being 0."""
    for mark, name in _BOMS:
        if start.startswith(mark):
            return name
    if b"\0" in start and len(start) >= 8:
        even, odd = start[0::2], start[1::2]
        if not any(odd) and all(even):
            return "utf-16-le"
        if not any(even) and all(odd):
            return "utf-16-be"
    return "utf-8"
