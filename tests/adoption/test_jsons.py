"""JSON files in the upstream form: every key arrives, with its line, or is refused with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry_tool.adoption.model import Adoption, Claim
from registry_tool.errors import InputError
from tests.adoption.small import FILES, GEMM_JSON, edited, line_of, read

KERNEL = "GEMM_bf16_in_bf16_out"


@pytest.fixture(scope="module")
def adopted(tmp_path_factory: pytest.TempPathFactory) -> Adoption:
    return read(tmp_path_factory.mktemp("registry"))


def claim(adopted: Adoption, shape: tuple[int, ...], variant: str) -> Claim:
    row = adopted.row(KERNEL, shape, variant)
    assert row is not None
    (found,) = row.of("json")
    return found


def test_a_method_becomes_a_claim_with_the_file_s_herd(adopted: Adoption) -> None:
    one = claim(adopted, (1024, 2048, 1024), "fused-cast")
    assert one.line == line_of(GEMM_JSON, '"fused-cast": {')
    assert one.tile == {"tile_m": 64, "tile_k_l2": 128, "tile_k_l1": 32, "tile_n": 128}
    assert (one.herd, one.herd_is_default, one.tier) == ((8, 4), True, "high")
    values = {quantity.field: quantity.value for quantity in one.quantities}
    assert values == {"gflops": 3100, "mean_rel_L1": 0.00973, "correlation": 0.9999}


def test_a_herd_of_a_method_is_its_own(adopted: Adoption) -> None:
    one = claim(adopted, (64, 720, 960), "drain")
    assert (one.herd, one.herd_is_default) == ((4, 3), False)


def test_notes_of_the_method_and_of_the_shape_both_arrive(adopted: Adoption) -> None:
    of_shape = claim(adopted, (1024, 2048, 1024), "drain").notes
    of_method = claim(adopted, (64, 720, 960), "drain").notes
    assert of_shape == (("_note", "A remark about the shape."),)
    assert of_method == (("_note", "Measured twice."),)


def test_null_is_no_figure(adopted: Adoption) -> None:
    one = claim(adopted, (2048, 512, 512), "drain")
    assert one.quantity("gflops") is None
    assert one.quantity("mean_rel_L1") is not None


def test_the_entry_keeps_best_and_the_lines_of_its_keys(adopted: Adoption) -> None:
    entry = adopted.entry(KERNEL, {"M": 1024, "K": 2048, "N": 1024})
    assert entry is not None
    assert entry.best == {"high": "fused-cast"}
    assert entry.used_by == "Tiny-1B Q proj + Tiny-3B K/V proj"
    assert entry.lines["best"] == line_of(GEMM_JSON, '"best": {"high": "fused-cast"}')
    assert entry.lines["methods/drain"] == line_of(GEMM_JSON, '"drain": {')
    without = adopted.entry(KERNEL, {"M": 2048, "K": 512, "N": 512})
    assert without is not None
    assert without.best == {}


def test_the_file_s_own_words_are_kept(adopted: Adoption) -> None:
    (remark,) = [one for one in adopted.remarks if one.file == GEMM_JSON]
    assert remark.text == "comment: words about the file"


def test_a_number_s_digits_say_how_exact_it_is(adopted: Adoption) -> None:
    one = claim(adopted, (1024, 2048, 1024), "fused-cast").quantity("mean_rel_L1")
    assert one is not None
    assert one.written == "0.00973"
    assert one.half == pytest.approx(5e-6)


DRAIN = '"drain": {'
REFUSED: dict[str, tuple[dict[str, str | bytes | None], int, str]] = {
    "cut off": ({GEMM_JSON: FILES[GEMM_JSON][:400]}, 13, "truncated"),
    "cut off between values": (
        {GEMM_JSON: FILES[GEMM_JSON][: FILES[GEMM_JSON].index('"gflops"')]},
        line_of(GEMM_JSON, '"gflops"'),
        "truncated",
    ),
    "no JSON": (edited(GEMM_JSON, '"target": "npu2",', '"target" "npu2",'), 4, "not JSON"),
    "a key twice": (
        edited(GEMM_JSON, '"target": "npu2",', '"kernel": "GEMM",'),
        4,
        "'kernel' stands twice",
    ),
    "an unknown key at the top": (
        edited(GEMM_JSON, '"target": "npu2",', '"device": "npu2",'),
        4,
        "'device' is not known",
    ),
    "an unknown key of a method": (
        edited(GEMM_JSON, '"correlation"', '"ulps"'),
        line_of(GEMM_JSON, "correlation"),
        "'ulps' is not known",
    ),
    "an unknown method": (
        edited(GEMM_JSON, DRAIN, '"trickle": {'),
        line_of(GEMM_JSON, DRAIN),
        "'trickle' is no method",
    ),
    "a dim that is missing": (
        edited(GEMM_JSON, '"M": 64, ', ""),
        line_of(GEMM_JSON, '"M": 64') - 1,
        "gives no shape",
    ),
    "a size that is no number": (
        edited(GEMM_JSON, '"M": 64', '"M": "64"'),
        line_of(GEMM_JSON, '"M": 64') - 1,
        "M is no whole number",
    ),
    "a shape twice": (
        edited(GEMM_JSON, '"M": 64, "K": 720, "N": 960', '"M": 1024, "K": 2048, "N": 1024'),
        line_of(GEMM_JSON, '"M": 64') - 1,
        "stands twice",
    ),
    "a tile knob of another kernel": (
        edited(GEMM_JSON, '"tile_k_l2": 144', '"m_input": 144'),
        line_of(GEMM_JSON, '"tile_k_l2": 144'),
        "is no tile size",
    ),
    "a herd of one axis": (
        edited(GEMM_JSON, '"herd": [8, 4]', '"herd": [8]'),
        line_of(GEMM_JSON, '"herd": [8, 4]'),
        "is no herd",
    ),
    "a figure in words": (
        edited(GEMM_JSON, '"gflops": 540', '"gflops": "fast"'),
        line_of(GEMM_JSON, '"gflops": 540'),
        "gflops is no number",
    ),
    "a tier that is none": (
        edited(GEMM_JSON, '0.00939, "tier": "high"', '0.00939, "tier": "best"'),
        line_of(GEMM_JSON, "0.00939"),
        "no precision tier",
    ),
    "a best of no tier": (
        edited(GEMM_JSON, '{"high": "fused-cast"}', '["fused-cast"]'),
        line_of(GEMM_JSON, '"best": {"high": "fused-cast"}'),
        "expected `best`",
    ),
    "a key twice, and once more in another object": (
        edited(GEMM_JSON, '"gflops": 3100, "mean', '"gflops": 3100, "gflops": 9, "mean'),
        line_of(GEMM_JSON, '"gflops": 3100'),
        "'gflops' stands twice",
    ),
    "a key twice, the second one line below": (
        edited(GEMM_JSON, '"gflops": 3100, "mean', '"gflops": 3100,\n"gflops": 9, "mean'),
        line_of(GEMM_JSON, '"gflops": 3100') + 1,
        "'gflops' stands twice",
    ),
    "an object twice": (
        edited(GEMM_JSON, '"drain": {', '"fused-cast": {'),
        line_of(GEMM_JSON, '"drain": {'),
        "'fused-cast' stands twice",
    ),
    "not a number": (
        edited(GEMM_JSON, '"gflops": 540', '"gflops": NaN'),
        line_of(GEMM_JSON, '"gflops": 540'),
        "NaN",
    ),
    "minus infinity in a list": (
        edited(GEMM_JSON, '"herd": [8, 4]', '"herd": [\n8,\n-Infinity]'),
        line_of(GEMM_JSON, '"herd": [8, 4]') + 2,
        "-Infinity",
    ),
    "a number below its key": (
        edited(GEMM_JSON, '"gflops": 540', '"gflops":\nNaN'),
        line_of(GEMM_JSON, '"gflops": 540') + 1,
        "NaN",
    ),
    "Windows-1252": (
        {GEMM_JSON: FILES[GEMM_JSON].replace("Measured", "Gemessen für").encode("cp1252")},
        line_of(GEMM_JSON, "Measured"),
        "not UTF-8",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_place_is_refused_with_its_line(case: str, tmp_path: Path) -> None:
    changes, line, words = REFUSED[case]
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path, changes)
    assert (caught.value.path, caught.value.line) == (tmp_path / GEMM_JSON, line)
    assert caught.value.fix


def test_a_key_that_a_person_explained_is_read(tmp_path: Path) -> None:
    changes = edited(GEMM_JSON, '"correlation": 0.9999', '"ulps": 3')
    one = claim(read(tmp_path, changes, {"ulps": "notes"}), (1024, 2048, 1024), "fused-cast")
    assert ("ulps", "3") in one.notes


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(
    adopted: Adoption, tmp_path: Path
) -> None:
    data = b"\xef\xbb\xbf" + FILES[GEMM_JSON].replace("\n", "\r\n").encode()
    assert read(tmp_path, {GEMM_JSON: data}).entries == adopted.entries
