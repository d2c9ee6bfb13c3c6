"""The cache: a document comes back as it was kept, or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from registry_tool.store import git
from registry_tool.store.cache import Cache
from tests.examples.example import Example


@pytest.fixture
def cache(good: Example) -> Cache:
    shutil.rmtree(folder(good), ignore_errors=True)
    return Cache(git.require_repository(good.root))


def folder(good: Example) -> Path:
    return good.repo / ".git" / "registry-tool"


def test_a_document_comes_back(cache: Cache) -> None:
    cache.save("one.json", {"a": [1, 2.5, None, "ü"]})
    assert cache.load("one.json") == {"a": [1, 2.5, None, "ü"]}
    cache.save_bytes("two", b"\x00\n\xff")
    assert cache.load_bytes("two") == b"\x00\n\xff"


def test_what_was_never_kept_is_not_there(cache: Cache) -> None:
    assert cache.load("one.json") is None


@pytest.mark.parametrize("at", range(0, 24, 3))
def test_a_flipped_bit_is_as_good_as_nothing(good: Example, cache: Cache, at: int) -> None:
    cache.save("one.json", {"number": 12345})
    path = folder(good) / "one.json"
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    assert cache.load("one.json") is None


def test_without_a_repository_nothing_is_kept() -> None:
    cache = Cache(None)
    cache.save("one.json", 1)
    assert cache.load("one.json") is None


def test_a_cache_that_cannot_be_written_is_no_error(good: Example, cache: Cache) -> None:
    folder(good).write_text("in the way\n")
    cache.save("one.json", 1)
    assert cache.load("one.json") is None


def test_nothing_is_left_beside_what_is_kept(good: Example, cache: Cache) -> None:
    cache.save("one.json", 1)
    assert [path.name for path in folder(good).iterdir()] == ["one.json"]
