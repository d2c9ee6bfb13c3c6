"""One row out of all places: which value a record takes, what becomes notes, and what is no row."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry_tool.adoption import imported, uses
from registry_tool.adoption.imported import Made
from registry_tool.adoption.model import Adoption
from registry_tool.records import canonical, catalog
from registry_tool.records.record import Record, Use
from registry_tool.records.verdict import Verdict
from tests.adoption.small import (
    ADD,
    ATTENTION,
    FILES,
    GEMM,
    GEMM_JSON,
    INDEX,
    edited,
    line_of,
    read,
)

MOMENT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc)
KERNEL = "GEMM_bf16_in_bf16_out"


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Adoption:
    return read(tmp_path_factory.mktemp("registry"))


def made_of(adopted: Adoption) -> dict[str, Made]:
    made, _ = imported.make(adopted, "npu2", MOMENT)
    return {str(one.row): one for one in made}


def record(adopted: Adoption, key: str, kernel: str = KERNEL) -> Record:
    return made_of(adopted)[f"npu2/{kernel}/{key}"].record


def test_one_row_for_a_kernel_a_shape_and_a_variant_with_every_claim(adopted: Adoption) -> None:
    row = adopted.row(KERNEL, (1024, 2048, 1024), "fused-cast")
    assert row is not None
    assert [one.place for one in row.claims] == ["details", "json", "index"]


def test_the_details_page_is_believed_before_json_and_index(tmp_path: Path) -> None:
    changes = edited(GEMM, "| **3100** |", "| **3200** |")
    changes |= edited(INDEX, "| **3100** | 2500", "| **3300** | 2500")
    found = record(read(tmp_path, changes), "1024x2048x1024+fused-cast")
    assert found.performance is not None
    assert found.performance.gflops == 3200
    # What the record does not hold is not lost.
    assert any("3100" in note for note in found.notes)
    assert any("3300" in note for note in found.notes)


def test_where_places_agree_the_one_with_more_digits_is_taken(adopted: Adoption) -> None:
    assert record(adopted, "1024x2048x1024+fused-cast").mean_rel_L1 == 0.00973
    assert record(adopted, "64x720x960+drain").mean_rel_L1 == 0.00939


def test_json_is_taken_where_the_page_has_no_such_row(adopted: Adoption) -> None:
    found = record(adopted, "2048x512x512+drain")
    assert (found.mean_rel_L1, found.performance) == (0.0095, None)


def test_a_shared_accuracy_is_only_taken_where_there_is_no_own_one(adopted: Adoption) -> None:
    assert record(adopted, "1024x2048x1024+drain").mean_rel_L1 == 0.0094


def test_the_other_error_figure_of_the_index_becomes_the_record_s(adopted: Adoption) -> None:
    found = record(adopted, "1024x2048x512+fused-cast")
    assert (found.max_abs, found.mean_rel_L1) == (1.22e-3, 0.0098)


def test_latency_is_computed_where_only_throughput_is_stated(adopted: Adoption) -> None:
    found = record(adopted, "64x720x960+drain")
    assert found.performance is not None
    assert found.performance.latency_us == pytest.approx(2 * 64 * 720 * 960 / 540 / 1e3, rel=1e-5)
    assert found.provenance["performance.latency_us"].startswith("computed")


def test_a_range_gives_its_middle_and_says_so(adopted: Adoption) -> None:
    found = record(adopted, "1024x1024x64x64x16x4x1", "FlashAttention_bf16")
    assert found.performance is not None
    assert (found.performance.latency_us, found.performance.gflops) == (4200, 1023.5)
    assert found.performance.spread == pytest.approx(0.09524)
    assert "4.0–4.4 ms" in found.provenance["performance.latency_us"]
    assert any("975–1072" in note for note in found.notes)


def test_an_inherited_figure_is_marked(adopted: Adoption) -> None:
    found = record(adopted, "1024x2048x512+fused-cast")
    assert found.provenance["performance"].startswith("inherited")
    assert "†: The figure is carried over from another row." in found.notes
    assert "performance" not in record(adopted, "1024x2048x1024+fused-cast").provenance


def test_knobs_that_no_row_names_come_from_the_page_and_say_so(adopted: Adoption) -> None:
    found = record(adopted, "1024x1024x64x64x16x4x0", "FlashAttention_bf16")
    assert found.tile["lqp"] == 256
    assert "recommends" in found.provenance["tile"]


def test_a_row_without_a_whole_tile_is_no_record_and_its_words_stay(adopted: Adoption) -> None:
    made, refused = imported.make(adopted, "npu2", MOMENT)
    names = {(one.row.shape["N"], one.row.variant) for one in refused}
    assert names == {(4096, "fused-cast"), (4096, "drain")}
    (beside,) = [one.record for one in made if one.row.key == "1024x2048x4096+direct"]
    assert any("on fused-cast" in note and "⚠️" in note for note in beside.notes)
    assert any("on drain" in note and "(drain n64)" in note for note in beside.notes)


def test_glyphs_files_and_lines_are_kept(adopted: Adoption) -> None:
    found = record(adopted, "1024x2048x4096+direct").provenance
    places = [f"{file}:{line_of(file, '1024×2048×4096')}" for file in (GEMM, INDEX)]
    assert found["status"] == f"⚠️ {places[0]}, {places[1]}"
    assert found["source"] == "; ".join(places)


def test_sweep_lines_become_notes(adopted: Adoption) -> None:
    notes = record(adopted, "1024x2048x1024+drain").notes
    at = line_of(GEMM, "too wide")
    assert f"sweep at {GEMM}:{at}: tile_k_l2 512, GFLOPS —, result ❌ too wide" in notes


def test_figures_without_a_field_become_notes(adopted: Adoption) -> None:
    notes = record(adopted, "1024x2048x1024+fused-cast").notes
    assert f"correlation 0.9999 at {GEMM_JSON}:{line_of(GEMM_JSON, '0.9999')}" in notes


def test_an_estimate_is_a_note_and_no_figure(tmp_path: Path) -> None:
    changes = edited(ATTENTION, "2.5e+3 (near zero)", "~1e+5–1e+6 (near zero)")
    found = record(read(tmp_path, changes), "1024x1024x64x64x16x4x1", "FlashAttention_bf16")
    assert found.max_rel is None
    assert any("~1e+5–1e+6" in note for note in found.notes)
    before = record(read(tmp_path), "1024x1024x64x64x16x4x1", "FlashAttention_bf16")
    assert (before.max_rel, before.mean_rel_L1) == (2500, 0.0391)


def test_a_shape_listed_twice_keeps_the_first_and_notes_the_second(tmp_path: Path) -> None:
    line = next(line for line in FILES[ADD].split("\n") if line.startswith("| 1048576"))
    second = line.replace("180 µs", "190 µs").replace("8/1/2048", "8/1/1024")
    found = record(
        read(tmp_path, edited(ADD, line, f"{line}\n{second}")), "1048576", "EltwiseAdd_bf16"
    )
    assert found.performance is not None
    assert found.performance.latency_us == 180
    assert any("190 µs" in note and "8/1/1024" in note for note in found.notes)


def test_a_long_note_is_divided_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    words = " ".join(f"Sentence {at} says nothing." for at in range(200))
    changes = edited(GEMM_JSON, "Measured twice.", words)
    notes = record(read(tmp_path, changes), "64x720x960+drain").notes
    parts = [note for note in notes if "says nothing" in note]
    assert all(len(part) <= 1000 and part.endswith(".") for part in parts)
    assert " ".join(parts) == words


@given(st.text(min_size=1, max_size=3000))
def test_no_note_is_too_long_or_loses_a_letter(text: str) -> None:
    parts = list(imported._unique([text]))
    assert all(0 < len(part) <= 1000 for part in parts)
    kept = "".join("".join(parts).split())
    assert kept == "".join(imported._CONTROL.sub(" ", text).split())


def test_artifacts_are_imports_that_claim_no_pass(adopted: Adoption) -> None:
    for one in made_of(adopted).values():
        verdict = one.verdict
        assert (verdict.kind, verdict.status, verdict.attempts) == ("imported", "unverified", [])
        assert one.record.verdict.status == "unverified"
        assert set(verdict.sources) <= set(FILES)
        assert verdict.run_id.startswith("20260304T050607Z-")
        assert verdict.reason is not None
        assert "not run by this tool" in verdict.reason
        facts = verdict.environment
        assert facts.device.value is None
        assert facts.device.reason
        for path, data in one.files.items():
            type_ = Verdict if path.startswith("verdicts/") else Record
            assert canonical.encode(canonical.decode(data, type_)) == data


def test_an_artifact_s_name_is_of_its_content(adopted: Adoption) -> None:
    names = [one.verdict.run_id for one in made_of(adopted).values()]
    assert len(set(names)) == len(names)
    again = [one.verdict.run_id for one in made_of(adopted).values()]
    assert names == again


# --- call sites ----------------------------------------------------------------------------------

READER = uses.Reader(catalog.built_in())


@pytest.mark.parametrize(
    ("text", "wanted", "notes"),
    [
        ("Tiny-1B Q/O proj", [("Tiny-1B", "Q/O proj")], []),
        (
            "Tiny-1B Q proj (square) + Tiny2.5-0.5B K/V proj",
            [("Tiny-1B", "Q proj"), ("Tiny2.5-0.5B", "K/V proj")],
            ["Tiny-1B Q proj (square)"],
        ),
        (
            "Tiny-1B + Tiny-3B prefill RMSNorm",
            [("Tiny-1B", "prefill RMSNorm"), ("Tiny-3B", "prefill RMSNorm")],
            [],
        ),
        (
            "TinyVLA vision q/k/v/o proj + patch-embed (hidden=768)",
            [("TinyVLA", "vision q/k/v/o proj + patch-embed")],
            ["TinyVLA vision q/k/v/o proj + patch-embed (hidden=768)"],
        ),
        ("coverage / Tiny-1B RoPE-K", [("Tiny-1B", "RoPE-K")], ["coverage"]),
        ("K-sweep", [], ["K-sweep"]),
        ("RoPE-K of a decoder", [], ["RoPE-K of a decoder"]),
        ("LM-head coverage (K=3072)", [], ["LM-head coverage (K=3072)"]),
    ],
)
def test_a_text_about_call_sites_is_taken_apart(
    text: str, wanted: list[tuple[str, str]], notes: list[str]
) -> None:
    found = READER.read(text)
    assert [(use.model, use.site) for use in found.uses] == wanted
    assert list(found.notes) == notes


@given(st.text(max_size=80))
def test_no_word_about_a_call_site_is_lost(text: str) -> None:
    found = READER.read(text)
    said = " ".join([*(f"{use.model} {use.site}" for use in found.uses), *found.notes])
    for word in text.split():
        bare = word.strip("+/&;,.:—–-()")
        assert bare in said or not any(letter.isalnum() for letter in bare)


def test_two_wordings_of_one_site_are_one_use() -> None:
    same = [Use(model="TinyVLA", site=site) for site in ("o_proj", "o_proj with N padded")]
    other = Use(model="TinyVLA", site="q_proj")
    assert uses.merged([*same, other]) == ([same[0], other], ["TinyVLA o_proj with N padded"])


def test_another_letter_is_another_site() -> None:
    both = [Use(model="Tiny-1B", site="Q proj"), Use(model="Tiny-1B", site="Q/O proj")]
    assert uses.merged(both) == (both, [])
