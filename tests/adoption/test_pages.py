"""Pages in the upstream form: which table is what, what each line claims, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from registry_tool.adoption import columns
from registry_tool.adoption.columns import Words
from registry_tool.adoption.model import Adoption, Claim, Quantity
from registry_tool.errors import InputError
from registry_tool.records import catalog
from tests.adoption.small import ADD, ATTENTION, FILES, GEMM, GEMV, INDEX, edited, line_of, read

GEMM_KERNEL = "GEMM_bf16_in_bf16_out"


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Adoption:
    return read(tmp_path_factory.mktemp("registry"))


def claim(adopted: Adoption, file: str, text: str, variant: str | None = None) -> Claim:
    """The one claim of the line that holds ``text``."""
    at = line_of(file, text)
    found = [one for one in adopted.claims if (one.file, one.line) == (file, at)]
    (one,) = [one for one in found if one.variant == variant]
    return one


def figure(one: Claim, name: str) -> Quantity:
    found = one.quantity(name)
    assert found is not None, name
    return found


def test_each_table_is_known_for_what_it_is(adopted: Adoption) -> None:
    kinds = [(table.kind, table.variant) for table in adopted.tables if table.file == GEMM]
    assert kinds == [
        ("parameters", None),
        ("shapes", "fused-cast"),
        ("shapes", "drain"),
        ("shapes", "direct"),
        ("sweep", None),
    ]
    kinds = [(table.kind, table.variant) for table in adopted.tables if table.file == INDEX]
    assert [kind for kind, _ in kinds] == ["overview", "pivot", "shapes", "shapes"]


def test_the_kernel_of_an_index_table_is_the_page_that_its_section_names(
    adopted: Adoption,
) -> None:
    kernels = [table.kernel for table in adopted.tables if table.file == INDEX]
    assert kernels == [None, GEMM_KERNEL, "GEMV_bf16", "EltwiseAdd_bf16"]


def test_a_method_table_takes_its_variant_from_the_heading(adopted: Adoption) -> None:
    one = claim(adopted, GEMM, "| 1024×2048×1024 | 64", "fused-cast")
    assert one.shape == {"M": 1024, "K": 2048, "N": 1024}
    assert one.tile == {"tile_m": 64, "tile_k_l2": 128, "tile_k_l1": 32, "tile_n": 128}
    assert (figure(one, "gflops").value, figure(one, "gflops").bold) == (3100, True)
    assert (one.glyph, one.used_by) == ("✅", "Tiny-1B Q proj (square)")


def test_a_herd_in_a_tile_cell_overrides(adopted: Adoption) -> None:
    one = claim(adopted, GEMM, "| 64×720×960", "drain")
    assert (one.tile["tile_m"], one.herd) == (16, (4, 3))
    assert not one.notes


def test_a_daggered_figure_brings_its_footnote(adopted: Adoption) -> None:
    one = claim(adopted, GEMM, "2900†", "fused-cast")
    assert figure(one, "gflops").mark == "†"
    assert one.notes == (("†", "The figure is carried over from another row."),)
    assert one.inherited


def test_one_line_of_the_pivoted_table_speaks_for_each_method_with_a_value(
    adopted: Adoption,
) -> None:
    at = line_of(INDEX, "| 1024×2048×1024 |")
    found = {one.variant: one for one in adopted.claims if (one.file, one.line) == (INDEX, at)}
    assert list(found) == ["fused-cast", "drain"]
    assert figure(found["drain"], "gflops").value == 2500
    # The high tier has two methods here: its accuracy is of one of them, nobody knows which.
    assert all(figure(one, "mean_rel_L1").shared for one in found.values())
    assert (found["fused-cast"].bold, found["drain"].bold) == (True, False)


def test_what_a_line_gives_once_is_shared_by_its_methods(tmp_path: Path) -> None:
    index = (
        FILES[INDEX]
        + "\n## GEMM (f32 out) — tested shapes\n\nSee details/GEMM_bf16_in_fp32_out.md."
    )
    index += (
        "\n\n| (M×K×N) | best tile (m/kl2/kl1/n) | external GFLOPS | direct GFLOPS | mean_rel_L1 |"
    )
    index += "\n|---|---|---|---|---|\n| 512×512×512 | 32/256/32/128 | 1800 | 1500 | 9.3e-3 |\n"
    index += "| 512×512×256 | 32/256/32/64 | 1700 | — | 9.4e-3 |\n"
    adopted = read(tmp_path, {INDEX: index})
    of_both = [
        row.claims[0]
        for row in adopted.rows
        if row.key[:2] == ("GEMM_bf16_in_fp32_out", (512, 512, 512))
    ]
    assert [one.tile["tile_n"] for one in of_both] == [128, 128]
    assert [figure(one, "mean_rel_L1").shared for one in of_both] == [True, True]
    alone = adopted.row("GEMM_bf16_in_fp32_out", (512, 512, 256), "external")
    assert alone is not None
    assert not figure(alone.claims[0], "mean_rel_L1").shared
    assert adopted.row("GEMM_bf16_in_fp32_out", (512, 512, 256), "direct") is None


def test_a_tile_where_a_number_belongs_is_a_tile(adopted: Adoption) -> None:
    one = claim(adopted, INDEX, "fused-cast (m64/k256/n128)", "fused-cast")
    assert one.tile == {"tile_m": 64, "tile_k_l2": 256, "tile_n": 128}
    assert one.quantity("gflops") is None
    assert one.bold


def test_another_error_figure_in_the_accuracy_column_keeps_its_name(adopted: Adoption) -> None:
    one = claim(adopted, INDEX, "max_abs 1.22e-3", "fused-cast")
    assert (figure(one, "max_abs").value, figure(one, "max_abs").misplaced) == (1.22e-3, True)
    assert one.quantity("mean_rel_L1") is None


def test_a_hint_about_another_method_belongs_to_that_one(adopted: Adoption) -> None:
    found = claim(adopted, INDEX, "(drain n64)", "drain")
    assert (found.tile, found.quantity("gflops")) == ({"tile_n": 64}, None)
    direct = claim(adopted, INDEX, "(drain n64)", "direct")
    assert direct.tile == {"tile_n": 64, "tile_k_l2": 128}
    assert figure(direct, "mean_rel_L1").value == 1.31e-2


def test_a_warning_sign_in_a_number_column_is_the_cell_s_glyph(adopted: Adoption) -> None:
    one = claim(adopted, INDEX, "(drain n64)", "fused-cast")
    assert (one.cell_glyph, one.glyph, one.quantities) == ("⚠️", "⚠️", ())


def test_units_and_ranges_end_in_one_unit(adopted: Adoption) -> None:
    one = claim(adopted, ATTENTION, "4.0–4.4 ms")
    latency = figure(one, "latency_us")
    assert (latency.low, latency.high, latency.value) == (4000, 4400, 4200)
    assert one.shape["causal"] == 1
    assert figure(claim(adopted, GEMV, "0.4 ms"), "latency_us").value == 400


def test_a_size_written_twice_is_read_once(adopted: Adoption) -> None:
    assert claim(adopted, ADD, "| 1048576").layout == "1024×1024"
    index = claim(adopted, INDEX, "1966080")
    assert (index.shape, index.layout, index.notes) == ({"N": 1966080}, "2048×960", ())
    assert index.used_by == "Tiny-1B residual, seq·emb"


def test_a_cell_with_bare_pipes_is_read_as_meant_and_marked(adopted: Adoption) -> None:
    table = next(table for table in adopted.tables if table.kind == "accuracy")
    row = table.rows[0]
    assert row.cells[1] == "3.91e-2"
    assert row.shown is not None
    assert row.shown[1] == "o−ref"
    (found,) = [one for one in adopted.claims if one.kind == "accuracy"]
    assert (found.shape["num_kv_heads"], figure(found, "mean_rel_L1").value) == (4, 3.91e-2)
    assert found.shifted


def test_a_bare_pipe_among_words_does_not_move_the_numbers(tmp_path: Path) -> None:
    changes = edited(GEMV, "coverage", "coverage of a|b and c")
    found = claim(read(tmp_path, changes), GEMV, "4096×1024")
    assert (found.used_by, found.glyph, found.shifted) == ("coverage of a|b and c", "✅", True)
    assert figure(found, "max_abs").value == 0.125


def test_a_sweep_makes_no_rows_but_finds_its_shape(adopted: Adoption) -> None:
    assert adopted.row(GEMM_KERNEL, (1024, 2048, 1024), None) is None
    row = adopted.row(GEMM_KERNEL, (1024, 2048, 1024), "drain")
    assert row is not None
    assert [line.glyph for line in row.sweeps] == ["✅", "❌"]


def test_the_page_s_own_recommendations_are_known(adopted: Adoption) -> None:
    assert adopted.defaults["FlashAttention_bf16"]["tile.lqp"] == 256
    # `128 or less` is one number with words about it; `256–512` would be none.
    assert adopted.defaults[GEMM_KERNEL] == {"tile.tile_k_l1": 32, "tile.tile_n": 128}


# --- what older states and other registries do ---------------------------------------------------


def test_tables_under_one_heading_may_have_headings_of_their_own_in_bold(tmp_path: Path) -> None:
    table = """
