"""The public registry, read once for all tests that look at it in place."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import cache

from registry_tool import adoption
from registry_tool.adoption import drift, imported
from registry_tool.adoption.drift import Finding
from registry_tool.adoption.imported import Made
from registry_tool.adoption.model import Adoption
from registry_tool.adoption.prose import Reading, propose
from registry_tool.records import catalog
from tests.shared_data import shared

MOMENT = datetime(2026, 8, 1, tzinfo=timezone.utc)


def adopted() -> Adoption:
    """Everything it says; skips where it is absent."""
    shared("upstream_registry")
    return _adopted()


@cache
def _adopted() -> Adoption:
    return adoption.read(shared("upstream_registry"), catalog.built_in())


@cache
def _made() -> tuple[Made, ...]:
    return tuple(imported.make(_adopted(), "npu2", MOMENT)[0])


def made() -> tuple[Made, ...]:
    """Its rows as records; skips where it is absent."""
    shared("upstream_registry")
    return _made()


@cache
def _findings() -> tuple[Finding, ...]:
    return tuple(drift.find(_adopted(), catalog.built_in()))


def findings() -> tuple[Finding, ...]:
    """What the report says of it; skips where it is absent."""
    shared("upstream_registry")
    return _findings()


@cache
def _prose() -> Reading:
    root = shared("upstream_registry")
    paths = [root / "README.md", root / "supported_kernels.md", *(root / "details").glob("*.md")]
    pages = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(paths)}
    return propose(pages, _adopted(), catalog.built_in())


def prose() -> Reading:
    """What its sentences say; skips where it is absent."""
    shared("upstream_registry")
    return _prose()
