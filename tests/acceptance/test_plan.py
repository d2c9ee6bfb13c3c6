"""The working list through the real command: states, proposals, formats, several models."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from markdown_it import MarkdownIt

from tests.acceptance.world import TINY_LLAMA, World

ROPE = ("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64")


def config(world: World, name: str, **changes: object) -> str:
    path = world.folder.parent / f"{name}.json"
    path.write_text(json.dumps({**TINY_LLAMA, **changes}))
    return str(path)


def test_a_missing_need_shows_what_would_run_and_what_to_expect(world: World) -> None:
    world.ok("verify", "--kernel", "RoPE_bf16", "--shape", "rows=4096,head_dim=64")
    tasks = world.json("plan", "--config", config(world, "Tiny"), "--seq", "256", status=1)
    rope = next(task for task in tasks if task["shape"] == {"rows": 2048, "head_dim": 64})
    assert rope["state"] == "missing"
    first = rope["candidates"][0]
    assert first["source"] == "copied from 4096×64"
    assert first["tiles_in_flight"] <= first["tiles_target"]
    assert all(check["holds"] for check in first["checks"] if check["kind"] == "hard")
    assert rope["estimate_s"] >= 0
    assert "4096×64" in rope["estimated_from"]


def test_a_kernel_that_never_ran_has_no_estimate_and_the_text_says_so(world: World) -> None:
    tasks = world.json("plan", "--config", config(world, "Tiny"), "--seq", "256", status=1)
    assert {task["estimate_s"] for task in tasks} == {None}
    done = world.tool("plan", "--config", config(world, "Tiny"), "--seq", "256")
    assert "of a kernel that has no recorded run on npu2-emu" in done.stdout


def test_what_blocks_most_models_comes_first(world: World) -> None:
    first = config(world, "First", hidden_size=512, num_attention_heads=8)
    second = config(world, "Second", hidden_size=512, intermediate_size=1024)
    tasks = world.json("plan", "--common", first, second, "--seq", "256", status=1)
    missing = [task["models"] for task in tasks if task["state"] == "missing"]
    assert missing == sorted(missing, reverse=True)
    assert missing[0] == 2
    assert 1 in missing
    sites = {use["model"] for use in tasks[0]["used_by"]}
    assert sites == {"First", "Second"}


def test_a_config_that_is_refused_does_not_stop_the_others(world: World) -> None:
    dense, mixture = config(world, "Dense"), config(world, "Mixture", num_local_experts=8)
    done = world.tool("plan", "--common", dense, mixture, "--seq", "256")
    assert done.returncode == 1
    assert "left out: " in done.stderr
    assert "num_local_experts" in done.stderr
    assert world.tool("plan", "--common", mixture).returncode == 2


def test_common_takes_saved_models_by_name(world: World) -> None:
    (world.registry / "models").mkdir(exist_ok=True)
    words = ("--kernel", "RoPE_bf16", "--seq", "64")
    world.ok("verify", "--config", config(world, "Tiny"), "--model", "Saved", *words)
    tasks = world.json("plan", "--common", "Saved", "--kernel", "RoPE_bf16")
    assert {task["state"] for task in tasks} == {"verified"}
    assert world.tool("plan", "--common", "Saved", "Saved").returncode == 2


def test_the_markdown_list_is_one_table_with_every_need(world: World, tmp_path: Path) -> None:
    world.ok(*ROPE)
    words = ("plan", "--config", config(world, "Ti|ny"), "--model", "Tiny", "--seq", "256")
    tasks = world.json(*words, status=1)
    needs = [task for task in tasks if task["state"] != "no page"]
    done = world.tool(*words, "--format", "md")
    tokens = MarkdownIt("commonmark").enable("table").parse(done.stdout)
    rows = [token for token in tokens if token.type == "tr_open"]
    assert len(rows) == len(needs) + 1
    assert "No kernel page covers:" in done.stdout


def test_status_models_is_a_matrix(world: World) -> None:
    words = ("--kernel", "RoPE_bf16", "--seq", "64")
    world.ok("verify", "--config", config(world, "Tiny"), "--model", "Tiny", *words)
    found = world.json("status", "--models")
    rope = found["models"]["Tiny"]["RoPE_bf16"]
    assert rope["verified"] == rope["needed"] > 0
    assert found["models"]["Tiny"]["GEMV_bf16"]["verified"] == 0
    assert found["credits"] == []
    assert "RoPE_bf16" in world.ok("status", "--models")
    assert world.tool("status", "--format", "md").returncode == 2


def test_a_credit_that_was_taken_away_is_missed_with_the_words_to_mend_it(world: World) -> None:
    words = ("--kernel", "RoPE_bf16", "--seq", "64")
    world.ok("verify", "--config", config(world, "Tiny"), "--model", "Tiny", *words)
    [first, *_] = world.records()
    row = f"npu2-emu/RoPE_bf16/{first.stem}"
    uses = json.loads(first.read_bytes())["used_by"]
    for use in uses:
        world.ok("use", row, use["model"], use["site"], "--remove")
    found = world.json("status", "--models")["credits"]
    assert {credit["row"] for credit in found} == {row}
    for _ in found:
        text = world.ok("status", "--models")
        line = next((line for line in text.splitlines() if "next: " in line), None)
        if line is not None:
            world.ok(*shlex.split(line.partition("registry-tool ")[2]))
    assert world.json("status", "--models")["credits"] == []


def test_what_no_page_covers_is_listed_once_for_all_models_that_have_it(world: World) -> None:
    first, second = config(world, "First"), config(world, "Second", hidden_size=512)
    words = ("plan", "--common", first, second, "--seq", "256")
    tasks = world.json(*words, status=1)
    [attention] = [
        task for task in tasks if {use["site"] for use in task["used_by"]} == {"decode attention"}
    ]
    assert (attention["state"], attention["kernel"]) == ("no page", None)
    assert [use["model"] for use in attention["used_by"]] == ["First", "Second"]
    text, markdown = world.tool(*words).stdout, world.tool(*words, "--format", "md").stdout
    assert text.count("decode attention: ") == markdown.count("decode attention: ") == 1
    assert "for 2 models: First, Second" in text
    assert "- 2 models: First, Second: decode attention: " in markdown


def test_a_need_that_no_tile_fits_comes_with_the_padding_to_type(world: World) -> None:
    words = ("plan", "--config", config(world, "Odd", intermediate_size=588), "--seq", "256")
    tasks = world.json(*words, status=1)
    down = next(
        task
        for task in tasks
        if task["kernel"] == "GEMM_bf16_in_bf16_out" and task["shape"]["K"] == 588
    )
    assert down["state"] == "impossible"
    option, value = down["obstacles"][-1].partition("one fits with ")[2].split()
    padded = world.json(*words, option, value, status=1)
    states = {task["state"] for task in padded if "prefill Down proj" in str(task["used_by"])}
    assert states == {"missing"}


def test_a_saved_need_of_a_kernel_without_a_page_is_said_everywhere(world: World) -> None:
    words = ("--kernel", "RoPE_bf16", "--seq", "64")
    world.ok("verify", "--config", config(world, "Tiny"), "--model", "Tiny", *words)
    saved = world.registry / "models" / "Tiny.json"
    saved.write_text(saved.read_text().replace("RMSNorm_bf16", "OtherNorm_bf16"))
    cell = world.json("status", "--models")["models"]["Tiny"]["OtherNorm_bf16"]
    assert (cell["verified"], cell["needed"]) == (0, 2)
    assert "OtherNorm_bf16 M=64 N=" in world.ok("status")
    planned = world.json("plan", status=1)
    reasons = [task["obstacles"][0] for task in planned if task["state"] == "no page"]
    assert sum("no page OtherNorm_bf16" in reason for reason in reasons) == 2
    done = world.tool("verify", "--dry-run")
    assert "no page OtherNorm_bf16 in this registry" in done.stderr


def test_a_choice_that_one_model_does_not_have_leaves_the_others(world: World) -> None:
    gated = config(world, "Gated")
    plain = config(world, "Plain", model_type="arcee", hidden_act="relu2")
    done = world.tool("plan", "--common", gated, plain, "--seq", "256", "--fuse", "gate_up")
    assert done.returncode == 1
    assert f"left out: {plain}: --fuse gate_up" in done.stderr
    assert "Gate+Up proj (fused)" in done.stdout
