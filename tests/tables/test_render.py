from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from registry_tool.records import kernel
from registry_tool.tables import document
from registry_tool.tables.document import TableError
from registry_tool.tables.read import read_tables
from registry_tool.tables.render import (
    details_json,
    index_table,
    kernel_table,
    pages,
    pages_of_rows,
    render,
    row_line,
    rows_of,
    stale,
    summary,
)
from registry_tool.tables.rows import Row, maker, rows
from tests.tables.samples import (
    ATTENTION,
    EMULATED,
    GEMM,
    attention_records,
    by_id,
    gemm_records,
    load,
    on_disk,
    record,
    require_golden,
    write_registry,
)

GEMM_PAGE = "details/GEMM_bf16_in_bf16_out.md"
GEMM_JSON = "details/GEMM_bf16_in_bf16_out.json"


@pytest.fixture
def hardware(tmp_path: Path) -> Path:
    return write_registry(tmp_path, [*gemm_records(), *attention_records()])


def write(root: Path) -> dict[str, bytes]:
    done = render(load(root), on_disk(root))
    for path, data in done.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return done


def test_a_kernel_table_on_hardware() -> None:
    require_golden("gemm_hardware.md", kernel_table(GEMM, "hardware", gemm_records()).encode())
    require_golden(
        "attention_hardware.md", kernel_table(ATTENTION, "hardware", attention_records()).encode()
    )


def test_a_kernel_table_on_an_emulated_target() -> None:
    records = [*gemm_records("npu2-emu")]
    require_golden("gemm_emulated.md", kernel_table(GEMM, "emulated", records).encode())


def test_an_empty_table_has_its_headings() -> None:
    assert kernel_table(GEMM, "hardware", []).count("\n") == 2


def test_new_pages_have_a_little_prose_around_their_regions(hardware: Path) -> None:
    done = write(hardware)
    require_golden("page_gemm.md", done[GEMM_PAGE])
    index = done["supported_kernels.md"].decode()
    ours = [line for line in index.splitlines() if "_toy" in line or "GEMM (BF16 in, BF" in line]
    require_golden("index_lines.md", "\n".join([*ours, ""]).encode())


def test_the_json_has_the_upstream_form() -> None:
    require_golden("gemm_hardware.json", details_json(GEMM, "npu2", "hardware", gemm_records()))


def test_the_json_of_an_emulated_target_measures_nothing() -> None:
    document = json.loads(
        details_json(GEMM, "npu2-emu", "emulated", gemm_records("npu2-emu")).decode()
    )
    assert document["emulated"] is True
    methods = [one for shape in document["shapes"] for one in shape["methods"].values()]
    assert [method["gflops"] for method in methods] == [None] * 5
    # The rule picks: fused-cast from 4e9 on, drain below, whatever would be faster.
    assert [shape["best"] for shape in document["shapes"]] == [
        {"high": "drain"},
        {"high": "fused-cast", "low": "direct"},
    ]


def test_on_hardware_the_fastest_method_of_each_tier_is_best() -> None:
    slow = [
        replace(one, performance=replace(one.performance, gflops=100.0))
        if one.variant == "fused-cast" and one.performance
        else one
        for one in gemm_records()
    ]
    document = json.loads(details_json(GEMM, "npu2", "hardware", slow).decode())
    assert [shape["best"] for shape in document["shapes"]] == [
        {"high": "drain"},
        {"high": "drain", "low": "direct"},
    ]


def test_a_row_that_did_not_pass_is_in_no_json() -> None:
    failed = record(GEMM, (64, 64, 64), "drain", 5.0, status="fail")
    assert json.loads(details_json(GEMM, "npu2", "hardware", [failed]).decode())["shapes"] == []


def test_rows_stand_in_the_order_of_the_spec_then_of_size_and_variant() -> None:
    made = rows(ATTENTION, "hardware", attention_records())
    assert [row.shape[-1] for row in made] == [0, 1, 1]
    assert [row.shape[0] for row in made] == [2048, 2048, 512]
    sizes = [(2048, 64, 64), (512, 64, 64), (1024, 128, 64)]
    made = rows(GEMM, "hardware", [record(GEMM, size, "drain", 1.0) for size in sizes])
    assert [row.shape[0] for row in made] == [512, 1024, 2048]


