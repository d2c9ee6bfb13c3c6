"""Registries with a change to review, built once; tests that only look share them."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical, catalog
from registry_tool.records.model import Model, Need
from registry_tool.records.record import Use, Waiver
from tests.examples import example
from tests.examples.build import (
    GEMM,
    OTHER,
    SMALL,
    Row,
    log_text,
    make_row,
    sealed,
    speed_of,
    speed_text,
)
from tests.examples.example import Example
from tests.examples.fixtures import _template, good, other, row

__all__ = ["_template", "good", "other", "row"]

SPEC = catalog.built_in()[GEMM]
TIMED = {"M": 2048, "K": 8192, "N": 2048}
STEADY = {"M": 2048, "K": 2048, "N": 2048}
FORGED = {"M": 2048, "K": 1024, "N": 512}


def timed(shape: dict[str, int], latency_us: float, second: int, apart: float = 0.01) -> Row:
    """A hardware row whose timing runs are ``apart`` (as a share) below and above the median."""
    made = make_row(SPEC, shape, "fused-cast", "npu2", second)
    spread = round(2 * apart, 6)
    performance = replace(speed_of(SPEC, shape, latency_us), spread=spread)
    verdict = replace(made.verdict, performance=performance)
    runs = [
        speed_of(SPEC, shape, round(latency_us * share, 3)) for share in (1 - apart, 1, 1 + apart)
    ]
    logs = tuple(f"Detected NPU device: npu2\n{speed_text(run)}\n".encode() for run in runs)
    log = log_text(verdict, False)
    return sealed(dataclasses.replace(made, verdict=verdict, log=log, timings=logs))


def noted(row: Row, **human: object) -> bytes:
    """The record of ``row`` with other human-owned fields."""
    return canonical.encode(replace(row.record, **human))


def model(*needs: tuple[str, dict[str, int]]) -> bytes:
    return canonical.encode(
        Model(
            model="Toy-1B",
            config_sha256=hashlib.sha256(b"").hexdigest(),
            seq=2048,
            needs=[
                Need(phase="prefill", site=site, kernel=GEMM, precision="high", shape=shape)
                for site, shape in needs
            ],
            uncovered=[],
            notes=[],
        )
    )


def write_base(made: Example) -> None:
    made.write({"models/Toy-1B.json": model(("Q proj", SMALL), ("Down proj", TIMED))})
    made.add(
        make_row(SPEC, SMALL, "drain"),
        make_row(SPEC, OTHER, "drain", second=60),
        make_row(SPEC, FORGED, "drain", second=70),
        timed(TIMED, 8000.0, 80),
        timed(STEADY, 2000.0, 100),
    )
    made.render()


def write_change(made: Example) -> None:
    gone = make_row(SPEC, SMALL, "drain")
    made.path(gone.id.record_path).unlink()
    made.add(make_row(SPEC, SMALL, "direct", second=200), timed(TIMED, 9000.0, 210))
    made.add(timed(STEADY, 2010.0, 230))
    kept = make_row(SPEC, OTHER, "drain", second=60)
    made.write(
        {
            kept.id.record_path: noted(
                kept,
                notes=["see @everyone | <b>`x`</b> and \u202e turned"],
                used_by=[Use(model="Toy-1B", site="prefill O proj")],
                waivers=[
                    Waiver(
                        rule="KR202",
                        reason="a smaller herd is enough",
                        by="A. Tester",
                        date="2026-01-01",
                        expires="2999-01-01",
                    )
                ],
            )
        }
    )
    forged = make_row(SPEC, FORGED, "drain", second=70)
    made.edit(forged.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000124')
    made.write({"models/Toy-1B.json": model(("Q proj", SMALL), ("Down proj", TIMED), ("x", OTHER))})
    made.edit("registry.yaml", "schema_version: 1\n", "schema_version: 1\nlookup: any\n")
    made.render()


@pytest.fixture(scope="session")
def _changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = example.make(tmp_path_factory.mktemp("changed"))
    write_base(made)
    made.edit("registry.yaml", "schema_version: 1\n", "schema_version: 1\nlookup: sound\n")
    made.render()
    made.commit("Base")
    made.edit("registry.yaml", "lookup: sound\n", "")
    write_change(made)
    made.commit("Change \u001b[31mred\u001b[0m")
    return made.repo


@pytest.fixture(scope="session")
def changed(_changed: Path) -> Example:
    """HEAD~1..HEAD does a bit of everything, on both targets; for tests that change nothing."""
    return Example(_changed, _changed)


@pytest.fixture
def own(tmp_path: Path, _changed: Path) -> Example:
    """A copy of `changed` to work in."""
    repo = tmp_path / "repo"
    shutil.copytree(_changed, repo, symlinks=True)
    made = Example(repo, repo)
    made.git("update-index", "-q", "--refresh")
    return made
