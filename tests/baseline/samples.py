"""Imported rows as an import writes them, and registries that owe them."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

from msgspec.structs import replace

from registry_tool import baseline
from registry_tool.baseline import Imported
from registry_tool.records import canonical, catalog
from registry_tool.records.fields import Status
from registry_tool.records.record import Record, Waiver
from registry_tool.verifier.runner import record_from
from tests.examples.build import GEMM, Row, make_row
from tests.examples.example import Example

SHAPES = ({"M": 4096, "K": 1024, "N": 1024}, {"M": 4096, "K": 2048, "N": 512})


def imported(row: Row, status: Status = "unverified", where: str = "details/A.md:12") -> Row:
    """``row`` as if somebody had only written it down: figures and no run."""
    verdict = replace(
        row.verdict,
        kind="imported",
        status=status,
        reason=f"imported from {where}, marked ✅ there",
        attempts=[],
        profile=None,
    )
    name = hashlib.sha256(canonical.encode(verdict)).hexdigest()[:8]
    verdict = replace(verdict, run_id=f"20250101T000000Z-{name}")
    return ImportedRow(row.id, verdict, b"", used_by=row.used_by, notes=row.notes)


class ImportedRow(Row):
    """A row of an import: its artifact has no streams, and no run earned its record."""

    @property
    def record(self) -> Record:
        passed = replace(self.verdict, status="pass", reason=None)
        digest = hashlib.sha256(canonical.encode(self.verdict)).hexdigest()
        record = record_from(passed, self.artifact, digest, self.used_by, self.notes, self.waivers)
        return replace(record, verdict=replace(record.verdict, status=self.verdict.status))

    def evidence(self) -> dict[str, bytes]:
        return {self.artifact: canonical.encode(self.verdict)}


def with_waiver(row: Row, expires: str, rule: str = "KR103") -> Row:
    """``row`` with a waiver until ``expires``."""
    waiver = Waiver(
        rule=rule,
        reason="NUMFAIL on a handful of near-zero elements",
        by="A. Tester",
        date="2025-01-01",
        expires=expires,
    )
    return dataclasses.replace(row, waivers=(*row.waivers, waiver))


def rows(target: str = "npu2-emu") -> list[Row]:
    """Two imported GEMM rows."""
    page = catalog.built_in()[GEMM]
    return [imported(make_row(page, shape, "drain", target=target)) for shape in SHAPES]


def baseline_of(*owed: Row) -> bytes:
    """The baseline that an import of ``owed`` makes."""
    return baseline.make(
        Imported(row.id, row.record, canonical.encode(row.verdict)) for row in owed
    )


def adopt(example: Example, *owed: Row) -> Path:
    """Write ``owed`` with their baseline and tables, as an import does; the baseline's path."""
    example.add(*owed)
    example.write({baseline.PATH: baseline_of(*owed)})
    example.render()
    return example.path(baseline.PATH)
