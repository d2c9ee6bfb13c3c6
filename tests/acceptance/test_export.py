"""export: the forms that neighbours read, from a real registry through the real command."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from registry_tool.export import jsonl, spreadsheet, tuned
from registry_tool.store import registry, snapshot
from tests.acceptance import world as worlds
from tests.acceptance.world import World

GEMM = "GEMM_bf16_in_bf16_out"
LOW = "device_name=npu2-emu,dtype=bf16,precision=low,emulated=True.json"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = worlds.make(tmp_path_factory.mktemp("export"))
    world.ok("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64")
    for m in (512, 256):
        world.ok("verify", "--kernel", GEMM, "--shape", f"M={m},K=128,N=256")
    world.ok("note", "RoPE_bf16/64x64", '=HYPERLINK("https://example.invalid"), "so to say"')
    world.ok("use", "RoPE_bf16/64x64", "Tiny", "prefill RoPE Q")
    return world


def exported(world: World, folder: Path, *words: str) -> dict[str, bytes]:
    world.ok("export", *words, "--out", str(folder))
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_json_lines_are_the_records_of_the_registry(world: World, tmp_path: Path) -> None:
    ((name, data),) = exported(world, tmp_path / "a", "--form", "jsonl").items()
    assert name == "npu2-emu.emulated.jsonl"
    held = registry.load(snapshot.of_worktree(world.registry)).records
    assert jsonl.load_jsonl(data) == held
    lines = [json.loads(line) for line in data.splitlines()]
    assert {line["target_kind"] for line in lines} == {"emulated"}
    assert {line["verdict"]["status"] for line in lines} == {"pass"}
    again = exported(world, tmp_path / "b", "--form", "jsonl")
    assert again[name] == data
    done = world.run("registry-tool", "export", "--form", "jsonl")
    assert done.stdout.encode() == data


def test_csv_is_one_file_for_each_kernel_and_says_what_is_emulated(
    world: World, tmp_path: Path
) -> None:
    found = exported(world, tmp_path, "--form", "csv")
    assert sorted(found) == [f"{GEMM}.npu2-emu.emulated.csv", "RoPE_bf16.npu2-emu.emulated.csv"]
    now = registry.load(snapshot.of_worktree(world.registry))
    for name, data in found.items():
        kernel = name.partition(".")[0]
        held = [record for row, record in now.records.items() if row.kernel == kernel]
        assert sorted(spreadsheet.load_csv(data, now.spec(kernel)), key=str) == sorted(
            held, key=str
        )
    (row,) = csv.DictReader(
        io.StringIO(found["RoPE_bf16.npu2-emu.emulated.csv"].decode(), newline="")
    )
    assert row["rows"] == row["head_dim"] == "64"
    assert row["target_kind"] == "emulated"
    assert row["used_by"] == "Tiny\tprefill RoPE Q"
    assert row["notes"].startswith("'=HYPERLINK")
    done = world.run("registry-tool", "export", "--form", "csv", "--kernel", "RoPE_bf16")
    assert done.returncode == 0
    assert "=HYPERLINK" in done.stdout


def test_the_tuned_form_maps_m_to_the_tile_of_a_row_that_passed(
    world: World, tmp_path: Path
) -> None:
    found = exported(world, tmp_path / "a", "--form", "moe")
    (name,) = found
    assert name == f"{GEMM}/N=256,K=128,{LOW}"
    entries = tuned.load_tuned(found[name])
    assert list(entries) == [256, 512]
    document = json.loads(
        (world.registry / f"records/npu2-emu/{GEMM}/256x128x256+direct.json").read_bytes()
    )
    assert entries[256]["BLOCK_SIZE_N"] == document["tile"]["tile_n"]
    assert entries[256]["emulated"] is True
    assert exported(world, tmp_path / "b", "--form", "moe") == found


def test_a_row_whose_verdict_was_touched_is_no_tuned_one(world: World, tmp_path: Path) -> None:
    (verdict,) = (world.registry / f"verdicts/npu2-emu/{GEMM}/512x128x256+direct").glob("*.json")
    before = verdict.read_bytes()
    try:
        verdict.write_bytes(before.replace(b'"pass"', b'"pass" '))
        done = world.tool("export", "--form", "moe", "--out", str(tmp_path))
        assert done.returncode == 0
        assert "1 rows that no passing run" in done.stderr
        (path,) = tmp_path.rglob("*.json")
        assert list(json.loads(path.read_bytes())) == ["256"]
        assert len(world.json("export", "--form", "jsonl", "--out", str(tmp_path))["files"]) == 1
    finally:
        verdict.write_bytes(before)


def test_a_kernel_that_does_not_fit_and_wrong_use_are_refused_with_words(
    world: World, tmp_path: Path
) -> None:
    done = world.tool("export", "--form", "moe", "--kernel", "RoPE_bf16")
    assert done.returncode == 2
    assert "needs M, N and K" in done.stderr
    assert "--form csv --kernel RoPE_bf16" in done.stderr
    for words, said in (
        (("--form", "csv"), "--out DIR"),
        (("--form", "csv", "--kernel", "None"), "unknown kernel"),
        (("--form", "csv", "--target", "None"), "unknown target"),
        (("--form", "jsonl", "--target", "npu2"), "nothing to export"),
        (("--form", "moe", "--kernel", "GEMM_bf16_in_fp32_out"), "nothing to export"),
        (("--form", "jsonl", "--format", "json"), "--out"),
    ):
        done = world.tool("export", *words)
        assert done.returncode == 2, words
        assert said in done.stderr, words
    assert not any(tmp_path.iterdir())


def test_what_an_earlier_export_left_behind_is_named(world: World, tmp_path: Path) -> None:
    exported(world, tmp_path, "--form", "moe")
    old = tmp_path / GEMM / "N=1,K=1,device_name=npu2.json"
    old.write_text("{}")
    done = world.tool("export", "--form", "moe", "--out", str(tmp_path))
    assert f"{old} is not part of this export" in done.stderr
