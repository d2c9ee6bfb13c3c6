"""Marking small pages of our own: what is added, what is kept, what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import pytest

from registry_tool import adoption as adopting
from registry_tool.adoption import imported
from registry_tool.adoption.mark import Span, kernels_of, mark, marked
from registry_tool.errors import InputError
from registry_tool.records import canonical, catalog
from registry_tool.records.layout import CellLayout, Layout, TableLayout
from registry_tool.tables import document, layout, layout_files
from tests.adoption import public
from tests.adoption.drift.registry import ATTENTION, edited

PAGE = "details/RMSNorm_bf16.md"
INDEX = "supported_kernels.md"
HEAD = "# RMSNorm\n\nSome words.\n\n## Tested shapes\n\nA lead.\n\n"
TABLE = (
    "| (M, N) | herd_x | latency | bandwidth | mean_rel_L1 | Used by | Status |\n"
    "|---|:-:|---:|---|---|---|---|\n"
    "| 64×128 | 8 | 21.5 µs | **1.6 GB/s** | 4.4e-3 | Toy-1B norm (per head) | ✅ |\n"
    "| 32×256 | 8 | 22 µs | 1.5 GB/s | 4.41e-3 | coverage | ⚠️ see below |\n"
)
TAIL = "\nWords after.\n"


@dataclass(frozen=True)
class Taken:
    pages: dict[str, bytes]
    layouts: dict[str, Layout]
    rendered: dict[str, bytes]

    @property
    def table(self) -> TableLayout:
        [table] = self.layouts[PAGE].tables
        return table

    def wording(self, row: str, title: str) -> CellLayout | None:
        line = next(line for line in self.table.lines if line.row == row)
        return line.cells.get(title)


def take(folder: Path, pages: dict[str, bytes]) -> Taken:
    """The pages marked, and rendered from the records that are made of them."""
    for name, data in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    if INDEX not in pages:
        (folder / INDEX).write_bytes(b"# Kernels\n\nNone yet.\n")
    adoption = adopting.read(folder, catalog.built_in())
    made, _ = imported.make(adoption, "npu2", datetime(2026, 8, 1, tzinfo=timezone.utc))
    records = [one.record for one in made]
    found = mark(adoption, records)
    kernels = kernels_of(adoption, records)
    layouts = {
        one.page: one for one in (canonical.decode(data, Layout) for data in found.layouts.values())
    }
    return Taken(
        found.pages,
        layouts,
        {
            page: document.splice(data, layout.page(layouts[page], kernels), page)
            for page, data in found.pages.items()
        },
    )


def without_markers(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"<!-- registry:"))


def test_a_page_whose_rows_are_right_stays_as_it_was_but_for_two_lines(tmp_path: Path) -> None:
    before = (HEAD + TABLE + TAIL).encode()
    taken = take(tmp_path, {PAGE: before})
    assert without_markers(taken.pages[PAGE]) == before
    assert taken.rendered[PAGE] == taken.pages[PAGE]
    assert taken.pages[PAGE].count(b"<!-- registry:") == 2


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (HEAD, ""),
        (HEAD.replace("A lead.\n\n", ""), TAIL),
        (HEAD.replace("A lead.\n\n", "").rstrip("\n") + "\n", "# Next\n\nMore.\n"),
        ("\ufeff" + HEAD, TAIL),
        (HEAD + "\n\n", "\n\n\nFar below.\n"),
    ],
)
def test_what_stands_around_a_table_is_kept_to_the_byte(
    tmp_path: Path, head: str, tail: str
) -> None:
    before = (head + TABLE + tail).encode()
    taken = take(tmp_path, {PAGE: before})
    assert without_markers(taken.pages[PAGE]) == before
    [first], [second] = (document.regions(one[PAGE]) for one in (taken.pages, taken.rendered))
    assert [line for line in first.text.split(b"\n") if line] == [
        line for line in second.text.split(b"\n") if line
    ]
    assert taken.pages[PAGE][: first.body_start] == taken.rendered[PAGE][: second.body_start]


def test_line_ends_of_windows_stay(tmp_path: Path) -> None:
    before = (HEAD + TABLE + TAIL).replace("\n", "\r\n").encode()
    taken = take(tmp_path, {PAGE: before})
    assert without_markers(taken.pages[PAGE]) == before
    assert taken.rendered[PAGE] == taken.pages[PAGE]
    assert b"\n" not in taken.rendered[PAGE].replace(b"\r\n", b"")


def test_a_page_with_markers_is_refused(tmp_path: Path) -> None:
    taken = take(tmp_path / "first", {PAGE: (HEAD + TABLE + TAIL).encode()})
    with pytest.raises(InputError, match="generated regions already"):
        take(tmp_path / "second", {PAGE: taken.pages[PAGE]})


@pytest.mark.parametrize("prefix", ["> ", "- "])
def test_a_table_that_no_marker_can_stand_around_is_refused_with_its_line(prefix: str) -> None:
    inside = "".join(f"{prefix}{line}\n" for line in TABLE.splitlines()[:1]) + "".join(
        f"{prefix if prefix == '> ' else '  '}{line}\n" for line in TABLE.splitlines()[1:]
    )
    first = HEAD.count("\n") + 1
    with pytest.raises(InputError, match="to the left margin") as caught:
        marked((HEAD + inside + TAIL).encode(), [Span("shapes", first, first + 3)], PAGE)
    assert caught.value.line == first


def test_tables_that_hold_no_rows_are_left_alone(tmp_path: Path) -> None:
    sweep = (
        "\n## Herd sweep\n\n| herd_x | latency | speedup vs herd_x=1 |\n|---|---|---|\n"
        "| 1 | 160 µs | 1.0× |\n| 8 | 21.5 µs | 7.4× |\n"
    )
    taken = take(tmp_path, {PAGE: (HEAD + TABLE + sweep).encode()})
    assert [table.region for table in taken.layouts[PAGE].tables] == ["shapes"]
    assert sweep.encode() in taken.pages[PAGE]


def test_columns_are_kept_with_their_alignment_unit_and_precision(tmp_path: Path) -> None:
    table = take(tmp_path, {PAGE: (HEAD + TABLE + TAIL).encode()}).table
    assert [(column.title, column.rule, column.cell) for column in table.columns] == [
        ("(M, N)", "---", "{M}×{N}"),
        ("herd_x", ":-:", "{herd_x}"),
        ("latency", "---:", "{latency_us:.1f} µs"),
        ("bandwidth", "---", "{gbps:.1f} GB/s"),
        ("mean_rel_L1", "---", "{mean_rel_L1:.1e}"),
        ("Used by", "---", "{used_by}"),
        ("Status", "---", "{status}"),
    ]
    assert table.columns[3].bold == "column"


def test_only_cells_that_are_written_otherwise_have_a_wording(tmp_path: Path) -> None:
    taken = take(tmp_path, {PAGE: (HEAD + TABLE + TAIL).encode()})
    assert taken.wording("64x128", "mean_rel_L1") is None
    assert taken.wording("64x128", "latency") is None
    digits = taken.wording("32x256", "mean_rel_L1")
    assert digits is not None
    assert digits.text == "{mean_rel_L1:.2e}"
    status = taken.wording("32x256", "Status")
    assert status is not None
    assert status.text == "{status} see below"


def test_a_bold_figure_that_is_not_the_best_loses_it_to_the_best(tmp_path: Path) -> None:
    wrong = TABLE.replace("**1.6 GB/s**", "1.6 GB/s").replace("1.5 GB/s", "**1.5 GB/s**")
    taken = take(tmp_path, {PAGE: (HEAD + wrong + TAIL).encode()})
    assert b"**1.6 GB/s**" in taken.rendered[PAGE]
    assert b"| 1.5 GB/s |" in taken.rendered[PAGE]


def test_a_range_keeps_its_wording_until_its_figure_changes(tmp_path: Path) -> None:
    ranged = TABLE.replace("21.5 µs", "20.4–22.6 µs")
    taken = take(tmp_path, {PAGE: (HEAD + ranged + TAIL).encode()})
    assert taken.rendered[PAGE] == taken.pages[PAGE]
    wording = taken.wording("64x128", "latency")
    assert wording == CellLayout(text="20.4–22.6 µs", of={"latency_us": 21.5})


def test_a_cell_that_says_nothing_stays_empty_until_its_figure_changes(tmp_path: Path) -> None:
    silent = INDEX_PAGE.replace("| latency |", "| mean_rel_L1 |").replace("21.5 µs", "—")
    silent = silent.replace("**1.5 GB/s** (32×256", "**1.6 GB/s** (64×128")
    taken = take(tmp_path, {PAGE: (HEAD + TABLE + TAIL).encode(), INDEX: silent.encode()})
    assert "| 64×128 | 8 | — | **1.6 GB/s** | Toy-1B | ✅ |" in taken.rendered[INDEX].decode()
    line = taken.layouts[INDEX].tables[1].lines[0]
    assert line.cells["mean_rel_L1"].of == {"mean_rel_L1": 4.4e-3}


def test_a_second_line_of_a_row_stays_as_words(tmp_path: Path) -> None:
    words = TABLE + "| 64×128 | 8 | 30 µs | 1.1 GB/s | — | again | ❌ |\n"
    taken = take(tmp_path, {PAGE: (HEAD + words + TAIL).encode()})
    assert taken.rendered[PAGE] == taken.pages[PAGE]
    assert taken.table.lines[-1].row is None


def test_pipes_and_braces_in_a_cell_survive(tmp_path: Path) -> None:
    odd = TABLE.replace("Toy-1B norm (per head)", "Toy-1B norm {a\\|b}")
    taken = take(tmp_path, {PAGE: (HEAD + odd + TAIL).encode()})
    assert taken.rendered[PAGE] == taken.pages[PAGE]


INDEX_PAGE = """# Kernels

