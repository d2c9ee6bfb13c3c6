"""KR301-KR304: generated files, through the real command."""

from __future__ import annotations

import hashlib

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.tables import document
from tests.examples.build import GEMM, Row
from tests.examples.example import Example

PAGE = f"details/{GEMM}.md"


def line_of(good: Example, words: str) -> int:
    lines = good.path(PAGE).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)


def test_a_row_without_its_line_makes_the_table_stale(good: Example, row: Row) -> None:
    noted = replace(row.record, notes=["a remark"])
    good.write({row.id.record_path: canonical.encode(noted)})
    found = good.findings()
    assert {one["rule"] for one in found} == {"KR301"}
    page = next(one for one in found if one["path"] == PAGE)
    assert page["line"] == line_of(good, "2048×1024×1024")
    assert "a remark" in page["message"]
    assert "registry-tool render" in page["fix"]


@pytest.mark.parametrize(
    "path", ["supported_kernels.md", PAGE, f"details/{GEMM}.json", "registry_lookup.py"]
)
def test_a_generated_file_that_is_gone_is_found(good: Example, path: str) -> None:
    good.path(path).unlink()
    assert {(one["rule"], one["path"]) for one in good.findings()} == {("KR301", path)}


def test_an_edited_cell_is_a_hand_edit(good: Example) -> None:
    good.edit(PAGE, "| 8×4 |", "| 9×9 |")
    (one,) = good.findings()
    assert one["rule"] == "KR302"
    assert one["line"] == line_of(good, "9×9")


def resealed(good: Example) -> None:
    """Give the region the checksum of what stands in it now, as a careful forger would."""
    data = good.path(PAGE).read_bytes()
    (region,) = document.regions(data)
    assert region.checksum is not None
    checksum = hashlib.sha256(region.text).hexdigest()[:12]
    good.write({PAGE: data.replace(region.checksum.encode(), checksum.encode())})


def test_an_edited_cell_with_a_right_checksum_is_still_stale(good: Example) -> None:
    good.edit(PAGE, "| 8×4 |", "| 9×9 |")
    resealed(good)
    assert good.rules() == {"KR301"}


def test_a_row_made_by_hand_in_the_table_is_found(good: Example) -> None:
    text = good.path(PAGE).read_text()
    line = next(line for line in text.splitlines() if "2048×1024×1024" in line)
    good.edit(PAGE, line, line + "\n" + line.replace("2048×1024×1024", "4096×4096×4096"))
    assert good.rules() == {"KR302"}
    resealed(good)
    assert good.rules() == {"KR301"}


@pytest.mark.parametrize("spelling", ["2048×1024×1024", " 2048×1024×1024  "])
def test_a_row_shown_twice_is_found(good: Example, spelling: str) -> None:
    text = good.path(PAGE).read_text()
    line = next(line for line in text.splitlines() if "2048×1024×1024" in line)
    better = line.replace("9.4", "1.1").replace("2048×1024×1024", spelling)
    assert better != line
    good.edit(PAGE, line, line + "\n" + better)
    assert good.rules() == {"KR302", "KR304"}
    resealed(good)
    found = good.findings()
    assert {one["rule"] for one in found} == {"KR301", "KR304"}
    twice = next(one for one in found if one["rule"] == "KR304")
    assert twice["line"] == line_of(good, "1.1")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<!-- registry:begin shapes -->\n", ""),
        ("<!-- registry:begin shapes -->\n", "<!-- registry:begin shapes -->\n" * 2),
        ("<!-- registry:begin shapes -->", "<!-- registry:begin other -->"),
        ("<!-- registry:end", "<!-- registry:fin"),
    ],
)
def test_broken_markers_are_found(good: Example, old: str, new: str) -> None:
    good.edit(PAGE, old, new)
    found = good.findings()
    assert {one["rule"] for one in found} == {"KR303"}


def test_prose_around_the_tables_is_free(good: Example) -> None:
    data = good.path(PAGE).read_bytes()
    good.write(
        {PAGE: b"My own words.\r\n\n" + data + b"\n| a | table |\n|---|---|\n| of | mine |\n"}
    )
    assert good.findings() == []


def test_a_page_with_other_line_ends_is_the_same_page(good: Example) -> None:
    good.write({PAGE: good.path(PAGE).read_bytes().replace(b"\n", b"\r\n")})
    assert good.findings() == []


def test_a_generated_file_of_no_kernel_is_found(good: Example) -> None:
    good.write({"details/Made_up.json": "{}\n"})
    assert {one["rule"] for one in good.findings()} == {"KR301"}
    good.path("details/Made_up.json").unlink()
    page = good.path(PAGE).read_text().replace(GEMM, "Made_up")
    good.write({"details/Made_up.md": page})
    assert {one["path"] for one in good.findings()} == {"details/Made_up.md"}


def test_a_page_of_prose_alone_is_free(good: Example) -> None:
    good.write({"details/how-to.md": "# How to\n\nRead the tables.\n"})
    assert good.findings() == []


def test_a_row_that_cannot_be_shown_does_not_accuse_the_tables(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"variant": "drain"', '"variant": drain')
    assert good.rules() == {"KR001"}
