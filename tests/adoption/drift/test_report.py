"""The report as files: what programs read, and the page that people read."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt

from registry_tool import adoption
from registry_tool.adoption import drift
from registry_tool.adoption.drift import Finding, Side, report
from registry_tool.adoption.drift.finding import reading_order
from registry_tool.adoption.model import Adoption
from registry_tool.records import catalog
from tests.adoption.drift.registry import GEMM, INDEX, NORM, edited, findings, line_of

WORSE = (NORM, "| 120 µs | 17.5 GB/s | 4.3e-3 |", "| 120 µs | 17.5 GB/s | 4.4e-3 |")
PIPES = (NORM, "| `mean_rel_L1` |", "| `mean_rel_L1 = mean|y-ref| / mean|ref|` |")


def read(root: Path) -> Adoption:
    return adoption.read(root, catalog.built_in())


def test_each_entry_has_the_stable_keys_and_both_sides(tmp_path: Path) -> None:
    root = edited(tmp_path, WORSE)
    [finding] = findings(root)
    entry = json.loads(json.dumps(finding.as_json(), allow_nan=False))
    assert list(entry)[:6] == ["kind", "where", "record", "found", "expected", "confidence"]
    assert entry["kind"] == "cells-disagree"
    assert entry["where"] == [
        line_of(root, INDEX, "| 512×1024 |"),
        line_of(root, NORM, "| 512×1024 |"),
    ]
    assert entry["record"] == "RMSNorm_bf16/512x1024"
    assert (entry["found"], entry["expected"]) == ("4.3e-3", "4.4e-3")
    assert entry["confidence"] == "high"
    assert [side["value"] for side in entry["values"]] == ["4.3e-3", "4.4e-3"]
    assert "4.3e-3" in entry["message"]


def rows_of(page: str) -> list[list[str]]:
    """The cells of every body row, as markdown-it reads them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    rows: list[list[str]] = []
    for token, following in pairwise(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "td_open":
            rows[-1].append(following.content)
    return [row for row in rows if row]


def test_the_page_holds_every_finding_in_whole_rows(tmp_path: Path) -> None:
    root = edited(tmp_path, WORSE, PIPES, (GEMM, "(tile_m=32)", "(tile_m=16)"))
    found = findings(root)
    page = report.as_page(read(root), found).decode()
    rows = rows_of(page)
    assert {len(row) for row in rows} == {5, 6}
    assert len([row for row in rows if len(row) == 6]) == len(found) == 3
    # A cell with pipes stays one cell.
    assert any("mean|y-ref|" in row[3] for row in rows if len(row) == 6)


def test_the_page_counts_by_kind_and_links_to_lines(tmp_path: Path) -> None:
    root = edited(tmp_path, WORSE)
    page = report.as_page(read(root), findings(root), "../registry/").decode()
    assert "| [cells-disagree](#cells-disagree-1) | 1 | 1 | 0 | 0 |" in page
    assert "## cells-disagree (1)" in page
    where = line_of(root, NORM, "| 512×1024 |")
    number = where.rpartition(":")[2]
    assert f"[{where}](../registry/{NORM}?plain=1#L{number})" in page
    assert re.search(r"^1 finding on 10 rows\.", page, re.M)


def test_the_order_is_that_of_kinds_and_then_of_lines() -> None:
    def at(where: str) -> Finding:
        return Finding("row-missing", (Side(where, "—"),), None, "—", "x", "high", "")

    found = sorted([at("a.md:10"), at("a.md:9"), at("a.json:11")], key=reading_order)
    assert [one.where for one in found] == [["a.json:11"], ["a.md:9"], ["a.md:10"]]


def test_the_order_does_not_depend_on_the_run(tmp_path: Path) -> None:
    root = edited(tmp_path, WORSE, PIPES)
    assert findings(root) == findings(root)
    order = [list(drift.KINDS).index(one.kind) for one in findings(root)]
    assert order == sorted(order)