| Kernel | Detail | Best measured | Status |
|---|---|---|---|
| RMSNorm | [`page`](details/RMSNorm_bf16.md) | **1.5 GB/s** (32×256, herd 8) | ✅ |

## RMSNorm — tested shapes

| (M×N) | herd_x | latency | bandwidth | Used by | Status |
|---|---|---|---|---|---|
| 64×128 | 8 | 21.5 µs | **1.6 GB/s** | Toy-1B | ✅ |
"""


def test_the_overview_of_the_index_names_the_best_row(tmp_path: Path) -> None:
    taken = take(tmp_path, {PAGE: (HEAD + TABLE + TAIL).encode(), INDEX: INDEX_PAGE.encode()})
    text = taken.rendered[INDEX].decode()
    assert "| **1.6 GB/s** (64×128, herd 8) | ✅ |" in text
    # The row that only the page of the kernel has follows the old ones.
    assert "| 64×128 | 8 | 21.5 µs | **1.6 GB/s** | Toy-1B | ✅ |\n| 32×256 | 8 |" in text


PIVOT = """# Kernels

## GEMM (bf16 out) — tested shapes

| (M×K×N) | high-prec fused-cast | high-prec drain | mean_rel_L1 (high / low) | Status |
|---|---|---|---|---|
| 512×512×512 | 482 | **1703** (n128) | 9.4e-3 / — | ✅ |
| 1024×512×512 | — (drain n64) | **1800** | 9.4e-3 / — | ✅ |
| 512×1024×512 | ⚠️ | **1900** | 9.4e-3 / — | ⚠️ |

