"""What the report holds against a row's own figures is a caveat of the row."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from registry_tool import adoption, registry_lookup
from registry_tool.adoption import doubts, drift, imported
from registry_tool.records import catalog
from registry_tool.records.record import Record
from tests.adoption.drift.registry import ATTENTION, GEMV, INDEX, NORM, Edit, edited

MOMENT = datetime(2026, 8, 1, tzinfo=timezone.utc)


def record(folder: Path, kernel: str, *edits: Edit) -> Record:
    """The first record of a kernel, made with what the report says."""
    specs = catalog.built_in()
    adopted = adoption.read(edited(folder, *edits), specs)
    held = doubts.of_rows(adopted, drift.find(adopted, specs))
    made, _ = imported.make(adopted, "npu2", MOMENT, held)
    return next(one.record for one in made if one.record.kernel == kernel)


def test_a_throughput_that_its_latency_contradicts_is_a_caveat(tmp_path: Path) -> None:
    made = record(
        tmp_path,
        "FlashAttention_bf16",
        (ATTENTION, "| 2.0 ms | 1074 |", "| 2.0 ms | 2148 |"),
    )
    assert registry_lookup.import_caveats(made.provenance) == ["contradicted"]
    assert "throughput-contradicts-latency" in made.provenance["doubts"]
    assert "1074" in made.provenance["doubts"]


def test_a_run_that_hung_while_another_place_has_its_figure_is_a_caveat(tmp_path: Path) -> None:
    made = record(
        tmp_path, "GEMV_bf16", (GEMV, "| 1100 µs | 30.5 |", "| 1100 µs | n.a. (hung twice) |")
    )
    assert registry_lookup.import_caveats(made.provenance) == ["contradicted"]


@pytest.mark.parametrize(
    ("kernel", "edit"),
    [
        ("FlashAttention_bf16", (ATTENTION, "| 2.0 ms | 1074 |", "| 2.0 ms | 1075 |")),
        ("GEMV_bf16", (INDEX, "| 8/4/4 | **30.5** |", "| 8/4/4 | n.a. (not measured) |")),
        ("RMSNorm_bf16", (NORM, "| 4 | 398 µs | 1.0× |", "| 4 | 398 µs, 99 GB/s | 1.0× |")),
    ],
)
def test_rounding_other_places_and_other_tiles_are_none(
    kernel: str, edit: Edit, tmp_path: Path
) -> None:
    made = record(tmp_path, kernel, edit)
    assert "doubts" not in made.provenance
    assert "caveats" not in made.provenance
