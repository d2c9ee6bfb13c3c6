"""Pages in columns of their own: what a layout says, and what render and check make of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.adoption.mark_written import form_of
from registry_tool.cli import main
from registry_tool.errors import RegistryError
from registry_tool.records import canonical
from registry_tool.records.layout import (
    CellLayout,
    ColumnLayout,
    Layout,
    LineLayout,
    TableLayout,
)
from registry_tool.records.record import Record, Use, Waiver
from registry_tool.tables import document, layout, layout_template, rows
from registry_tool.tables.layout import Kernel
from registry_tool.tables.layout_files import file_of, page_of
from registry_tool.tables.layout_template import literal, place, places
from registry_tool.tables.layout_values import figure, written
from registry_tool.tables.read import read_tables
from registry_tool.tables.readback import project_layout, shown
from tests.tables.samples import GEMM, by_id, gemm_records, record, write_registry

PAGE = "details/GEMM_bf16_in_bf16_out.md"
FILE = "layouts/GEMM_bf16_in_bf16_out.json"
DOWN, SMALL = "2048x8192x2048", "512x512x512"


def column(title: str, cell: str, bold: str | None = None) -> ColumnLayout:
    return ColumnLayout(title=title, cell=cell, bold=bold)  # type: ignore[arg-type]


SHAPE = column("Shape", "{M}×{K}×{N}")
METHOD = column("Method", "{variant}")
SPEED = column("GFLOP/s", "{gflops:.0f}")
ERROR = column("error", "{mean_rel_L1:.1e}")
STATUS = column("Status", "{status} {used_by}")


def table(*columns: ColumnLayout, **fields: Any) -> TableLayout:
    given: dict[str, Any] = {
        "region": "shapes",
        "lines_of": "row",
        "kernel": GEMM.kernel,
        "variants": [],
        "new_lines": True,
        "lines": [],
    }
    return TableLayout(columns=list(columns), **{**given, **fields})


def cells(one: TableLayout, records: list[Record]) -> list[list[str]]:
    kernels = {GEMM.kernel: Kernel(GEMM, rows.rows(GEMM, "hardware", records))}
    return layout.assembled(one, kernels).cells


def line(row: str | None, **own: CellLayout) -> LineLayout:
    return LineLayout(row=row, cells=own)


def changed(row: str, **fields: Any) -> list[Record]:
    """The sample rows, one of them with other values."""
    return [
        msgspec.structs.replace(one, **fields) if name.key == row else one
        for name, one in by_id(gemm_records()).items()
    ]


# --- lines -----------------------------------------------------------------------------------


def test_named_lines_keep_their_order_and_others_follow_in_that_of_the_kernel() -> None:
    first = [line(f"{DOWN}+drain"), line(f"{SMALL}+drain")]
    found = cells(table(SHAPE, METHOD, lines=first), gemm_records())
    assert found == [
        ["2048×8192×2048", "drain"],
        ["512×512×512", "drain"],
        ["512×512×512", "fused-cast"],
        ["2048×8192×2048", "direct"],
        ["2048×8192×2048", "fused-cast"],
    ]


def test_a_table_of_some_variants_shows_no_others() -> None:
    found = cells(table(SHAPE, METHOD, variants=["direct"]), gemm_records())
    assert found == [["2048×8192×2048", "direct"]]


def test_a_table_that_takes_no_new_lines_shows_what_it_names() -> None:
    one = table(SHAPE, METHOD, lines=[line(f"{SMALL}+drain")], new_lines=False)
    assert cells(one, gemm_records()) == [["512×512×512", "drain"]]


def test_the_line_of_a_row_that_is_gone_goes_too() -> None:
    one = table(SHAPE, METHOD, lines=[line("1x2x3+drain"), line(f"{SMALL}+drain")], new_lines=False)
    assert cells(one, gemm_records()) == [["512×512×512", "drain"]]


def test_a_line_of_words_stays() -> None:
    words = line(None, Shape=CellLayout(text="*and more*"))
    one = table(SHAPE, METHOD, lines=[words, line(f"{SMALL}+drain")], new_lines=False)
    assert cells(one, gemm_records()) == [["*and more*", ""], ["512×512×512", "drain"]]


PIVOT = (
    SHAPE,
    column("fused", "{fused-cast.gflops:.0f}"),
    column("drain", "{drain.gflops:.0f}"),
    column("low", "{direct.gflops:.0f}"),
    column("error", "{high.mean_rel_L1:.1e} / {low.mean_rel_L1:.1e}"),
)


def test_one_line_shows_the_variants_of_a_shape() -> None:
    assert cells(table(*PIVOT, lines_of="shape"), gemm_records()) == [
        ["512×512×512", "482", "1703", "—", "9.7e-3 / —"],
        ["2048×8192×2048", "8898", "7234", "9592", "9.4e-3 / 1.9e-2"],
    ]


def test_a_line_of_a_kernel_shows_its_fastest_row() -> None:
    one = table(
        column("Kernel", "{title}"),
        column("Best", "{speed:.0f} {unit} ({setting})"),
        lines_of="kernel",
        kernel=None,
    )
    assert cells(one, gemm_records()) == [
        [GEMM.title, "9592 GFLOP/s (direct, 2048×8192×2048, herd 8×4)"]
    ]


BEST = {
    "of": {"shape": "512×512×512", "variant": "drain"},
    "text": "**{speed:.0f} GFLOP/s** (small, {shape}, stock herd)",
}


def test_of_rows_that_are_equally_fast_a_line_keeps_the_one_that_its_words_are_about() -> None:
    one = table(
        column("Best", "{speed:.0f} ({setting})"),
        lines_of="kernel",
        kernel=None,
        lines=[line(GEMM.kernel, Best=CellLayout(**BEST))],  # type: ignore[arg-type]
    )
    [small] = [r for r in gemm_records() if r.shape["M"] == 512 and r.variant == "drain"]
    assert small.performance is not None
    tied = msgspec.structs.replace(small.performance, gflops=9592.0)
    found = cells(one, changed(f"{SMALL}+drain", performance=tied))
    assert found == [["**9592 GFLOP/s** (small, 512×512×512, stock herd)"]]
    # A little slower is no tie: the words were true of a row that is not the best.
    slower = msgspec.structs.replace(small.performance, gflops=9591.9)
    found = cells(one, changed(f"{SMALL}+drain", performance=slower))
    assert found == [["9592 (direct, 2048×8192×2048, herd 8×4)"]]
    # Nor is one that a run disproved.
    failed = msgspec.structs.replace(small.verdict, status="fail")
    found = cells(one, changed(f"{SMALL}+drain", performance=tied, verdict=failed))
    assert found == [["9592 (direct, 2048×8192×2048, herd 8×4)"]]


# --- cells -----------------------------------------------------------------------------------


def test_a_wording_holds_while_the_row_says_what_it_was_written_for() -> None:
    own = CellLayout(text="1.7 TFLOP/s", of={"gflops": 1703.4})
    one = table(METHOD, SPEED, lines=[line(f"{SMALL}+drain", **{"GFLOP/s": own})], new_lines=False)
    assert cells(one, gemm_records()) == [["drain", "1.7 TFLOP/s"]]
    [now] = [r for r in gemm_records() if r.shape["M"] == 512 and r.variant == "drain"]
    assert now.performance is not None
    faster = msgspec.structs.replace(now.performance, gflops=1800.0)
    assert cells(one, changed(f"{SMALL}+drain", performance=faster)) == [["drain", "1800"]]


def test_users_who_come_later_are_added_to_a_wording() -> None:
    own = CellLayout(text="{status} Down (Llama)", used_by=["Llama-3.2-1B prefill Down", "Toy a|b"])
    one = table(STATUS, lines=[line(f"{DOWN}+fused-cast", Status=own)], new_lines=False)
    assert cells(one, gemm_records()) == [["✅ Down (Llama)"]]
    uses = gemm_records()[0].used_by
    more = changed(f"{DOWN}+fused-cast", used_by=[*uses, Use(model="Foo", site="Down")])
    assert cells(one, more) == [["✅ Down (Llama) + Foo Down"]]
    fewer = changed(f"{DOWN}+fused-cast", used_by=uses[:1])
    assert cells(one, fewer) == [["✅ Llama-3.2-1B prefill Down"]]


def test_a_figure_that_was_inherited_has_a_dagger() -> None:
    one = table(SPEED, ERROR, lines=[line(f"{SMALL}+drain")], new_lines=False)
    told = {"performance": "inherited from another row", "tile": "as the page recommends"}
    assert cells(one, changed(f"{SMALL}+drain", provenance=told)) == [["1703†", "9.7e-3"]]


def test_a_herd_of_its_own_is_shown_beside_the_tile_and_no_other() -> None:
    one = table(
        column("tile", "{tile_m}/{tile_n} {other_herd}"),
        lines=[line(f"{SMALL}+drain"), line(f"{DOWN}+drain")],
        new_lines=False,
    )
    assert cells(one, gemm_records()) == [["64/128 (herd 4×4)"], ["64/128"]]


def imported(**fields: Any) -> list[Record]:
    link = gemm_records()[0].verdict
    marked = msgspec.structs.replace(link, status="unverified", kind="imported")
    return changed(f"{SMALL}+drain", verdict=marked, **fields)


def test_an_imported_row_has_the_mark_that_its_page_gave_it() -> None:
    one = table(STATUS, lines=[line(f"{SMALL}+drain")], new_lines=False)
    assert cells(one, imported(provenance={"status": "✅ a.md:3, b.md:4"})) == [["✅"]]
    assert cells(one, imported(provenance={"status": "⚠️ b.md:4"})) == [["⚠️"]]
    assert cells(one, imported()) == [["⚠️ unverified imported"]]


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"provenance": {"status": "✅ a.md:3", "caveats": "failing"}}, ": failing"),
        ({"provenance": {"status": "✅ a.md:3"}, "notes": ["the gate fails here"]}, ": failing"),
        ({"provenance": {"status": "✅ a.md:3"}, "performance": None}, ": untimed"),
        ({"provenance": {"status": "✅ a.md:3; ⚠️ b.md:4"}}, ""),
        ({"provenance": {"status": "⚠️ b.md:4; ✅ a.md:3"}}, None),
    ],
)
def test_a_mark_of_another_page_is_no_pass_where_something_is_known_against_the_row(
    fields: dict[str, Any], shown: str | None
) -> None:
    one = table(STATUS, lines=[line(f"{SMALL}+drain")], new_lines=False)
    wanted = "⚠️" if shown is None else f"⚠️ unverified imported{shown}"
    assert cells(one, imported(**fields)) == [[wanted]]
    # What the page itself wrote in this cell stays.
    own = CellLayout(text="{status:✅} sic")
    one = table(STATUS, lines=[line(f"{SMALL}+drain", Status=own)], new_lines=False)
    assert cells(one, imported(**fields)) == [["✅ sic"]]


def test_a_line_of_a_shape_says_which_of_its_other_rows_fails() -> None:
    [known] = [r for r in gemm_records() if r.shape["M"] == 512 and r.variant == "drain"]
    link = msgspec.structs.replace(known.verdict, status="unverified", kind="imported")
    good = {"status": "✅ a.md:3"}
    notes = {"fused-cast": {**good, "caveats": "failing, contradicted"}, "drain": good}
    records = [
        msgspec.structs.replace(one, verdict=link, provenance=notes[one.variant or ""])
        for one in gemm_records()
        if one.shape["M"] == 512
    ]
    [[shown]] = cells(table(column("Status", "{status}"), lines_of="shape"), records)
    assert shown == "⚠️ unverified imported: fused-cast failing, fused-cast contradicted"
    [[shown]] = cells(table(column("Status", "{drain.status}"), lines_of="shape"), records)
    assert shown == "✅"


def test_a_table_may_give_an_imported_row_another_mark_and_no_other_row() -> None:
    own = CellLayout(text="{status:⚠️} see below")
    one = table(STATUS, lines=[line(f"{SMALL}+drain", Status=own)], new_lines=False)
    assert cells(one, imported(provenance={"status": "✅ a.md:3"})) == [["⚠️ see below"]]
    assert cells(one, gemm_records()) == [["✅ see below"]]


def test_a_waiver_shows_whatever_mark_the_page_gave() -> None:
    waiver = Waiver(
        rule="KR103",
        reason="atol artifact",
        by="A. Person",
        date="2026-08-01",
        expires="2027-01-31",
    )
    one = table(STATUS, lines=[line(f"{SMALL}+drain")], new_lines=False)
    found = cells(
        one,
        imported(provenance={"status": "✅ a.md:3"}, waivers=[waiver]),
    )
    assert found[0][0].startswith("⚠️")
    assert "atol artifact" in found[0][0]


BOLD = {
    "column": ["482", "1703", "**9592**", "7234", "8898"],
    "siblings": ["482", "**1703**", "9592", "7234", "**8898**"],
}


@pytest.mark.parametrize("rule", BOLD)
def test_bold_figures_follow_the_rule_of_their_column(rule: str) -> None:
    found = cells(table(column("GFLOP/s", "{gflops:.0f}", rule)), gemm_records())
    assert sorted(one for [one] in found) == sorted(BOLD[rule])


def test_bold_in_a_line_is_what_a_lookup_answers() -> None:
    one = table(*(column(c.title, c.cell, "line") for c in PIVOT[1:4]), lines_of="shape")
    assert cells(one, gemm_records()) == [
        ["482", "**1703**", "—"],
        ["**8898**", "7234", "9592"],
    ]


def test_a_value_that_no_row_has_is_named() -> None:
    with pytest.raises(RegistryError, match="gflopps"):
        cells(table(column("x", "{gflopps}")), gemm_records())
    with pytest.raises(RegistryError, match="known are"):
        written(1.5, "%d")
    with pytest.raises(RegistryError, match="stray"):
        places("{M")


def test_columns_of_one_heading_are_told_apart() -> None:
    own = {"x#2": CellLayout(text="two")}
    one = table(
        column("x", "{M}"),
        column("x", "{K}"),
        lines=[LineLayout(row=f"{SMALL}+drain", cells=own)],
        new_lines=False,
    )
    assert cells(one, gemm_records()) == [["512", "two"]]


# --- oracles ---------------------------------------------------------------------------------


@given(st.text())
def test_text_of_a_template_stands_for_itself(text: str) -> None:
    assert "".join(map(str, layout_template.parse(literal(text)))) == text


@given(
    st.text("abc_ -.", min_size=1).map(lambda text: f"a{text}"),
    st.none() | st.sampled_from([".1f", "s3", "yes|no", "⚠️"]),
    st.none() | st.sampled_from(["drain", "fused-cast", "high"]),
)
def test_a_place_reads_back(name: str, form: str | None, subject: str | None) -> None:
    name = name.replace(".", "")
    [found] = places(place(name, form, subject))
    assert (found.subject, found.name, found.form) == (subject, name, form)


FORMS = st.sampled_from([".0f", ".1f", ".2f", ",.0f", ".0e", ".1e", ".2e", ".1e+"])


@given(st.floats(1e-9, 1e9), FORMS)
def test_a_figure_tells_the_format_that_it_is_written_in(value: float, form: str) -> None:
    text = figure(value, form)
    found = form_of(text)
    assert found is not None
    assert figure(value, found) == text


@given(st.floats(1e-9, 999.0), st.sampled_from([".1f", ".3e", "s4"]))
def test_a_figure_is_off_by_half_a_unit_at_the_most(value: float, form: str) -> None:
    text = figure(value, form)
    digits = text.partition("e")[0].partition(".")[2]
    unit = float(f"1e{int(text.partition('e')[2] or 0) - len(digits)}")
    assert abs(float(text) - value) <= unit / 2 * (1 + 1e-6)


def test_half_is_rounded_up_as_people_do() -> None:
    assert figure(0.0135, ".1e") == "1.4e-2"
    assert figure(2.5, ".0f") == "3"
    assert figure(0.0, ".1e") == "0.0"
    assert figure(0.73, "s3") == "0.730"
    assert figure(39.64, "s3") == "39.6"
    assert figure(12345.0, ",.0f") == "12,345"


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)


@given(WORDS, WORDS)
def test_what_is_written_reads_back_whatever_people_write(user: str, note: str) -> None:
    noted = record(
        GEMM, (64, 64, 64), "drain", 100.0, used_by=[(f"m{user}", "s")], notes=[f"n{note}"]
    )
    one = table(SHAPE, column("Used | by", "{used_by}"), column("Notes", "{notes}"), SPEED)
    page = Layout(page=PAGE, tables=[one])
    kernels = {GEMM.kernel: Kernel(GEMM, rows.rows(GEMM, "hardware", [noted]))}
    data = document.splice(layout.blank(page), layout.page(page, kernels), PAGE)
    [read] = read_tables(data)
    assert shown(read) == project_layout(page, kernels)["shapes"]
    assert read.header[1] == "Used | by"


# --- through the commands --------------------------------------------------------------------


def write(root: Path, one: Layout) -> None:
    path = root / file_of(one.page)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(canonical.encode(one))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A registry in git whose GEMM page has columns of its own."""
    write_registry(tmp_path, gemm_records())
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    write(tmp_path, Layout(page=PAGE, tables=[table(SHAPE, METHOD, SPEED, STATUS)]))
    assert main(["render", "--registry", str(tmp_path), "--quiet"]) == 0
    return tmp_path


