"""absorb on pages that were imported: columns, order and wording are the page's own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import world as worlds
from tests.acceptance.world import World

INDEX = """\
# Supported kernels

## Kernels

| Kernel | Detail | Best | Status |
|---|---|---|---|
| RMSNorm | [`details/RMSNorm_bf16.md`](details/RMSNorm_bf16.md) | **24.9 GB/s** (2048×3072) | ✅ |

## GEMM, BF16 in, BF16 out

| (M×K×N) | high-prec fused-cast | high-prec drain | low-prec direct | Used by | Status |
|---|---|---|---|---|---|
| 2048×2048×2048 | **6000** | 5000 | — | Toy-1B Q/O proj (square) + Big-2B Q proj | ✅ |
| 2048×1024×2048 | — | **4000** | — | Toy-1B LM-head (per-partition) | ✅ |
"""
NORM = """\
# RMSNorm

## Tested shapes

| (M, N) | herd_x | latency | bandwidth | mean_rel_L1 | abs_err max | Used by | Status |
|---|---|---|---|---|---|---|---|
| 2048×2048 | 8 | 911 µs | 18.4 GB/s | 4.2e-3 | 1.9e-1 | Toy-1B + Big-2B prefill RMSNorm | ✅ |
| 2048×1024 | 8 | 407 µs | 20.6 GB/s | 4.3e-3 | 1.25e-1 | Toy-1B prefill RMSNorm (emb=1024) | ✅ |
| 2048×3072 | 8 | 1012 µs | 24.9 GB/s | 4.2e-3 | 1.25e-1 | Big-2B prefill RMSNorm | ✅ |
| 2048×64 | 8 | 90 µs | 5.8 GB/s | 4.2e-3 | 1e-1 | ToyVLA vit (V) norm1/2 + post_norm (e=64) | ✅ |
| 2048×32 | 8 | 80 µs | 3.3 GB/s | 4.2e-3 | 1.25e-1 | coverage (N=32) | ✅ |
"""
GEMM = """\
# GEMM

## Tested shapes

### fused-cast (high precision)

| (M, K, N) | tile (m/kl2/kl1/n) | GFLOPS | mean_rel_L1 | Status |
|---|---|---|---|---|
| 2048×2048×2048 | 64/512/32/128 | **6000** | 9.7e-3 | ✅ Toy-1B Q/O proj |

### drain (high precision)

