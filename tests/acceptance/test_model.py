"""The Phase 1 gate of a model: four criteria per need, and what is written into its own files."""

from __future__ import annotations

import hashlib
import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.records.model import Model, Need, Uncovered
from registry_tool.records.verdict import Verdict
from registry_tool.verifier import artifact
from tests.acceptance import world as worlds
from tests.acceptance.test_eleventh_kernel import EMULATOR, SPEC
from tests.acceptance.world import World
from tests.standin.bench import Bench
from tests.standin.rows import ROWS
from tests.tables import second_opinion

ROPE, SILU, ADD = "RoPE_bf16", "SiLU_Mul_bf16", "EltwiseAdd_bf16"
FILES = (
    "docs/development_progress/phase1_kernels.md",
    "docs/development_progress/progress.md",
    "TODO.md",
)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A registry where Tiny's RoPE rows are verified, SiLU_Mul fails, and nothing else was run."""
    world = worlds.make(tmp_path_factory.mktemp("begun"))
    config = world.write_config()
    chosen = ("--config", str(config), "--model", "Tiny", "--seq", "256")
    world.ok("verify", *chosen, "--kernel", ROPE)
    done = world.tool("verify", "--model", "Tiny", "--kernel", SILU, "--inject", "zeros")
    assert done.returncode == 1
    assert world.commit("-qm", "Begin").returncode == 0
    return world


@pytest.fixture
def world(begun: World, tmp_path: Path) -> World:
    """The same, for one test to change."""
    folder = tmp_path / "repo"
    shutil.copytree(begun.folder, folder, symlinks=True)
    return World(folder, folder, begun.environment)


def change_model(world: World, change: Callable[[Model], Model]) -> None:
    path = world.registry / "models/Tiny.json"
    path.write_bytes(canonical.encode(change(canonical.decode(path.read_bytes(), Model))))


def only(*kernels: str) -> Callable[[Model], Model]:
    return lambda model: replace(
        model, needs=[need for need in model.needs if need.kernel in kernels]
    )