def findings(root: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """Rule and path of what `check` finds about pages and layouts."""
    capsys.readouterr()
    main(["check", "--registry", str(root), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [
        (one["rule"], one["path"])
        for one in found
        if one["path"].startswith(("layouts/", "details/", "supported"))
    ]


def test_a_page_that_is_not_there_is_made_with_its_regions(root: Path) -> None:
    text = (root / PAGE).read_text("utf-8")
    assert "| Shape | Method | GFLOP/s | Status |" in text
    assert text.count("<!-- registry:begin shapes -->") == 1


def test_render_twice_changes_nothing_and_check_is_content(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["render", "--registry", str(root), "--check"]) == 0
    assert findings(root, capsys) == []
    assert findings(root, capsys) == []


def test_a_changed_row_makes_its_page_stale(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(root, capsys) == []
    name, one = next(iter(by_id(gemm_records()).items()))
    path = root / name.record_path
    path.write_bytes(canonical.encode(msgspec.structs.replace(one, used_by=[])))
    assert ("KR301", PAGE) in findings(root, capsys)


def test_a_changed_layout_makes_its_page_stale(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert findings(root, capsys) == []
    write(root, Layout(page=PAGE, tables=[table(SHAPE, SPEED)]))
    assert findings(root, capsys) == [("KR301", PAGE)]
    assert main(["render", "--registry", str(root), "--quiet"]) == 0
    assert findings(root, capsys) == []


def test_a_page_whose_layout_is_gone_is_one_of_the_spec_again(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / FILE).unlink()
    # Without any layout, every other kernel is to have a page too.
    found = findings(root, capsys)
    assert [one for one in found if "GEMM_bf16_in_bf16_out" in one[1]] == [("KR301", PAGE)]
    assert {rule for rule, _ in found} == {"KR301"}


def test_a_hand_edit_in_a_region_is_found(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / PAGE
    path.write_bytes(path.read_bytes().replace(b"8898", b"9999"))
    assert ("KR302", PAGE) in findings(root, capsys)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f'"page": "{PAGE}"', '"page": "details/GEMV_bf16.md"'),
        ('"cell": "{gflops:.0f}"', '"cell": "{gflopps:.0f}"'),
        (f'"kernel": "{GEMM.kernel}"', '"kernel": "GEMV_bf16"'),
        ('"lines": []', '"lines": [{"row": "1x1x1", "cells": {"No": {"text": ""}}}]'),
        ('"rule": "---"', '"rule": "==="'),
        ('"tables": [', '"tables": {['),
    ],
)
def test_a_broken_layout_is_named_by_check_and_refused_by_render(
    root: Path, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    path = root / FILE
    page = (root / PAGE).read_bytes()
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    found = findings(root, capsys)
    assert found
    assert {where for _, where in found} <= {FILE, PAGE}
    assert main(["render", "--registry", str(root)]) == 2
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert (root / PAGE).read_bytes() == page


def refused(root: Path, capsys: pytest.CaptureFixture[str], one: Layout) -> str:
    """What `check` says of a layout that it calls unusable; render must leave the page alone."""
    write(root, one)
    page = (root / PAGE).read_bytes()
    capsys.readouterr()
    assert main(["check", "--registry", str(root), "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    [finding] = [x for x in found if x["rule"] == "KR004" and x["path"] == FILE]
    assert main(["render", "--registry", str(root)]) == 2
    assert (root / PAGE).read_bytes() == page
    return str(finding["message"])


US = column("latency", "{latency_us:.0f} µs")


@pytest.mark.parametrize(
    "cell",
    [
        "24 µs",
        "9{latency_us:.0f} µs",
        "9.{latency_us:.0f} µs",
        "**9**{latency_us:.0f} µs",
        "{latency_us:.0f}9 µs",
        "{latency_us:.0f}e3 µs",
        "{latency_us:.0f}.5 µs",
        "{M}{latency_us:.0f} µs",
        "{latency_us:.0f}{M} µs",
        "{latency_us:24 µs|24 µs}",
        "{status:24 µs}",
        "{24} µs",
        "24 µs<!-- {latency_us:.0f} -->",
        "&#50;&#52; µs",
        "\uff12\uff14 µs",
        "{M} µs ({latency_us:.0f})",
        "{latency_us:.0f} ms",
        "{M - M + 24} µs",
        "{M - M + 24}",
    ],
)
def test_a_column_that_spells_a_figure_itself_makes_its_layout_unusable(
    root: Path, capsys: pytest.CaptureFixture[str], cell: str
) -> None:
    said = refused(root, capsys, Layout(page=PAGE, tables=[table(SHAPE, column("latency", cell))]))
    assert "'latency'" in said


@pytest.mark.parametrize("cell", ["{M}", "—", "{direct.gflops:.0f}", "{drain.gbps:.0f}"])
def test_a_column_shows_what_it_measures(
    root: Path, capsys: pytest.CaptureFixture[str], cell: str
) -> None:
    drain = ColumnLayout(title="drain", cell=cell, measures=["drain.gflops"])
    said = refused(root, capsys, Layout(page=PAGE, tables=[table(SHAPE, drain, lines_of="shape")]))
    assert "drain.gflops" in said


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("**9999**", {"drain.gflops": None}),
        ("— 9999", {"drain.gflops": None}),
        ("9999", {}),
        ("9999", {"drain.gflops": 1703.4}),
        ("9{drain.gflops:.0f}", {}),
        ("{M}", {"drain.gflops": 1703.4}),
        ("512", {"shape": "512×512×512"}),
        ("{drain.gflops:.0f} (9999)", {"shape": "512×512×512"}),
        ("1703 µs", {"drain.gflops": 1703.4}),
        ("1–9999", {"drain.gflops": 1703.4}),
        ("1800–1900", {"drain.gflops": 1703.4}),
        ("1,703.9", {"drain.gflops": 1703.4}),
    ],
)
@pytest.mark.parametrize("measures", [[], ["drain.gflops"]])
def test_a_wording_with_a_figure_of_nobody_makes_its_layout_unusable(
    root: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    of: dict[str, Any],
    measures: list[str],
) -> None:
    drain = ColumnLayout(title="drain", cell="{drain.gflops:.0f}", measures=measures)
    own = line(SMALL, drain=CellLayout(text=text, of=of))
    one = table(SHAPE, drain, lines_of="shape", lines=[own])
    said = refused(root, capsys, Layout(page=PAGE, tables=[one]))
    assert "'drain'" in said
    assert SMALL in said


def test_a_heading_that_names_a_measure_keeps_figures_of_nobody_out_of_its_cells(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = line(SMALL, **{"drain GFLOPS (n128)": CellLayout(text="9999")})
    named = column("drain GFLOPS (n128)", "—")
    said = refused(
        root, capsys, Layout(page=PAGE, tables=[table(SHAPE, named, lines_of="shape", lines=[own])])
    )
    assert "9999" in said


def test_words_of_people_may_hold_figures_where_nothing_is_measured(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = line(SMALL, Status=CellLayout(text="{status} 1.33x faster (135.6 vs 165.9 µs)"))
    write(root, Layout(page=PAGE, tables=[table(SHAPE, STATUS, lines_of="shape", lines=[own])]))
    assert main(["render", "--registry", str(root), "--quiet"]) == 0
    assert findings(root, capsys) == []


@pytest.mark.parametrize(
    ("text", "of"),
    [
        ("1703", {"drain.gflops": 1703.4}),
        ("~1,703", {"drain.gflops": 1703.4}),
        ("1.7 TFLOP/s", {"drain.gflops": 1703.4}),
        ("**1650–1750**", {"drain.gflops": 1703.4}),
        ("⚠️", {"drain.gflops": 1703.4}),
        ("— (drain n{drain.tile_n})", {"drain.gflops": None}),
        ("{drain.gflops:.0f} (512×512×512, bf16)", {"shape": "512×512×512"}),
        ("{drain.gflops:.2f} GFLOP/s", {}),
    ],
)
def test_a_wording_with_the_figures_that_it_names_is_used(
    root: Path, capsys: pytest.CaptureFixture[str], text: str, of: dict[str, Any]
) -> None:
    drain = ColumnLayout(title="drain", cell="{drain.gflops:.0f}", measures=["drain.gflops"])
    own = line(SMALL, drain=CellLayout(text=text, of=of))
    write(
        root,
        Layout(page=PAGE, tables=[table(SHAPE, drain, US, lines_of="shape", lines=[own])]),
    )
    assert main(["render", "--registry", str(root), "--quiet"]) == 0
    assert findings(root, capsys) == []


def test_a_dagger_stands_only_where_the_page_explains_it(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"performance": "inherited from another row"}
    for name, one in by_id(changed(f"{SMALL}+drain", provenance=told)).items():
        (root / name.record_path).write_bytes(canonical.encode(one))
    assert main(["render", "--registry", str(root), "--quiet"]) == 0
    text = (root / PAGE).read_text("utf-8")
    assert "| 1703 (inherited) |" in text
    (root / PAGE).write_text(text + "\n> † of another row\n", "utf-8")
    assert ("KR301", PAGE) in findings(root, capsys)
    assert main(["render", "--registry", str(root), "--quiet"]) == 0
    assert "| 1703† |" in (root / PAGE).read_text("utf-8")
    assert findings(root, capsys) == []
    assert main(["absorb", "--registry", str(root)]) == 0


def test_an_adopted_registry_gets_no_page_of_a_kernel_that_it_does_not_speak_of(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = root / "details/FFN_SwiGLU_bf16.md"
    assert main(["render", "--registry", str(root), "--quiet"]) == 0
    assert not silent.exists()
    assert not silent.with_suffix(".json").exists()
    assert findings(root, capsys) == []
    (root / FILE).unlink()
    assert main(["render", "--registry", str(root), "--force", "--quiet"]) == 0
    assert silent.exists()


def test_the_index_may_have_columns_of_its_own(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "supported_kernels.md").unlink()
    overview = table(
        column("Kernel", "{title}"),
        column("Best", "{speed:.0f} {unit}"),
        column("Status", "{status}"),
        region="kernels",
        lines_of="kernel",
        kernel=None,
    )
    shapes = table(*PIVOT, region="gemm", lines_of="shape")
    write(root, Layout(page="supported_kernels.md", tables=[overview, shapes]))
    assert main(["render", "--registry", str(root), "--quiet"]) == 0
    text = (root / "supported_kernels.md").read_text("utf-8")
    assert f"| {GEMM.title} | 9592 GFLOP/s | ✅ |" in text
    assert "| 512×512×512 | 482 | 1703 | — | 9.7e-3 / — |" in text
    assert findings(root, capsys) == []
    name = next(name for name in by_id(gemm_records()) if name.key == f"{SMALL}+drain")
    (root / name.record_path).unlink()
    assert ("KR301", "supported_kernels.md") in findings(root, capsys)


@pytest.mark.parametrize("page", [PAGE, "supported_kernels.md", "details/npu2-emu/GELU.v2.md"])
def test_a_layout_file_names_its_page(page: str) -> None:
    assert page_of(file_of(page)) == page
