"""Whatever stopped an earlier run, the next one stages what its pages show, and nothing else."""

from __future__ import annotations

import pytest

from tests.acceptance import world as worlds
from tests.acceptance.world import World

ROPE = ("verify", "--kernel", "RoPE_bf16", "--shape", "64x64")
ADD = ("verify", "--kernel", "EltwiseAdd_bf16", "--shape", "N=262144")


@pytest.mark.parametrize("second", [ROPE, ADD, ("verify",)])
def test_rows_that_were_not_staged_are_staged_by_the_next_verify(
    hooked: World, second: tuple[str, ...]
) -> None:
    hooked.ok(*ROPE, "--no-stage")
    hooked.ok(*second)
    done = hooked.commit("-m", "Verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert hooked.git("status", "--porcelain") == ""


def test_a_note_stages_the_rows_that_its_page_shows(hooked: World) -> None:
    hooked.ok(*ROPE, "--no-stage")
    hooked.ok("note", "RoPE_bf16/64x64", "a remark")
    assert hooked.commit("-m", "Note").returncode == 0
    assert hooked.git("status", "--porcelain") == ""


def test_the_model_of_an_interrupted_run_is_staged_later(hooked: World) -> None:
    config = hooked.write_config()
    words = ("--config", str(config), "--model", "Tiny", "--seq", "256", "--kernel", "RoPE_bf16")
    hooked.ok("verify", *words, "--no-stage")
    hooked.ok(*ROPE)
    assert "models/Tiny.json" in hooked.git("diff", "--cached", "--name-only")


def test_prose_in_a_page_that_is_up_to_date_stays_unstaged(world: World) -> None:
    world.ok(*ROPE)
    world.git("commit", "-qm", "Verify")
    page = world.registry / "details/GELU_bf16.md"
    page.write_text(page.read_text() + "\nA thought of mine.\n")
    world.ok(*ADD)
    assert world.git("diff", "--name-only").split() == ["details/GELU_bf16.md"]


def test_a_saved_model_is_not_replaced_by_another_config(world: World) -> None:
    words = ("--model", "Tiny", "--kernel", "RoPE_bf16")
    world.ok("verify", "--config", str(world.write_config()), "--seq", "64", *words)
    before = (world.registry / "models/Tiny.json").read_bytes()
    other = world.write_config({**worlds.TINY_LLAMA, "hidden_size": 512}, "other")
    for config, seq in ((other, "64"), (world.write_config(), "128")):
        done = world.tool("verify", "--config", str(config), "--seq", seq, *words)
        assert done.returncode == 2
        assert "--model ANOTHER_NAME" in done.stderr
    assert (world.registry / "models/Tiny.json").read_bytes() == before


def test_an_unknown_fault_is_refused_before_anything_runs(world: World) -> None:
    assert world.tool(*ROPE, "--inject", "bogus").returncode == 2
    assert world.verdicts() == []


def test_a_reader_that_goes_away_changes_neither_status_nor_work(world: World) -> None:
    done = world.run("sh", "-c", f"registry-tool {' '.join(ROPE)} 2>&1 | true; git status --short")
    assert "A  records/npu2-emu/RoPE_bf16/64x64.json" in done.stdout
    (path,) = world.records()
    path.write_text(path.read_text().replace('"mean_rel_L1": 0.00', '"mean_rel_L1": 0.01'))
    done = world.run("bash", "-c", "set -o pipefail; registry-tool check | true")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_closed_streams_are_no_bug(world: World) -> None:
    for words in ("status >&-", "status 2>&-", f"{' '.join(ROPE)} >&- 2>&-", "--help >/dev/full"):
        done = world.run("sh", "-c", f"registry-tool {words}")
        assert "bug" not in done.stderr
        assert "Traceback" not in done.stderr
    assert len(world.records()) == 1


def test_without_git_the_message_says_so(world: World) -> None:
    tool = world.run("sh", "-c", "command -v registry-tool").stdout.strip()
    world.environment["PATH"] = str(world.folder)
    for words in (("check", "--staged"), ("log",), ("init", "elsewhere")):
        done = world.run(tool, *words)
        assert done.returncode == 2
        assert "git is not on PATH" in done.stderr
    assert not (world.registry / "elsewhere").exists()


def test_a_long_remark_is_refused_at_once(world: World) -> None:
    world.ok(*ROPE)
    world.ok("note", "64x64", "a" * 1000)
    assert world.tool("note", "64x64", "a" * 1001).returncode == 2