Done.
"""
GEMM_PAGE = "details/GEMM_bf16_in_bf16_out.md"
GEMM = """# GEMM

## Tested shapes

### `--method fused-cast`

| (M, K, N) | tile (m/kl2/kl1/n) | GFLOPS | mean_rel_L1 | Status |
|---|---|---|---|---|
| 512×512×512 | 64/256/32/128 | 482 | 9.7e-3 | ✅ |

### `--method drain`

| (M, K, N) | tile (m/kl2/kl1/n) | GFLOPS | mean_rel_L1 | Status |
|---|---|---|---|---|
| 512×512×512 | 32/256/32/128 | **1703** | 9.4e-3 | ✅ |
| 1024×512×512 | 32/256/**32**/64 (herd **4×4**) | 1800 | 9.4e-3 | ✅ Toy-1B K proj |
| 512×1024×512 | 32/256/32/128 | 1900 | 9.4e-3 | ✅ |

Done.
"""


def test_cells_of_several_variants_are_read_from_their_rows(tmp_path: Path) -> None:
    taken = take(tmp_path, {GEMM_PAGE: GEMM.encode(), INDEX: PIVOT.encode()})
    assert taken.rendered == taken.pages
    [pivot] = taken.layouts[INDEX].tables
    assert pivot.lines_of == "shape"
    assert [column.cell for column in pivot.columns][1:3] == [
        "{fused-cast.gflops:.0f}",
        "{drain.gflops:.0f}",
    ]
    wordings = {line.row: line.cells for line in pivot.lines}
    absent = wordings["1024x512x512"]["high-prec fused-cast"]
    assert absent == CellLayout(text="— (drain n{drain.tile_n})", of={"fused-cast.gflops": None})
    drain = next(one for one in taken.layouts[GEMM_PAGE].tables if one.variants == ["drain"])
    assert drain.columns[2].bold == "siblings"
    tile = drain.lines[1].cells["tile (m/kl2/kl1/n)"]
    assert drain.columns[1].cell.endswith("{tile_n} {other_herd}")
    assert tile.text == "{tile_m}/{tile_k_l2}/**{tile_k_l1}**/{tile_n} (herd **{herd_m}×{herd_n}**)"


def test_a_cell_that_contradicts_the_row_is_not_kept(tmp_path: Path) -> None:
    wrong = PIVOT.replace("**1800**", "**1810**").replace("(n128)", "(n64)")
    taken = take(tmp_path, {GEMM_PAGE: GEMM.encode(), INDEX: wrong.encode()})
    text = taken.rendered[INDEX].decode()
    assert "| — (drain n64) | **1800** |" in text
    assert "| 482 | **1703** | 9.4e-3" in text


def test_what_marking_writes_says_which_columns_are_measured(tmp_path: Path) -> None:
    taken = take(tmp_path, {GEMM_PAGE: GEMM.encode(), INDEX: PIVOT.encode()})
    [pivot] = taken.layouts[INDEX].tables
    assert [column.measures for column in pivot.columns] == [
        [],
        ["fused-cast.gflops"],
        ["drain.gflops"],
        ["high.mean_rel_L1"],
        [],
    ]


def test_a_layout_that_marking_writes_can_be_used(tmp_path: Path) -> None:
    ranged = TABLE.replace("21.5 µs", "20.4–22.6 µs").replace("Toy-1B", "Toy-1B (9999 GB/s)")
    first = take(
        tmp_path / "a", {PAGE: (HEAD + ranged + TAIL).encode(), INDEX: INDEX_PAGE.encode()}
    )
    second = take(tmp_path / "b", {GEMM_PAGE: GEMM.encode(), INDEX: PIVOT.encode()})
    for one in (*first.layouts.values(), *second.layouts.values()):
        layout_files.require_right(one, layout_files.file_of(one.page))


def test_every_layout_of_the_public_registry_can_be_used() -> None:
    found = mark(public.adopted(), [one.record for one in public.made()])
    for path, data in found.layouts.items():
        layout_files.require_right(canonical.decode(data, Layout), path)


def test_a_table_whose_lines_make_no_record_is_left_as_it_is(tmp_path: Path) -> None:
    root = edited(tmp_path)
    # The index alone says nothing of the tile of an attention.
    (root / ATTENTION).unlink()
    adoption = adopting.read(root, catalog.built_in())
    made, refused = imported.make(adoption, "npu2", datetime(2026, 8, 1, tzinfo=timezone.utc))
    assert {one.row.kernel for one in refused} == {"FlashAttention_bf16"}
    found = mark(adoption, [one.record for one in made])
    page = found.pages["supported_kernels.md"]
    assert b"begin rmsnorm" in page
    assert b"begin flashattention" not in page