| (M, K, N) | tile (m/kl2/kl1/n) | GFLOPS | mean_rel_L1 | Status |
|---|---|---|---|---|
| 2048×2048×2048 | 32/512/32/128 | 5000 | 9.4e-3 | ✅ Toy-1B Q/O proj |
| 2048×1024×2048 | 32/512/32/128 | 4000 | 9.4e-3 | ✅ Toy-1B LM-head (per-partition) |
"""
PAGES = {
    "supported_kernels.md": INDEX,
    "details/RMSNorm_bf16.md": NORM,
    "details/GEMM_bf16_in_bf16_out.md": GEMM,
}
PAGE = "details/RMSNorm_bf16.md"
PART = "Toy-1B LM-head (per-partition)"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imported")
    world = worlds.make(folder)
    for path, text in PAGES.items():
        (folder / "old" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "old" / path).write_text(text)
    done = world.tool("import", str(folder / "old"), "--target", "npu2", "--mark")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    world.ok("render")
    world.git("add", "-A")
    world.git("commit", "-qm", "Import")
    return folder


@pytest.fixture
def world(imported: Path, tmp_path: Path) -> World:
    shutil.copytree(imported, tmp_path / "w", symlinks=True)
    repository = tmp_path / "w" / "repo"
    return World(repository, repository, worlds.environment(tmp_path / "w"))


def change(world: World, path: str, old: str, new: str) -> None:
    file = world.registry / path
    text = file.read_text()
    assert text.count(old) == 1, text
    file.write_text(text.replace(old, new))


def lines(world: World, path: str) -> set[str]:
    return set((world.registry / path).read_text().split("\n"))


def uses(world: World, name: str) -> list[str]:
    document: Any = json.loads((world.registry / f"records/npu2/{name}.json").read_bytes())
    return [f"{use['model']} {use['site']}" for use in document["used_by"]]


def test_the_cell_says_what_was_written_and_the_row_knows_it(world: World) -> None:
    before = lines(world, PAGE)
    change(
        world,
        PAGE,
        "Toy-1B prefill RMSNorm (emb=1024)",
        "Toy-1B prefill RMSNorm (emb) + New-3B norm",
    )
    change(world, PAGE, "Toy-1B + Big-2B prefill RMSNorm", "Big-2B prefill RMSNorm")
    edited = lines(world, PAGE)
    world.ok("absorb")
    assert uses(world, "RMSNorm_bf16/2048x1024") == ["Toy-1B prefill RMSNorm", "New-3B norm"]
    assert uses(world, "RMSNorm_bf16/2048x2048") == ["Big-2B prefill RMSNorm"]
    # Nothing of the page differs from what the person left but the checksum.
    assert [line for line in lines(world, PAGE) ^ edited if "registry:end" not in line] == []
    assert len([line for line in before ^ edited if "|" in line]) == 4
    world.ok("render", "--check")
    findings = json.loads(world.tool("check", "--staged", "--format", "json").stdout)["findings"]
    assert not {one["rule"] for one in findings} & {"KR301", "KR302", "KR303", "KR304"}
    assert "nothing was edited" in world.ok("absorb")


def test_a_user_in_a_status_cell_is_a_persons_and_the_mark_is_not(world: World) -> None:
    path = "details/GEMM_bf16_in_bf16_out.md"
    text = (world.registry / path).read_text()
    row = next(line for line in text.split("\n") if "| 2048×2048×2048 | 32/512/" in line)
    change(world, path, row, row.removesuffix(" |") + " + New-3B O |")
    world.ok("absorb")
    assert uses(world, "GEMM_bf16_in_bf16_out/2048x2048x2048+drain")[-1] == "New-3B O"
    assert "New-3B O" not in uses(world, "GEMM_bf16_in_bf16_out/2048x2048x2048+fused-cast")
    text = (world.registry / path).read_text()
    row = next(line for line in text.split("\n") if "| 2048×2048×2048 | 32/512/" in line)
    change(world, path, row, row.replace("✅", "❌"))
    done = world.tool("absorb")
    assert done.returncode == 1
    assert "'✅' at its beginning is computed" in done.stdout


def test_a_line_of_several_rows_changes_each_that_it_speaks_of(world: World) -> None:
    path = "supported_kernels.md"
    change(
        world,
        path,
        "Toy-1B Q/O proj (square) + Big-2B Q proj",
        "Toy-1B Q/O proj (square) + New-3B Q",
    )
    world.ok("absorb")
    for variant in ("fused-cast", "drain"):
        found = uses(world, f"GEMM_bf16_in_bf16_out/2048x2048x2048+{variant}")
        assert "Big-2B Q proj" not in found
        assert "New-3B Q" in found
    assert "| Toy-1B Q/O proj (square) + New-3B Q |" in (world.registry / path).read_text()


def test_figures_are_refused_and_name_the_row_that_they_are_of(world: World) -> None:
    change(world, "supported_kernels.md", "**6000** | 5000 |", "**6000** | 5999 |")
    change(world, PAGE, "| 8 | 407 µs |", "| 4 | 407 µs |")
    refused = world.json("absorb", status=1)["refused"]
    assert [(one["column"], one["before"], one["after"]) for one in refused] == [
        ("herd_x", "8", "4"),
        ("high-prec drain", "5000", "5999"),
    ]
    assert "--shape M=2048,N=1024 --herd 4 --force" in refused[0]["fix"]
    assert "--variant drain" in refused[1]["fix"]


def test_an_added_line_is_planned_with_the_variant_of_its_table(world: World) -> None:
    change(
        world,
        "details/GEMM_bf16_in_bf16_out.md",
        "| 2048×2048×2048 | 32/512/32/128",
        "| 512×2048×2048 | 32/512/32/128 | 1 | 1e-3 |  |\n| 2048×2048×2048 | 32/512/32/128",
    )
    (entry,) = world.json("absorb")["planned"]
    assert entry["command"] == (
        "registry-tool verify --target npu2 --kernel GEMM_bf16_in_bf16_out "
        "--shape M=512,K=2048,N=2048 --variant drain "
        "--tile tile_m=32,tile_k_l2=512,tile_k_l1=32,tile_n=128"
    )
    assert "512×2048×2048" not in (world.registry / "details/GEMM_bf16_in_bf16_out.md").read_text()


def test_a_deleted_line_retires_its_row_when_told_so(world: World) -> None:
    text = (world.registry / PAGE).read_text()
    row = next(line for line in text.split("\n") if line.startswith("| 2048×1024 "))
    change(world, PAGE, row + "\n", "")
    assert "its line was deleted" in world.tool("absorb").stdout
    world.ok("absorb", "--retire")
    assert not (world.registry / "records/npu2/RMSNorm_bf16/2048x1024.json").exists()


def test_markup_of_the_pages_own_wording_is_kept(world: World) -> None:
    worded = "Toy-1B prefill RMSNorm ([why](https://example.invalid/a), `emb`)"
    change(world, PAGE, "Toy-1B prefill RMSNorm (emb=1024)", worded)
    world.ok("absorb")
    assert f"| {worded} |" in (world.registry / PAGE).read_text()
    assert uses(world, "RMSNorm_bf16/2048x1024") == ["Toy-1B prefill RMSNorm"]


def notes(world: World, name: str) -> list[str]:
    document: Any = json.loads((world.registry / f"records/npu2/{name}.json").read_bytes())
    return [str(note) for note in document["notes"]]


def test_words_beside_a_call_site_reach_the_record_and_the_other_page(world: World) -> None:
    row = "GEMM_bf16_in_bf16_out/2048x1024x2048+drain"
    page = "details/GEMM_bf16_in_bf16_out.md"
    assert f"used by: {PART}" in notes(world, row)
    change(world, page, PART, "Toy-1B LM-head (per-block)")
    assert "supported_kernels.md: npu2/GEMM" in world.ok("absorb")
    assert f"used by: {PART}" not in notes(world, row)
    assert "used by: Toy-1B LM-head (per-block)" in notes(world, row)
    assert uses(world, row) == ["Toy-1B LM-head"]
    for path in (page, "supported_kernels.md"):
        assert "Toy-1B LM-head (per-block) |" in (world.registry / path).read_text()
    world.ok("render", "--check")


def test_a_part_of_a_text_that_no_call_site_holds_reaches_the_record(world: World) -> None:
    change(world, PAGE, "post_norm (e=64)", "post_norm2 (e=64)")
    world.ok("absorb")
    found = notes(world, "RMSNorm_bf16/2048x64")
    assert "used by: ToyVLA vit (V) norm1/2 + post_norm2 (e=64)" in found
    change(world, PAGE, "coverage (N=32)", "coverage (N=33)")
    world.ok("absorb")
    assert notes(world, "RMSNorm_bf16/2048x32") == ["used by: coverage (N=33)"]
    assert uses(world, "RMSNorm_bf16/2048x32") == []


def test_words_that_no_record_holds_are_said_to_be_the_pages(world: World) -> None:
    name, said = "RMSNorm_bf16/2048x1024", "Toy-1B prefill RMSNorm (emb=1024)"
    world.ok("note", "--remove", f"npu2/{name}", f"used by: {said}")
    change(world, PAGE, said, "Toy-1B prefill RMSNorm")
    record = (world.registry / f"records/npu2/{name}.json").read_bytes()
    assert world.json("absorb", "--dry-run")["changed"][0]["only_on_this_page"]
    assert f"only on this page: {said!r} -> 'Toy-1B prefill RMSNorm'" in world.ok("absorb")
    assert (world.registry / f"records/npu2/{name}.json").read_bytes() == record


def test_a_refused_wording_names_what_to_type(world: World) -> None:
    change(world, PAGE, "ToyVLA vit (V) norm1/2 + post_norm (e=64)", "other")
    done = world.tool("absorb")
    assert done.returncode == 1, done.stdout
    assert "registry-tool use npu2/RMSNorm_bf16/2048x64 MODEL SITE" in done.stdout
    assert "registry-tool note npu2/RMSNorm_bf16/2048x64 'used by: other'" in done.stdout


BOTH = "Toy-1B + Big-2B prefill RMSNorm"
PREFILL = ["Toy-1B prefill RMSNorm", "Big-2B prefill RMSNorm"]


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ("Toy-1B + Big-2B + New-3B prefill RMSNorm", [*PREFILL, "New-3B prefill RMSNorm"]),
        ("Big-2B prefill RMSNorm", PREFILL[1:]),
        ("Toy-1B + New-3B prefill RMSNorm", [PREFILL[0], "New-3B prefill RMSNorm"]),
        (f"{BOTH} + Foo decode norm", [*PREFILL, "Foo decode norm"]),
    ],
)
def test_a_cell_of_several_names_credits_each_of_them(
    world: World, after: str, wanted: list[str]
) -> None:
    change(world, PAGE, f"| {BOTH} |", f"| {after} |")
    world.ok("absorb")
    assert sorted(uses(world, "RMSNorm_bf16/2048x2048")) == sorted(wanted)
    assert f"| {after} |" in (world.registry / PAGE).read_text()
    world.ok("render", "--check")
    world.ok("check")


def test_a_name_without_a_call_site_is_refused_and_nothing_is_written(world: World) -> None:
    change(world, PAGE, f"| {BOTH} |", "| Toy-1B + Big-2B |")
    before = world.git("status", "--porcelain")
    done = world.tool("absorb")
    assert done.returncode == 1
    assert "names no call site" in done.stdout
    assert world.git("status", "--porcelain") == before


def test_what_changed_on_a_page_alone_passes_the_check(world: World) -> None:
    change(world, PAGE, "| coverage (N=32) |", "| coverage only (N=32) |")
    world.ok("absorb")
    change(world, PAGE, "prefill RMSNorm (emb=1024)", "prefill  RMSNorm (emb=1024)")
    world.ok("absorb")
    world.ok("render", "--check")
    world.ok("check")
    assert world.tool("absorb").stdout == "nothing was edited by hand\n"
