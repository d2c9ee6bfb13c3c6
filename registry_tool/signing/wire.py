"""The binary form of SSH data (RFC 4251): strings with a length before them; knows no keys."""

from __future__ import annotations

import binascii

_SPACE = b" \t\n\v\f\r"


class WireError(ValueError):
    """The bytes are not what they should be."""


class Reader:
    """Takes SSH data apart, from the front; every method raises WireError past the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, number: int) -> bytes:
        """So many bytes."""
        end = self._at + number
        if end > len(self._data):
            raise WireError("it ends in the middle")
        found = self._data[self._at : end]
        self._at = end
        return found

    def number(self, size: int = 4) -> int:
        """An unsigned number of ``size`` bytes."""
        return int.from_bytes(self.take(size), "big")

    def string(self) -> bytes:
        """Bytes with their length before them."""
        return self.take(self.number())

    def natural(self) -> int:
        """A whole number of any size that is not negative (RFC 4251 mpint)."""
        data = self.string()
        if data and data[0] & 0x80:
            raise WireError("a number is negative")
        return int.from_bytes(data, "big")

    @property
    def rest(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self._at

    def end(self) -> None:
        """Raise WireError if anything is left."""
        if self.rest:
            raise WireError(f"{self.rest} bytes too many")


def string(data: bytes) -> bytes:
    """``data`` with its length before it."""
    return len(data).to_bytes(4, "big") + data


def base64(text: bytes) -> bytes:
    """The bytes that ``text`` stands for; spaces and line ends do not count, all else does."""
    plain = text.translate(None, _SPACE)
    try:
        data = binascii.a2b_base64(plain)
    except binascii.Error:
        raise WireError("it is not base64") from None
    # Other characters are skipped by Python, and spare bits ignored.
    if binascii.b2a_base64(data, newline=False) != plain:
        raise WireError("it is not base64")
    return data
