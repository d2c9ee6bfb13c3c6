"""Typed reading of one tower's keys: what is missing is collected, what is malformed refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from registry_tool.errors import InputError
from registry_tool.models.document import short
from registry_tool.models.size import CONFIG, Size

# Far above every model there is (vocabularies end near 2^18), and far below what a product of two
# sizes and a token count may reach in a file.
LARGEST = 2**24


class Keys:
    """The keys of one tower; ``prefix`` says where it stands in the file (``text_config.``).

    ``defaults`` are values that a person asked for by the name of a family (`--defaults`): they
    fill keys that are absent, and each use is noted.
    """

    def __init__(
        self,
        keys: Mapping[str, Any],
        path: Path,
        prefix: str = "",
        defaults: Mapping[str, Any] | None = None,
        family: str = "",
    ) -> None:
        self._keys = keys
        self._path = path
        self._prefix = prefix
        self._defaults = defaults or {}
        self._family = family
        self.missing: list[str] = []
        self.notes: list[str] = []

    @property
    def present(self) -> Mapping[str, Any]:
        """Every key with its value, null ones too."""
        return self._keys

    def raw(self, name: str) -> Any:
        """The value as it stands, None where there is none."""
        return self._keys.get(name)

    def has(self, name: str) -> bool:
        """Whether the key is there and not null."""
        return self._keys.get(name) is not None

    def named(self, name: str) -> str:
        """A key as a person finds it in the file."""
        return f"{self._prefix}{name}"

    def refuse(self, message: str, fix: str | None = None) -> InputError:
        """The error for this file, to be raised."""
        return InputError(message, path=self._path, fix=fix)

    def size(self, names: Sequence[str]) -> Size | None:
        """The size that stands under one of ``names``, or that `--defaults` gives; else None.

        Raises InputError for a value that is no size, and where two names disagree.
        """
        found = [(name, self._whole(name)) for name in names if self.has(name)]
        if len({value for _, value in found}) > 1:
            told = " and ".join(f"`{self.named(name)}` = {value}" for name, value in found)
            raise self.refuse(f"{told} disagree")
        if found:
            name, value = found[0]
            return Size(value, f"{name} {value}", (CONFIG + self.named(name),))
        for name in names:
            # A null is an answer (its family says which), never filled in.
            if name in self._defaults and not any(one in self._keys for one in names):
                value = self._defaults[name]
                self.notes.append(
                    f"{self.named(name)} is absent: {value}, a default of "
                    f"{self._family} (--defaults)"
                )
                return Size(value, f"{name} {value}", (f"{name}: --defaults {self._family}",))
        return None

    def required(self, names: Sequence[str]) -> Size:
        """As `size`; where there is none, it is listed as missing and 1 stands for it."""
        found = self.size(names)
        if found is None:
            self.lack(names[0])
            return Size(1, f"{names[0]} ?")
        return found

    def lack(self, name: str) -> None:
        """List a key as missing."""
        self.missing.append(self.named(name))

    def check_complete(self, fix: str | None) -> None:
        """Raise InputError with every key that is missing, if any is."""
        if self.missing:
            raise self.refuse(
                f"the config lacks {', '.join(self.missing)}; nothing is guessed", fix
            )

    def flag(self, name: str, default: bool) -> bool:
        """A true or false; raises InputError for anything else but null."""
        value = self._keys.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.refuse(f"`{self.named(name)}` must be true or false, found {short(value)}")
        return value

    def text(self, name: str) -> str | None:
        """A string or None; raises InputError for anything else but null."""
        value = self._keys.get(name)
        if value is not None and not isinstance(value, str):
            raise self.refuse(f"`{self.named(name)}` must be a string, found {short(value)}")
        return value

    def number(self, name: str, holder: Mapping[str, Any] | None = None) -> float | None:
        """A finite number or None; raises InputError for anything else but null."""
        value = (self._keys if holder is None else holder).get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e15:
            raise self.refuse(f"`{self.named(name)}` must be a number, found {short(value)}")
        return float(value)

    def table(self, name: str) -> Mapping[str, Any]:
        """An object, empty where there is none; raises InputError for anything else but null."""
        value = self._keys.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self.refuse(f"`{self.named(name)}` must be an object, found {short(value)}")
        return value

    def strings(self, name: str) -> list[str] | None:
        """A list of strings or None; raises InputError for anything else but null."""
        value = self._keys.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.refuse(f"`{self.named(name)}` must list strings, found {short(value)}")
        return value

    def whole(self, name: str) -> int | None:
        """A whole number from 1 or None; raises InputError for anything else but null."""
        return self._whole(name) if self.has(name) else None

    def _whole(self, name: str) -> int:
        value = self._keys[name]
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST:
            return value
        raise self.refuse(
            f"`{self.named(name)}` must be a whole number from 1 to {LARGEST}, found {short(value)}"
        )
