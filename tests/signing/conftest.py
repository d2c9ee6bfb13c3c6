"""Keys for the tests of signatures, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.fixtures import _template, good, other, row
from tests.signing import keyring
from tests.signing.keyring import SshKey

__all__ = ["_template", "good", "other", "row"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="session")
def keys(folder: Path) -> dict[str, SshKey]:
    """One key of each type."""
    return {name: keyring.make(folder, name, *words) for name, words in keyring.TYPES.items()}


@pytest.fixture(scope="session")
def alice(folder: Path) -> SshKey:
    return keyring.make(folder, "alice")


@pytest.fixture(scope="session")
def bob(folder: Path) -> SshKey:
    return keyring.make(folder, "bob")
