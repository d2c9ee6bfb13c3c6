"""What signatures are called: their namespace, and the names of their files; no bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

NAMESPACE = "registry-tool-verdict-v1"
"""What every signature says that it is for, so that none made for anything else passes here."""


def is_of(name: str, verdict: str) -> bool:
    """Whether ``name`` is a signature of the verdict file ``verdict``, both in one folder."""
    return name.endswith(".sig") and name.startswith(f"{verdict}.")


def names_of(verdict: str, names: Collection[str]) -> list[str]:
    """The signatures of the verdict file ``verdict`` among the ``names`` of its folder, in order.

    The first signer's is called after the verdict, a later signer's after his key as well.
    """
    return sorted((name for name in names if is_of(name, verdict)), key=lambda n: (len(n), n))


def verdict_of(name: str) -> str:
    """The name of the verdict file that the signature ``name`` stands beside."""
    stem = name.removesuffix(".sig")
    return stem if stem.endswith(".json") else stem.rpartition(".")[0]


def free_name(verdict: str, names: Collection[str], key: bytes) -> str:
    """The name for a new signature by ``key`` (its public blob), beside those that are there."""
    first = f"{verdict}.sig"
    if first not in names:
        return first
    return f"{verdict}.{hashlib.sha256(key).hexdigest()[:8]}.sig"
