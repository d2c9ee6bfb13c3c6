"""Who signed a verdict."""

from __future__ import annotations

from collections.abc import Callable

from registry_tool.errors import InputError
from registry_tool.signing import reader
from registry_tool.store.snapshot import Snapshot

Ask = Callable[[str], str | None]
"""The signer of the verdict at a path, in words; None if nobody signed it."""


def of(state: Snapshot) -> Ask:
    """How to ask who signed the verdicts of ``state``; what cannot be read has no signer."""
    try:
        ask = reader(state)
    except InputError:
        return lambda artifact: None

    def signer(artifact: str) -> str | None:
        try:
            found = ask(artifact)
        except (KeyError, InputError):
            return None
        return found.text if found else None

    return signer