| seq | (M×K×N) | fused-cast | drain | direct | best tile (m/kl2/kl1/n) (herd) | mean_rel_L1 (high / low) | Status |
|---|---|---|---|---|---|---|---|
| 64 | 64×{k}×2304 | 450 | **950** | ❌ | 32/128/32/96 (2×4) | 9.4e-3 / 1.1e-2 | ✅ |
"""  # noqa: E501
    more = f"\n### A study\n\n**`up`** — K = 768\n{table.format(k=768)}"
    more += f"\n**`down`** — K = 1536\n{table.format(k=1536)}"
    adopted = read(tmp_path, {GEMM: FILES[GEMM].replace("## Why", f"{more}\n## Why")})
    row = adopted.row(GEMM_KERNEL, (64, 768, 2304), "drain")
    other = adopted.row(GEMM_KERNEL, (64, 768, 2304), "fused-cast")
    failed = adopted.row(GEMM_KERNEL, (64, 768, 2304), "direct")
    assert row is not None
    assert other is not None
    assert failed is not None
    # The tile is that of the best method, which is bold; the other one's is not said.
    assert (row.tile()["tile_m"], row.herd()) == (32, (2, 4))
    assert other.tile() == {}
    assert failed.claims[0].cell_glyph == "❌"
    assert adopted.row(GEMM_KERNEL, (64, 1536, 2304), "drain") is not None


def test_a_page_of_a_whole_family_is_divided_by_its_headings(tmp_path: Path) -> None:
    head = "| (M, K, N) | tile (m/kl2/kl1/n) | latency | GFLOPS | Used by | Status |\n"
    rule = "|---|---|---|---|---|---|\n"
    row = "| 512×512×512 | 32/256/32/128 | 0.1{} ms | 1{}00 | K-sweep | ✅ |\n"
    page = "# GEMM\n\n## Tested shapes\n"
    for at, title in enumerate(
        ("EXTERNAL (non-direct), f32 out", "DIRECT codegen, f32 out", "DIRECT codegen, bf16 out")
    ):
        page += f"\n### {title}\n\n{head}{rule}{row.format(at, at)}"
    index = "# Kernels\n\n## GEMM — tested shapes\n\nThe fastest (external) path; see "
    index += "[`details/GEMM_bf16.md`](details/GEMM_bf16.md).\n\n"
    index += "| (M×K×N) | GFLOPS | Status |\n|---|---|---|\n| 512×512×512 | 1000 | ✅ |\n"
    left_out = dict.fromkeys(FILES, None)
    adopted = read(tmp_path, {**left_out, "details/GEMM_bf16.md": page, INDEX: index})
    assert [(row.kernel, row.variant, len(row.claims)) for row in adopted.rows] == [
        ("GEMM_bf16_in_fp32_out", "external", 2),
        ("GEMM_bf16_in_fp32_out", "direct", 1),
        (GEMM_KERNEL, "direct", 1),
    ]


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(
    adopted: Adoption, tmp_path: Path
) -> None:
    changes = {
        name: b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() for name, text in FILES.items()
    }
    assert read(tmp_path, changes).claims == adopted.claims


def test_a_kernel_can_be_left_out(tmp_path: Path) -> None:
    rows = read(tmp_path, without=("GEMV_bf16",)).rows
    assert rows
    assert all(row.kernel != "GEMV_bf16" for row in rows)


def test_an_unknown_column_can_be_explained(tmp_path: Path) -> None:
    changes = edited(ADD, "| abs_err max |", "| ULPs |")
    adopted = read(tmp_path, changes, {"ULPs": "notes"})
    assert claim(adopted, ADD, "| 1048576").notes == (("ULPs", "3.1e-2"),)
    adopted = read(tmp_path, changes, {"ULPs": "max_abs"})
    assert figure(claim(adopted, ADD, "| 1048576"), "max_abs").value == 3.1e-2


# --- what is refused, with file and line ---------------------------------------------------------

SECOND = "\n\n| (M, K) | latency | Status |\n|---|---|---|\n| 64×64 | 9 µs | ✅ |\n"
NARROW = FILES[GEMV].replace("| latency ", "", 1).replace("|---|", "|", 1)
LINK = "See [`details/GEMV_bf16.md`](details/GEMV_bf16.md)."
REFUSED: dict[str, tuple[dict[str, str | bytes | None], str, int, str]] = {
    "an unknown column": (
        edited(ADD, "| abs_err max |", "| ULPs |"),
        ADD,
        line_of(ADD, "abs_err max"),
        "'ULPs' is not known",
    ),
    "two columns of one kind": (
        edited(ADD, "| abs_err max |", "| mean_rel_L1 |"),
        ADD,
        line_of(ADD, "abs_err max"),
        "say the same thing",
    ),
    "an empty header cell": (
        edited(ADD, "| bandwidth |", "| |"),
        ADD,
        line_of(ADD, "bandwidth"),
        "has no heading",
    ),
    "a missing header cell": (
        edited(ADD, "| bandwidth |", "|"),
        ADD,
        line_of(ADD, "bandwidth"),
        "the header has 7 cells and the line below it 8",
    ),
    "a column missing above and below": (
        {GEMV: NARROW},
        GEMV,
        line_of(GEMV, "latency"),
        "the header has 8 cells and every row 9",
    ),
    "the same with a single row": (
        {GEMV: NARROW[: NARROW.index("| 4096")]},
        GEMV,
        line_of(GEMV, "| 1024×1024"),
        "the row has 9 cells and the header 8",
    ),
    "a missing dim": (
        edited(ATTENTION, "| causal |", "| masked |"),
        ATTENTION,
        line_of(ATTENTION, "heads q/kv"),
        "without a column for causal",
    ),
    "two tables under one heading": (
        {GEMV: FILES[GEMV] + SECOND},
        GEMV,
        FILES[GEMV].count("\n") + 3,
        "a second table of tested shapes",
    ),
    "a table without a method": (
        edited(GEMM, "### high-precision, `--method drain`", "### another one"),
        GEMM,
        line_of(GEMM, "--method drain") + 2,
        "name no method",
    ),
    "a page cut off in a row": (
        {GEMV: FILES[GEMV][: FILES[GEMV].index("| 1.25e-1")]},
        GEMV,
        line_of(GEMV, "1.25e-1"),
        "truncated",
    ),
    "a page cut off at a cell's end": (
        {GEMV: FILES[GEMV][: FILES[GEMV].index("1.25e-1")]},
        GEMV,
        line_of(GEMV, "1.25e-1"),
        "does not end with the end of a line",
    ),
    "a page cut off in prose": (
        {GEMM: FILES[GEMM][: FILES[GEMM].index("is carried over")]},
        GEMM,
        line_of(GEMM, "is carried over"),
        "does not end with the end of a line",
    ),
    "a page cut off at the end of a line": (
        {GEMV: FILES[GEMV][: FILES[GEMV].index("| 1024×1024")]},
        GEMV,
        line_of(GEMV, "latency"),
        "a header and no row",
    ),
    "a page cut off before its table": (
        {GEMV: FILES[GEMV][: FILES[GEMV].index("| (M, K)")]},
        GEMV,
        line_of(GEMV, "## Tested shapes"),
        "a heading and nothing under it",
    ),
    "a page cut off in a header": (
        {GEMV: FILES[GEMV][: FILES[GEMV].index("| 1024×1024")].rstrip()},
        GEMV,
        line_of(GEMV, "|---"),
        "does not end with the end of a line",
    ),
    "a page cut off in code": (
        {GEMV: FILES[GEMV] + "\n```bash\nmake"},
        GEMV,
        FILES[GEMV].count("\n") + 2,
        "code fence",
    ),
    "a page cut off in a character": (
        {GEMV: FILES[GEMV].encode()[: FILES[GEMV].encode().rindex("✅".encode()) + 1]},
        GEMV,
        line_of(GEMV, "4096×1024"),
        "inside a character",
    ),
    "an empty page": ({GEMV: ""}, GEMV, 1, "empty"),
    "Windows-1252": (
        {GEMV: FILES[GEMV].replace("✅", "ok").replace("×", "x").encode("cp1252")},
        GEMV,
        line_of(GEMV, "µs"),
        "not UTF-8",
    ),
    "UTF-16": ({GEMV: FILES[GEMV].encode("utf-16")}, GEMV, 1, "UTF-16"),
    "a NUL": (edited(GEMV, "coverage", "cov\0erage"), GEMV, line_of(GEMV, "coverage"), "NUL"),
    "a shape that is none": (
        edited(GEMV, "| 4096×1024", "| 4096×wide"),
        GEMV,
        line_of(GEMV, "4096×1024"),
        "is no size of M, K",
    ),
    "a tile of another length": (
        edited(GEMV, "8/16/4", "8/16"),
        GEMV,
        line_of(GEMV, "8/16/4"),
        "is not herd_m/tile_m/m_input",
    ),
    "a table without the line below its header": (
        {GEMV: "".join(re.split(r"\|---.*\n", FILES[GEMV]))},
        GEMV,
        line_of(GEMV, "latency"),
        "GitHub shows none",
    ),
    "a table without its header": (
        {GEMV: re.sub(r"\| \(M, K\).*\n", "", FILES[GEMV])},
        GEMV,
        line_of(GEMV, "latency"),
        "GitHub shows none",
    ),
    "a tile of nothing": (
        edited(GEMV, "8/16/4", "8/0/4"),
        GEMV,
        line_of(GEMV, "8/16/4"),
        "is not herd_m/tile_m/m_input",
    ),
    "a row with cells missing": (
        edited(GEMV, "| coverage | ✅ |", "| ✅ |"),
        GEMV,
        line_of(GEMV, "coverage"),
        "the row has 8 cells",
    ),
    "an index table of no kernel": (
        {INDEX: FILES[INDEX].replace("## GEMV — ", "## Products — ").replace(LINK, "")},
        INDEX,
        line_of(INDEX, "(herd_m/tile_m/m_input)"),
        "which kernel",
    ),
    "kernels without a spec": (
        {"details/Conv_bf16.md": "# c\n", "details/Gather_bf16.md": "# g\n"},
        "details/Conv_bf16.md",
        1,
        "no kernel spec for Conv_bf16, Gather_bf16",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_for_certain_is_refused(case: str, tmp_path: Path) -> None:
    changes, file, line, words = REFUSED[case]
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, changes)
    assert (caught.value.path, caught.value.line) == (tmp_path / file, line)
    assert caught.value.fix


def test_a_folder_that_is_no_registry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=INDEX):
        read(tmp_path, {INDEX: None})


def test_all_unknown_columns_are_named_at_once(tmp_path: Path) -> None:
    changes = {
        **edited(GEMV, "| rel_err max | abs_err max |", "| spice | abs_err max |"),
        ADD: FILES[ADD]
        .replace("| (as 2-D) |", "| colour |")
        .replace("| abs_err max |", "| salt |"),
    }
    with pytest.raises(InputError) as caught:
        read(tmp_path, changes)
    said = str(caught.value)
    for file, title, old in (
        (GEMV, "spice", "latency"),
        (ADD, "colour", "latency"),
        (ADD, "salt", "latency"),
    ):
        assert f"{tmp_path / file}:{line_of(file, old)}: '{title}'" in said
    assert "--column 'colour'=notes --column 'salt'=notes --column 'spice'=notes" in said


@pytest.mark.parametrize(
    ("short", "meant"),
    [
        ("BW", "gbps"),
        ("L1", "mean_rel_L1"),
        ("rel L1", "mean_rel_L1"),
        ("lat", "latency_us"),
        ("lat.", "latency_us"),
        ("runtime", "latency_us"),
        ("perf", "gbps"),
        ("GF/s", "gflops"),
        ("max abs err", "max_abs"),
        ("max. rel.", "max_rel"),
        ("used", "used_by"),
        ("ok?", "status"),
    ],
)
def test_short_headings_are_known(short: str, meant: str) -> None:
    (column,) = columns.read([short], Words(catalog.built_in()["RMSNorm_bf16"]))
    assert column.role == meant


def test_a_page_cut_between_rows_is_shown_by_the_json(tmp_path: Path) -> None:
    page = FILES[GEMM]
    cut = page[: page.index("| 1024×2048×512 | 64/256")]
    cut = "\n".join(line for line in cut.split("\n"))
    with pytest.raises(InputError, match="may be truncated") as caught:
        read(tmp_path, {GEMM: cut})
    assert caught.value.path == tmp_path / GEMM
    assert caught.value.line == cut.count("\n")
    assert f"echo >> {tmp_path / GEMM}" in str(caught.value.fix)
    # An empty line behind the table says that it is whole.
    read(tmp_path / "whole", {GEMM: cut + "\n"})


def test_a_page_that_ends_with_its_table_and_misses_nothing_is_read(tmp_path: Path) -> None:
    assert FILES[GEMV].endswith("|\n")
    read(tmp_path)


def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path.name == "GEMV_bf16.md":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match="Permission denied") as caught:
        read(tmp_path)
    assert caught.value.path == tmp_path / GEMV
    assert "chmod" in str(caught.value.fix)


def test_a_control_character_in_a_row_is_refused_as_no_layout_can_keep_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"U\+000C.*\n.*tr -d") as caught:
        read(tmp_path, edited(GEMV, "coverage", "cover\x0cage"))
    assert caught.value.line is not None


def test_a_page_that_ends_in_half_a_crlf_is_cut_off(tmp_path: Path) -> None:
    page = FILES[GEMV].replace("\n", "\r\n")
    read(tmp_path / "whole", {GEMV: page.encode()})
    with pytest.raises(InputError, match="may be truncated"):
        read(tmp_path / "cut", {GEMV: page.removesuffix("\n").encode()})