def test_the_best_of_the_index_is_the_best_of_the_rows(hardware: Path) -> None:
    registry = load(hardware)
    made = rows(GEMM, "hardware", gemm_records())
    line = summary(registry, "npu2", GEMM, made)
    best = max(one.performance.gflops or 0 for one in gemm_records() if one.performance)
    assert line.best == f"{best:.0f} GFLOP/s (direct, low precision, 2048×8192×2048, herd 8×4)"
    assert (line.rows, line.status, line.target) == (5, "✅", "npu2")


def test_the_index_of_an_emulated_target_counts_shapes_and_shows_no_speed(tmp_path: Path) -> None:
    registry = load(write_registry(tmp_path, policy=EMULATED))
    made = rows(GEMM, "emulated", gemm_records("npu2-emu"))
    line = summary(registry, "npu2-emu", GEMM, made)
    assert (line.best, line.status) == ("emulated (2 shapes)", "emulated ✔")
    assert "GFLOP" not in index_table([line])


def test_the_index_does_not_call_a_page_verified_that_has_a_row_to_look_at(hardware: Path) -> None:
    line = summary(
        load(hardware), "npu2", ATTENTION, rows(ATTENTION, "hardware", attention_records())
    )
    assert line.status == "⚠️"
    assert summary(load(hardware), "npu2", GEMM, []).texts[2:] == ["0", "—", "—"]


def test_every_generated_file_is_named(hardware: Path) -> None:
    found = pages(load(hardware), load(hardware).records)
    assert {"supported_kernels.md", "registry_lookup.py", GEMM_PAGE, GEMM_JSON} <= set(found)
    assert {"details/Attention_toy.md", "schemas/record-1.schema.json"} <= set(found)
    assert not any(path.startswith("details/npu2-emu/") for path in found)


def test_a_further_target_has_pages_where_it_has_rows(tmp_path: Path) -> None:
    root = write_registry(tmp_path, [*gemm_records(), *gemm_records("npu2-emu")])
    done = write(root)
    page = done["details/npu2-emu/GEMM_bf16_in_bf16_out.md"].decode()
    assert "| emulated |" in page
    assert "(../../supported_kernels.md)" in page
    assert json.loads(done["details/npu2-emu/GEMM_bf16_in_bf16_out.json"])["emulated"] is True
    assert "details/npu2-emu/Attention_toy.md" not in done
    assert "(details/npu2-emu/GEMM_bf16_in_bf16_out.md)" in done["supported_kernels.md"].decode()


def test_the_page_of_a_further_target_empties_with_its_last_row(tmp_path: Path) -> None:
    root = write_registry(tmp_path, gemm_records("npu2-emu"))
    write(root)
    for path in (root / "records").rglob("*.json"):
        path.unlink()
    done = write(root)
    (table,) = read_tables(done["details/npu2-emu/GEMM_bf16_in_bf16_out.md"])
    assert table.rows == []


def test_rendering_again_changes_nothing(hardware: Path) -> None:
    assert write(hardware)
    assert write(hardware) == {}


def test_prose_around_regions_stays(hardware: Path) -> None:
    write(hardware)
    page = hardware / GEMM_PAGE
    mine = "\r\nMine — 🧪\u00a0`x`\x0c\u2028| no | table |".encode()
    page.write_bytes(page.read_bytes() + mine)
    (hardware / next(iter(by_id(gemm_records()))).record_path).unlink()
    done = write(hardware)
    assert done[GEMM_PAGE].endswith(mine)
    assert len(read_tables(done[GEMM_PAGE])[0].rows) == 4


def test_line_ends_of_a_checkout_are_left_alone(hardware: Path) -> None:
    write(hardware)
    existing = {path: data.replace(b"\n", b"\r\n") for path, data in on_disk(hardware).items()}
    assert render(load(hardware), existing) == {}


