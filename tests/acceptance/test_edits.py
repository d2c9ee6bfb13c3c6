"""note, use, retire and fmt: the everyday edits of human-owned fields."""

from __future__ import annotations

import json

from tests.acceptance.world import World

ROPE = ("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64")


def record(world: World) -> dict[str, object]:
    (path,) = world.records()
    document: dict[str, object] = json.loads(path.read_bytes())
    return document


def test_a_note_reaches_the_row_and_its_table_and_passes_the_gate(hooked: World) -> None:
    hooked.ok(*ROPE)
    hooked.ok("note", "RoPE_bf16/64x64", "a remark | with a pipe")
    assert record(hooked)["notes"] == ["a remark | with a pipe"]
    assert "a remark \\| with a pipe" in (hooked.registry / "details/RoPE_bf16.md").read_text()
    assert hooked.commit("-m", "Note").returncode == 0
    hooked.ok("note", "64x64", "a remark | with a pipe", "--remove")
    assert record(hooked)["notes"] == []


def test_a_use_is_credited_once(world: World) -> None:
    world.ok(*ROPE)
    for _ in range(2):
        world.ok("use", "64x64", "Tiny", "prefill RoPE Q")
    assert record(world)["used_by"] == [{"model": "Tiny", "site": "prefill RoPE Q"}]
    world.ok("use", "64x64", "Tiny", "prefill RoPE Q", "--remove")
    assert record(world)["used_by"] == []


def test_a_retired_row_leaves_the_tables_and_keeps_its_verdicts(hooked: World) -> None:
    hooked.ok(*ROPE)
    assert hooked.commit("-m", "Verify").returncode == 0
    hooked.ok("retire", "npu2-emu/RoPE_bf16/64x64")
    assert hooked.records() == []
    assert len(hooked.verdicts()) == 1
    done = hooked.commit("-m", "Retire")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "64×64" not in (hooked.registry / "details/RoPE_bf16.md").read_text()
    events = [event["event"] for event in hooked.json("log", "RoPE_bf16")]
    assert sorted(events) == ["added", "retired"]


def test_fmt_repairs_formatting_and_nothing_else(world: World) -> None:
    world.ok(*ROPE)
    (path,) = world.records()
    canonical = path.read_bytes()
    path.write_text(json.dumps(json.loads(canonical)))
    assert world.tool("check").returncode == 1
    assert world.tool("fmt", "--check").returncode == 1
    world.ok("fmt")
    assert path.read_bytes() == canonical
    world.ok("check")
    path.write_text(canonical.decode().replace('"herd": [', '"herd": "8x1", "x": ['))
    done = world.tool("fmt")
    assert done.returncode == 1
    assert "herd" in done.stderr


def test_a_row_is_found_by_path_or_unique_end_and_near_misses_are_named(world: World) -> None:
    world.ok(*ROPE)
    for name in ("records/npu2-emu/RoPE_bf16/64x64.json", "RoPE_bf16/64×64", "64x64"):
        world.ok("note", name, f"by {name}")
    done = world.tool("note", "RoPE_bf16/64x65", "x")
    assert done.returncode == 2
    assert "npu2-emu/RoPE_bf16/64x64" in done.stderr


def test_bad_words_are_refused(world: World) -> None:
    world.ok(*ROPE)
    for words in (
        ("note", "64x64", "  "),
        ("note", "64x64", "computed: nonsense"),
        ("note", "64x64", "a\x07bell"),
        ("note", "64x64", "never said", "--remove"),
        ("use", "64x64", "", "site"),
    ):
        assert world.tool(*words).returncode == 2, words