def needs(world: World, status: int, *words: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The needs by kernel and shape."""
    document = world.json("model", "Tiny", *words, status=status)
    return {
        (need["kernel"], "x".join(map(str, need["shape"].values()))): need
        for need in document["needs"]
    }


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def write(world: World, *words: str, status: int = 1) -> str:
    done = world.tool("model", "Tiny", "--write", *words)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


# The gate


def test_a_model_passes_when_all_four_criteria_hold_for_every_need(world: World) -> None:
    change_model(world, only(ROPE))
    document = world.json("model", "Tiny")
    assert (document["passed"], document["total"]) == (4, 4)
    assert document["target"] == "npu2-emu"
    for need in document["needs"]:
        assert set(need["criteria"].values()) == {True}
        assert (need["verdict"], need["source"], need["next"]) == ("pass", "emulation", [])
        record = json.loads((world.registry / "records" / f"{need['row']}.json").read_bytes())
        assert need["mean_rel_L1"] == record["mean_rel_L1"]
        assert need["artifact"] == record["verdict"]["artifact"]
    assert "Phase 1 (4/4 kernels PASSED)" in world.ok("model", "Tiny")


def test_unmet_needs_say_what_to_type_and_that_meets_them(world: World) -> None:
    change_model(world, only(ROPE, SILU))
    (found,) = [need for need in needs(world, 1).values() if not need["passed"]]
    assert found["criteria"] == {
        "signal": True, "correctness": False, "tiles": False, "row": False,
    }  # fmt: skip
    (command,) = found["next"]
    world.ok(*shlex.split(command)[1:])
    assert needs(world, 0)


def test_a_need_of_several_sites_is_one_line(world: World) -> None:
    found = needs(world, 1)
    assert found["GEMM_bf16_in_bf16_out", "256x256x512"]["sites"] == [
        "prefill Q proj", "prefill Gate/Up proj",
    ]  # fmt: skip
    assert len(found) == 16


def test_a_verdict_that_was_edited_backs_nothing(world: World) -> None:
    change_model(world, only(ROPE))
    (path,) = (world.registry / "verdicts/npu2-emu/RoPE_bf16/8x64").glob("*.json")
    path.write_bytes(path.read_bytes() + b"\n")
    done = world.tool("model", "Tiny")
    assert done.returncode == 2
    canonical_bytes = path.read_bytes()[:-1]
    path.write_bytes(canonical_bytes.replace(b'"tool_version": "', b'"tool_version": "9'))
    found = needs(world, 1)[ROPE, "8x64"]
    assert not found["criteria"]["correctness"]
    assert found["problems"][0]["reason"].startswith("KR105")


def test_a_row_without_its_verdict_is_not_met(world: World) -> None:
    shutil.rmtree(world.registry / "verdicts/npu2-emu/RoPE_bf16/8x64")
    found = needs(world, 1)[ROPE, "8x64"]
    assert found["row"] == "npu2-emu/RoPE_bf16/8x64"
    assert not found["criteria"]["correctness"]


def test_fewer_tiles_need_a_note_or_a_waiver(world: World) -> None:
    world.ok("verify", "--kernel", ROPE, "--shape", "8x64", "--herd", "4x1", "--force")
    found = needs(world, 1)[ROPE, "8x64"]
    assert found["criteria"]["correctness"]
    assert not found["criteria"]["tiles"]
    assert "4 of 8 tiles in flight" in found["problems"][0]["reason"]
    assert found["next"] == [
        'registry-tool note npu2-emu/RoPE_bf16/8x64 "why", or registry-tool verify --target '
        "npu2-emu --kernel RoPE_bf16 --shape rows=8,head_dim=64 --force --herd LARGER"
    ]
    world.ok("note", "RoPE_bf16/8x64", "half of the array is busy with | something *else*")
    found = needs(world, 1)[ROPE, "8x64"]
    assert found["passed"]
    write(world)
    ((rows, _),) = second_opinion.tables((world.registry / "Tiny" / FILES[0]).read_bytes())
    (row,) = [dict(zip(rows[0], row, strict=True)) for row in rows if row[1] == "8×64"]
    assert row["Tiles"] == "4 of 8"
    assert row["Notes"] == "half of the array is busy with | something *else*"


def test_a_row_must_list_the_model(world: World) -> None:
    row = "RoPE_bf16/8x64"
    world.ok("use", row, "Tiny", "decode RoPE Q", "--remove")
    found = needs(world, 1)[ROPE, "8x64"]
    assert found["criteria"] == {
        "signal": True, "correctness": True, "tiles": True, "row": False,
    }  # fmt: skip
    world.ok(*shlex.split(found["next"][0])[1:])
    assert needs(world, 1)[ROPE, "8x64"]["passed"]


def test_a_row_must_stand_on_the_newest_pass_of_its_recipe(world: World) -> None:
    path = world.registry / "records/npu2-emu/RoPE_bf16/8x64.json"
    before = path.read_bytes()
    world.ok("verify", "--kernel", ROPE, "--shape", "8x64", "--force")
    newer = json.loads(path.read_bytes())["verdict"]["artifact"]
    path.write_bytes(before)
    if newer > json.loads(before)["verdict"]["artifact"]:
        found = needs(world, 1)[ROPE, "8x64"]
        assert not found["criteria"]["row"]
        world.ok(*shlex.split(found["next"][0])[1:])
    assert needs(world, 1)[ROPE, "8x64"]["passed"]


def test_a_row_whose_newest_run_failed_is_a_blocker_until_it_passes_again(world: World) -> None:
    change_model(world, only(ROPE))
    recipe = ("verify", "--kernel", ROPE, "--shape", "8x64", "--force")
    assert world.tool(*recipe, "--inject", "zeros").returncode == 1
    document = world.json("model", "Tiny", status=1)
    assert (document["passed"], document["total"]) == (3, 4)
    (found,) = [need for need in document["needs"] if not need["passed"]]
    assert found["criteria"] == {
        "signal": True, "correctness": False, "tiles": True, "row": True,
    }  # fmt: skip
    (blocker,) = document["blockers"]
    assert (blocker["kernel"], blocker["status"]) == (ROPE, "fail")
    assert "all-zero output" in blocker["causes"][0]["likely"]
    assert (world.registry / blocker["log"]).is_file()
    write(world)
    active = (world.registry / "Tiny/TODO.md").read_text().split("## Active blockers")[1]
    assert blocker["log"] in active
    (command,) = found["next"]
    assert command.endswith("--force")
    world.ok(*shlex.split(command)[1:])
    assert world.json("model", "Tiny")["blockers"] == []


@pytest.mark.parametrize("kind", ["canary", "tile"])
def test_a_failure_of_a_canary_or_of_another_tile_is_none_of_the_row(
    world: World, kind: str
) -> None:
    change_model(world, only(ROPE))
    words = ("--herd", "4x1") if kind == "tile" else ()
    folder = world.registry / "verdicts/npu2-emu/RoPE_bf16/8x64"
    before = set(folder.glob("*.json"))
    recipe = ("verify", "--kernel", ROPE, "--shape", "8x64", "--force", *words)
    assert world.tool(*recipe, "--inject", "zeros").returncode == 1
    (path,) = set(folder.glob("*.json")) - before
    if kind == "canary":
        old = canonical.decode(path.read_bytes(), Verdict)
        new = artifact.named(replace(old, canary=True))
        path.write_bytes(canonical.encode(new))
        for each in folder.glob(f"{old.run_id}.*"):
            each.rename(folder / each.name.replace(old.run_id, new.run_id))
    document = world.json("model", "Tiny")
    assert (document["passed"], document["blockers"]) == (4, [])


def test_a_slower_pass_of_another_tile_leaves_the_row_alone(world: World) -> None:
    path = world.registry / "records/npu2-emu/RoPE_bf16/8x64.json"
    before = path.read_bytes()
    world.ok("verify", "--kernel", ROPE, "--shape", "8x64", "--herd", "4x1", "--force")
    path.write_bytes(before)
    assert needs(world, 1)[ROPE, "8x64"]["passed"]


def test_a_block_that_covers_a_need_meets_it(world: World) -> None:
    folder = world.registry / "kernels"
    folder.mkdir()
    covers = 'covers:\n  - {kernel: SiLU_Mul_bf16, shape: {N: "M * N * 2"}}\n'
    (folder / "Softmax_bf16.yaml").write_text(SPEC + covers)
    (folder / "Softmax_bf16.py").write_text(EMULATOR)
    world.ok("verify", "--kernel", "Softmax_bf16", "--shape", "M=256,N=256")
    found = needs(world, 1)[SILU, "131072"]
    assert found["row"] == "npu2-emu/Softmax_bf16/256x256"
    assert found["block"] == "Softmax_bf16"
    assert found["source"] == "block Softmax_bf16 256×256 (emulation)"
    assert found["criteria"]["correctness"]
    assert not found["criteria"]["row"]
    world.ok("use", "Softmax_bf16/256x256", "Tiny", "prefill SwiGLU")
    assert needs(world, 1)[SILU, "131072"]["passed"]
    assert world.json("model", "Tiny", status=1)["blockers"] == []


def test_a_block_stands_in_for_a_row_that_lost_its_verdict(world: World) -> None:
    folder = world.registry / "kernels"
    folder.mkdir()
    shape = '{rows: "M // 32", head_dim: "N // 4"}'
    covers = f"covers:\n  - {{kernel: {ROPE}, shape: {shape}}}\n"
    (folder / "Softmax_bf16.yaml").write_text(SPEC + covers)
    (folder / "Softmax_bf16.py").write_text(EMULATOR)
    world.ok("verify", "--kernel", "Softmax_bf16", "--shape", "M=256,N=256")
    world.ok("use", "Softmax_bf16/256x256", "Tiny", "decode RoPE Q")
    assert needs(world, 1)[ROPE, "8x64"]["row"] == "npu2-emu/RoPE_bf16/8x64"
    shutil.rmtree(world.registry / "verdicts/npu2-emu/RoPE_bf16/8x64")
    found = needs(world, 1)[ROPE, "8x64"]
    assert found["row"] == "npu2-emu/Softmax_bf16/256x256"
    assert found["passed"]


def test_a_pass_without_a_row_is_no_blocker(world: World) -> None:
    (world.registry / "records/npu2-emu/RoPE_bf16/8x64.json").unlink()
    document = world.json("model", "Tiny", status=1)
    (found,) = [need for need in document["needs"] if need["shape"] == {"rows": 8, "head_dim": 64}]
    assert found["problems"][0]["reason"] == "a run passed, and no row was written of it"
    assert [blocker["kernel"] for blocker in document["blockers"]] == [SILU]


def test_a_kernel_without_emulator_has_no_signal(world: World) -> None:
    folder = world.registry / "kernels"
    folder.mkdir()
    (folder / f"{SILU}.yaml").write_text(f"kernel: {SILU}\nemulator: null\n")
    found = needs(world, 1)[SILU, "131072"]
    assert not found["criteria"]["signal"]
    assert "no emulator" in found["problems"][0]["reason"]


def test_the_diagnosis_of_the_model_is_the_signal_where_hardware_has_no_harness(
    world: World, tmp_path: Path
) -> None:
    folder = world.registry / "kernels"
    folder.mkdir()
    (folder / f"{SILU}.yaml").write_text(f"kernel: {SILU}\nharness: {{}}\n")
    policy = world.registry / "registry.yaml"
    tree = tmp_path / "programming_examples"
    tree.mkdir()
    text = policy.read_text()
    lines = [line for line in text.splitlines() if "harness_root" not in line]
    at = lines.index("  npu2:") + 1
    lines[at:at] = [f"    harness_root: {tree}", "    model_folders: {Tiny: llms/tiny}"]
    policy.write_text("\n".join(lines) + "\n")
    found = needs(world, 1, "--target", "npu2")
    assert found[ROPE, "8x64"]["source"] == "harness rope_halfsplit"
    assert not found[SILU, "131072"]["criteria"]["signal"]
    assert "registry-tool doctor --target npu2" in found[SILU, "131072"]["next"]
    (tree / "llms/tiny").mkdir(parents=True)
    found = needs(world, 1, "--target", "npu2")
    assert found[SILU, "131072"]["criteria"]["signal"]
    assert found[SILU, "131072"]["source"] == "make diagnosis"
    # That folder is where the model's files belong, and it is no part of our repository.
    write(world, "--target", "npu2")
    assert sorted(contents(tree / "llms/tiny")) == sorted(FILES)
    assert "emulat" not in (tree / "llms/tiny/TODO.md").read_text()
    assert world.git("diff", "--cached", "--name-only") == ""


def test_an_unknown_model_is_answered_with_near_names(world: World) -> None:
    done = world.tool("model", "tini")
    assert (done.returncode, done.stdout) == (2, "")
    assert "near: Tiny" in done.stderr
    assert "next: registry-tool model Tiny" in done.stderr
    assert world.tool("model", "../models/Tiny").returncode == 2


def test_a_model_without_needs_passes_nothing(world: World) -> None:
    change_model(world, only())
    done = world.tool("model", "Tiny")
    assert done.returncode == 1
    assert "no needs" in done.stderr


def test_a_need_that_does_not_fit_its_kernel_is_named(world: World) -> None:
    def bend(model: Model) -> Model:
        return replace(model, needs=[replace(model.needs[0], shape={"N": 4})])

    change_model(world, bend)
    done = world.tool("model", "Tiny")
    assert done.returncode == 2
    assert "models/Tiny.json" in done.stderr


def test_a_need_of_a_kernel_without_a_page_is_named(world: World) -> None:
    def bend(model: Model) -> Model:
        return replace(model, needs=[replace(model.needs[0], kernel="Conv_bf16")])

    change_model(world, bend)
    done = world.tool("model", "Tiny")
    assert done.returncode == 2
    assert "models/Tiny.json" in done.stderr
    assert "kernels/Conv_bf16.yaml" in done.stderr


# The device


def on_the_device(bench: Bench) -> World:
    """A registry beside a stand-in device, and a model of three kernels, one without a harness."""
    world = bench.world
    bench.configure(model_folders={"Tiny": "tiny_llama"})
    (world.registry / "kernels").mkdir()
    (world.registry / f"kernels/{SILU}.yaml").write_text(f"kernel: {SILU}\nharness: {{}}\n")
    shapes = {row.kernel: dict(row.shape) for row in ROWS if row.kernel in (ROPE, ADD, SILU)}
    model = Model(
        model="Tiny",
        config_sha256="0" * 64,
        seq=256,
        needs=[
            Need(phase="prefill", site=name, kernel=name, precision=None, shape=shape)
            for name, shape in sorted(shapes.items())
        ],
        uncovered=[],
        notes=[],
    )
    (world.registry / "models").mkdir()
    (world.registry / "models/Tiny.json").write_bytes(canonical.encode(model))
    return world


def test_harness_retry_and_diagnosis_on_a_device(bench: Bench) -> None:
    world = on_the_device(bench)
    assert set(needs(world, 1)[SILU, "32768"]["criteria"].values()) == {True, False}
    bench.tree.misbehave(
        {"kind": "zeros", "folder": "rope_halfsplit", "step": "run", "starts": [1]}
    )
    for need in needs(world, 1).values():
        world.ok(*shlex.split(need["next"][0])[1:])
    found = needs(world, 0)
    rope, add, silu = (found[key] for key in sorted(found, key=lambda key: key != (ROPE, "256x64")))
    assert [need["flaky"] for need in (rope, add, silu)] == [True, False, False]
    assert add["source"] == "harness eltwise_add"
    assert (silu["source"], silu["mean_rel_L1"]) == ("make diagnosis", None)
    write(world, status=0)
    folder = bench.tree.root / "tiny_llama"
    ((rows, _),) = second_opinion.tables((folder / FILES[0]).read_bytes())
    shown = {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows}
    assert shown[ROPE]["Verdict"].startswith("pass (flaky)\n")
    assert shown[ADD]["Verdict"].startswith("pass\n")
    assert " µs" in shown[ADD]["Performance"]
    assert shown[SILU]["Source"] == "make diagnosis"
    assert (shown[SILU]["mean_rel_L1"], shown[SILU]["Performance"]) == ("—", "—")
    for name in FILES:
        assert "emulat" not in (folder / name).read_text()
    assert "\n## Phase 1 (3/3 kernels PASSED)\n" in (folder / "TODO.md").read_text()
    total = 0.0
    for verdict in bench.verdicts():
        starts = [*verdict["attempts"], *(verdict["profile"] or [])]
        total += sum(start["seconds"] for start in starts)
        total += verdict.get("compile", {"seconds": 0.0})["seconds"]
    assert f"Total time: {total:.1f} s." in (folder / FILES[1]).read_text()


def test_what_fails_after_its_retry_is_a_blocker(bench: Bench) -> None:
    world = on_the_device(bench)
    bench.tree.misbehave({"kind": "zeros", "folder": "rope_halfsplit", "step": "run"})
    assert world.tool("verify", "--model", "Tiny", "--kernel", ROPE).returncode == 1
    (blocker,) = world.json("model", "Tiny", status=1)["blockers"]
    assert (blocker["kernel"], blocker["attempts"]) == (ROPE, 2)
    assert "zero" in blocker["causes"][0]["symptom"]
    write(world)
    todo = (bench.tree.root / "tiny_llama/TODO.md").read_text()
    assert "fail after 2 attempts: " in todo.split("## Active blockers")[1]
    assert blocker["log"] in todo


# Blockers


def test_a_need_that_fails_is_a_blocker_with_cause_and_log(world: World) -> None:
    document = world.json("model", "Tiny", status=1)
    (blocker,) = document["blockers"]
    assert (blocker["kernel"], blocker["status"]) == (SILU, "fail")
    assert "all-zero output" in blocker["causes"][0]["likely"]
    assert (world.registry / blocker["log"]).is_file()
    write(world)
    todo = (world.registry / "Tiny/TODO.md").read_text()
    active = todo.split("## Active blockers")[1].split("## Phase 2 prerequisites")[0]
    assert "all-zero output" in active
    assert blocker["log"] in active
    assert "GEMV_bf16" not in active


def test_a_need_that_nothing_can_run_is_a_blocker_with_the_constraint(world: World) -> None:
    def odd(model: Model) -> Model:
        rope = [need for need in model.needs if need.kernel == ROPE]
        return replace(model, needs=[replace(rope[0], shape={"rows": 64, "head_dim": 50})])

    change_model(world, odd)
    (blocker,) = world.json("model", "Tiny", status=1)["blockers"]
    assert blocker["status"] == "impossible"
    assert "head_dim %" in blocker["reason"]


def test_a_blocker_whose_log_was_deleted_is_still_one(world: World) -> None:
    for path in (world.registry / "verdicts/npu2-emu" / SILU).rglob("*.log"):
        path.unlink()
    (blocker,) = world.json("model", "Tiny", status=1)["blockers"]
    assert (blocker["log"], blocker["causes"]) == (None, [])


# The files


def test_the_files_are_written_and_staged_and_nothing_else(world: World) -> None:
    (world.registry / "mine.txt").write_text("not the tool's\n")
    out = write(world)
    paths = sorted(f"Tiny/{name}" for name in FILES)
    assert [line for line in out.splitlines() if line.startswith("wrote")] == [
        f"wrote Tiny/{name}" for name in FILES
    ]
    assert world.git("diff", "--cached", "--name-only").split() == paths
    assert sorted(f"Tiny/{name}" for name in contents(world.registry / "Tiny")) == paths
    for name in FILES:
        text = (world.registry / "Tiny" / name).read_text()
        assert "these numbers are emulated and stand for no hardware" in text
    todo = (world.registry / "Tiny/TODO.md").read_text()
    assert "\n## Phase 1 (4/16 kernels PASSED)\n" in todo
    assert "\n## Active blockers\n" in todo
    assert "\n## Phase 2 prerequisites\n" in todo
    world.ok("check")
    assert world.commit("-qm", "Write it down").returncode == 0


def test_nothing_is_staged_on_request(world: World) -> None:
    write(world, "--no-stage")
    assert world.git("diff", "--cached", "--name-only") == ""


def test_the_table_shows_every_need_with_its_figures(world: World) -> None:
    write(world)
    ((rows, _),) = second_opinion.tables((world.registry / "Tiny" / FILES[0]).read_bytes())
    titles, *lines = rows
    assert titles[:2] == ["Kernel", "Shape"]
    assert titles[3:] == [
        "Source", "Verdict", "mean_rel_L1", "max_abs", "max_rel", "Performance", "Tile", "Tiles",
        "Notes",
    ]  # fmt: skip
    assert len(lines) == 16
    shown = {(line[0], line[1]): dict(zip(titles, line, strict=True)) for line in lines}
    rope = shown[ROPE, "2048×64"]
    assert rope["Verdict"].startswith("pass (emulated)\n")
    assert (rope["Performance"], rope["Tiles"]) == ("emulated", "8")
    assert shown[SILU, "131072"]["Verdict"].startswith("fail\n")
    assert shown["EltwiseAdd_bf16", "65536"]["Verdict"] == "not run"


def test_the_total_time_is_that_of_the_verdicts(world: World) -> None:
    total = 0.0
    for path in world.verdicts():
        total += sum(run["seconds"] for run in json.loads(path.read_bytes())["attempts"])
    write(world)
    progress = (world.registry / "Tiny" / FILES[1]).read_text()
    assert f"Total time: {total:.1f} s. It is the wall time of every start" in progress
    assert "5 verdicts: 4 pass, 1 do not" in progress
    assert world.json("model", "Tiny", status=1)["seconds"] == pytest.approx(total, abs=1e-5)


def test_writing_again_changes_nothing(world: World) -> None:
    write(world)
    folder = world.registry / "Tiny"
    before = contents(folder)
    stamps = {path: path.stat().st_mtime_ns for path in folder.rglob("*.md")}
    assert "up to date" in write(world)
    assert contents(folder) == before
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.md")} == stamps


def test_regions_follow_and_prose_stays(world: World) -> None:
    folder = world.registry / "Tiny"
    (folder / "docs/development_progress").mkdir(parents=True)
    todo, progress = folder / "TODO.md", folder / FILES[1]
    top = b"# Mine\r\n\r\nkeep  this \xc2\xa0\r\n\r\n## Active blockers\r\n"
    bottom = b"- my own blocker\r\n\r\n```\r\n## Phase 2 prerequisites\r\n```"
    todo.write_bytes(top + bottom)
    progress.write_bytes(b"one line, no newline")
    write(world)
    data = todo.read_bytes()
    assert data.startswith(top)
    assert bottom in data
    assert data.count(b"\n") == data.count(b"\r\n")
    assert data.count(b"## Active blockers") == 1
    assert progress.read_bytes().startswith(b"one line, no newline\n\n## Phase 1\n")
    todo.write_bytes(data.replace(b"- my own blocker", b"- my own blocker, still") + b"\r\nEnd")
    world.ok("verify", "--model", "Tiny", "--kernel", SILU)
    write(world)
    data = todo.read_bytes()
    assert b"Phase 1 (5/16 kernels PASSED)" in data
    assert b"4/16" not in data
    assert b"- my own blocker, still" in data
    assert data.endswith(b"\r\nEnd")
    assert data.count(b"registry:begin") == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("- [ ]", "- [x]", 1), "edited by hand"),
        (lambda text: text.replace("<!-- registry:begin blockers -->\n", ""), "without a begin"),
        (lambda text: text.replace("registry:end", "registry:fin", 1), "has not ended"),
        (lambda text: text + text, "a second time"),
        (lambda text: text.split("\n## Active blockers")[0], "'blockers' is missing"),
    ],
)
def test_a_broken_or_edited_region_is_refused_and_no_file_changes(
    world: World, change: Callable[[str], str], words: str
) -> None:
    write(world)
    folder = world.registry / "Tiny"
    todo = folder / "TODO.md"
    todo.write_text(change(todo.read_text()))
    world.ok("verify", "--model", "Tiny", "--kernel", SILU)
    before = contents(folder)
    done = world.tool("model", "Tiny", "--write")
    assert done.returncode == 2
    assert words in done.stderr
    assert "TODO.md:" in done.stderr
    assert "next: " in done.stderr
    assert contents(folder) == before


def test_an_edit_is_dropped_on_request(world: World) -> None:
    write(world)
    todo = world.registry / "Tiny/TODO.md"
    before = todo.read_bytes()
    todo.write_bytes(before.replace(b"- [ ]", b"- [x]", 1))
    done = world.tool("model", "Tiny", "--write")
    command = done.stderr.split("next: ")[1].partition(" (")[0]
    assert command == "registry-tool model Tiny --target npu2-emu --write --force"
    write(world, "--force")
    assert todo.read_bytes() == before


def test_regions_of_another_target_are_not_replaced_in_silence(world: World) -> None:
    policy = world.registry / "registry.yaml"
    one = "  npu2-emu:\n"
    text = policy.read_text()
    assert one in text
    block = one + text.partition(one)[2].partition("\n  npu2")[0].partition("\nsigning")[0]
    policy.write_text(text.replace(block, block.replace("npu2-emu", "other-emu") + "\n" + block))
    write(world, "--target", "npu2-emu")
    before = contents(world.registry / "Tiny")
    done = world.tool("model", "Tiny", "--target", "other-emu", "--write")
    assert done.returncode == 2
    assert "tells of target npu2-emu" in done.stderr
    assert "model Tiny --target other-emu --write --force (" in done.stderr
    assert contents(world.registry / "Tiny") == before
    write(world, "--target", "other-emu", "--force")
    assert b"Target other-emu" in contents(world.registry / "Tiny")["TODO.md"]


def test_a_heading_of_phase_1_is_taken_whatever_it_counts(world: World) -> None:
    folder = world.registry / "Tiny"
    folder.mkdir()
    todo = folder / "TODO.md"
    todo.write_text("# Tiny\n\n## Phase 1 (0/16 kernels PASSED)\n\nmine\n\n## Later\n")
    write(world)
    text = todo.read_text()
    assert text.count("## Phase 1") == 1
    start = "## Phase 1 (0/16 kernels PASSED)\n\n<!-- registry:begin phase1 -->\n\n"
    assert f"{start}Phase 1 (4/16 kernels PASSED)." in text
    assert "up to date" in write(world)


def test_a_file_in_place_of_the_folder_is_not_to_be_made(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = world.tool("model", "Tiny", "--write", "--folder", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "not a folder" in done.stderr
    assert "mkdir" not in done.stderr


def test_no_file_is_written_where_one_cannot_be(world: World) -> None:
    folder = world.registry / "Tiny"
    folder.mkdir()
    (folder / "docs").write_text("a file, where a folder is needed\n")
    done = world.tool("model", "Tiny", "--write")
    assert done.returncode == 2
    assert str(folder / "docs" / "development_progress") in done.stderr
    assert sorted(contents(folder)) == ["docs"]


def test_another_folder_is_taken_and_must_be_there(world: World, tmp_path: Path) -> None:
    other = tmp_path / "a model's folder"
    done = world.tool("model", "Tiny", "--write", "--folder", str(other))
    assert done.returncode == 2
    assert "no such folder" in done.stderr
    other.mkdir()
    write(world, "--folder", str(other))
    assert sorted(contents(other)) == sorted(FILES)
    assert world.git("diff", "--cached", "--name-only") == ""
    assert world.tool("model", "Tiny", "--folder", str(other)).returncode == 2


def test_files_elsewhere_in_the_repository_are_staged_too(tmp_path: Path, begun: World) -> None:
    repository = tmp_path / "tree"
    shutil.copytree(begun.registry, repository / "kernel_registry", ignore=_without_git)
    world = World(repository, repository / "kernel_registry", begun.environment)
    world.run("git", "init", "-q", cwd=repository)
    (repository / "llms/tiny").mkdir(parents=True)
    write(world, "--folder", "../llms/tiny")
    staged = world.git("diff", "--cached", "--name-only").split()
    assert staged == sorted(f"llms/tiny/{name}" for name in FILES)


def test_files_in_a_repository_of_their_own_are_not_staged(world: World) -> None:
    inner = world.registry / "inner"
    inner.mkdir()
    world.run("git", "init", "-q", cwd=inner)
    write(world, "--folder", "inner")
    assert world.git("diff", "--cached", "--name-only") == ""


def _without_git(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == ".git"]


def test_a_model_called_like_a_part_of_the_registry_needs_a_folder(world: World) -> None:
    path = world.registry / "models/Tiny.json"
    model = replace(canonical.decode(path.read_bytes(), Model), model="details")
    (world.registry / "models/details.json").write_bytes(canonical.encode(model))
    before = contents(world.registry / "details")
    done = world.tool("model", "details", "--write")
    assert done.returncode == 2
    assert "--folder DIR" in done.stderr
    assert contents(world.registry / "details") == before


def test_what_no_page_covers_is_a_prerequisite_of_phase_2(world: World) -> None:
    more = [
        Uncovered(phase="prefill", site="post-attention norm", reason="no page | *yet*"),
        Uncovered(phase="prefill", site="soft-capping of logits", reason="no page"),
    ]
    notes = ["Q, K and V carry a bias; adding it has no page of its own", "1. head_dim is absent"]
    change_model(world, lambda model: replace(model, uncovered=more, notes=notes))
    assert world.json("model", "Tiny", status=1)["uncovered"][0]["site"] == "post-attention norm"
    write(world)
    todo = (world.registry / "Tiny/TODO.md").read_text().split("## Phase 2 prerequisites")[1]
    uncovered, assumed = todo.split("Assumed when the needs were derived:")
    assert "- prefill post-attention norm: no page \\| \\*yet\\*\n" in uncovered
    assert "- prefill soft-capping of logits: no page\n" in uncovered
    assert "carry a bias" in uncovered
    assert "- 1\\. head_dim is absent" in assumed


def test_the_digest_of_a_file_does_not_depend_on_where_it_is_written(
    world: World, tmp_path: Path
) -> None:
    """No path of this machine, no time of day: two engineers write the same bytes."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        write(world, "--folder", str(folder))
    digests = [
        [hashlib.sha256(data).hexdigest() for _, data in sorted(contents(folder).items())]
        for folder in (one, two)
    ]
    assert digests[0] == digests[1]
    assert str(world.registry).encode() not in b"".join(contents(one).values())