def test_a_hand_edited_region_is_refused_with_the_words_to_fix_it(hardware: Path) -> None:
    write(hardware)
    for path in (GEMM_PAGE, "supported_kernels.md"):
        page = hardware / path
        page.write_bytes(page.read_bytes().replace(b"9592", b"9999"))
    with pytest.raises(TableError) as caught:
        write(hardware)
    assert "edited by hand" in caught.value.message
    assert caught.value.line is not None
    assert GEMM_PAGE in str(caught.value)
    assert "supported_kernels.md" in str(caught.value)
    assert "registry-tool render --force" in (caught.value.fix or "")


def test_an_edit_that_says_what_rendering_says_is_no_loss(hardware: Path) -> None:
    done = write(hardware)
    right = document.regions(done[GEMM_PAGE])[0].checksum or ""
    page = hardware / GEMM_PAGE
    page.write_bytes(page.read_bytes().replace(right.encode(), b"000000000000"))
    assert list(write(hardware)) == [GEMM_PAGE]


def test_force_is_rendering_without_looking_at_edits(hardware: Path) -> None:
    done = write(hardware)
    edited = {**on_disk(hardware), GEMM_PAGE: done[GEMM_PAGE].replace(b"9592", b"9999")}
    registry = load(hardware)
    assert stale(pages(registry, registry.records), edited) == {GEMM_PAGE: done[GEMM_PAGE]}


def test_broken_markers_are_an_error_and_name_the_page(hardware: Path) -> None:
    write(hardware)
    page = hardware / GEMM_PAGE
    page.write_bytes(page.read_bytes().replace(b"<!-- registry:end", b"<!-- end"))
    with pytest.raises(TableError) as caught:
        write(hardware)
    assert caught.value.path == GEMM_PAGE


def test_a_row_survives_a_json_round_trip_so_that_it_can_be_kept(hardware: Path) -> None:
    registry = load(hardware)
    made = rows_of(registry, registry.records)
    kept = dict(
        zip(
            made,
            msgspec.json.decode(msgspec.json.encode(list(made.values())), type=list[Row]),
            strict=True,
        )
    )
    assert pages_of_rows(registry, kept) == pages_of_rows(registry, made)


def test_a_row_line_is_the_line_of_the_table() -> None:
    table = kernel_table(GEMM, "hardware", gemm_records()).splitlines()
    assert {row_line(GEMM, "hardware", one) for one in gemm_records()} == set(table[2:])


def test_a_record_that_does_not_fit_its_spec_is_an_error_and_names_the_file() -> None:
    one = replace(gemm_records()[0], shape={"M": 1, "K": 2})
    with pytest.raises(TableError, match="records/npu2/GEMM_bf16_in_bf16_out/1x2"):
        maker(GEMM, "hardware")(one)
    with pytest.raises(TableError, match="place in the table"):
        maker(replace(GEMM, order=["M / (N - N)"]), "hardware")(gemm_records()[0])
    with pytest.raises(TableError, match=r"kernels/GEMM_bf16_in_bf16_out\.yaml"):
        maker(replace(GEMM, order=["M ** N"]), "hardware")


def test_the_order_may_look_at_tile_herd_and_variant() -> None:
    spec = replace(GEMM, order=["variant == 'drain'", "-1 * tiles"])
    made = rows(spec, "hardware", gemm_records())
    assert [row.variant for row in made][-2:] == ["drain", "drain"]
    assert [row.herd for row in made][-2:] == [(8, 4), (4, 4)]


def test_a_variant_outside_the_rule_can_still_be_best() -> None:
    spec = replace(GEMM, preference=[])
    assert kernel.variant_order(spec, {"M": 1, "K": 1, "N": 1}) == list(GEMM.variants)
    only = [record(GEMM, (64, 64, 64), "direct", 5.0)]
    document = json.loads(details_json(spec, "npu2", "hardware", only).decode())
    assert document["shapes"][0]["best"] == {"low": "direct"}


def test_rendering_imports_no_markdown_parser() -> None:
    code = (
        "import sys, registry_tool.tables.render; "
        "sys.exit(bool({'mistletoe', 'numpy', 'git', 'ruamel', 'jsonschema'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
