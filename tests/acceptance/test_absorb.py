"""absorb: hand edits of generated tables, and what a merge leaves of them, in real repositories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance import world as worlds
from tests.acceptance.world import World

ROPE = "details/RoPE_bf16.md"
GEMM = "details/GEMM_bf16_in_bf16_out.md"
SHAPES = ("rows=32,head_dim=64", "rows=64,head_dim=64", "rows=96,head_dim=64")


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four verified rows, committed: what `world` is a copy of."""
    folder = tmp_path_factory.mktemp("verified")
    world = worlds.make(folder)
    for shape in SHAPES:
        world.ok("verify", "--kernel", "RoPE_bf16", "--shape", shape)
    world.ok("verify", "--kernel", "GEMM_bf16_in_bf16_out", "--shape", "M=256,K=128,N=256")
    world.ok("use", "RoPE_bf16/32x64", "My Model 2", "prefill RoPE K")
    done = world.commit("-m", "Verify")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def copy_of(world: Path, folder: Path) -> World:
    shutil.copytree(world, folder / "w", symlinks=True)
    repository = folder / "w" / "repo"
    return World(repository, repository, worlds.environment(folder / "w"))


@pytest.fixture
def world(verified: Path, tmp_path: Path) -> World:
    return copy_of(verified, tmp_path)


@pytest.fixture(scope="module")
def conflict(verified: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A merge of two branches that each added a row and a remark, before anybody resolved it."""
    folder = tmp_path_factory.mktemp("conflict")
    world = copy_of(verified, folder)
    verify = ("verify", "--kernel", "RoPE_bf16", "--shape")

    def left() -> None:
        world.ok(*verify, "rows=128,head_dim=64")
        world.ok("note", "RoPE_bf16/32x64", "from the left")

    def right() -> None:
        world.ok(*verify, "rows=160,head_dim=64")
        world.ok("note", "RoPE_bf16/96x64", "from the right")

    branch(world, "left", left, "Left")
    branch(world, "right", right, "Right")
    done = world.run("git", "merge", "left", "-m", "Merge")
    assert "CONFLICT" in done.stdout
    return folder / "w"


@pytest.fixture
def merging(conflict: Path, tmp_path: Path) -> World:
    """The same with our side of every conflict but that of the page, which is as git left it."""
    world = copy_of(conflict, tmp_path)
    for path in ("details/RoPE_bf16.json", "supported_kernels.md"):
        world.git("checkout", "--ours", "--", path)
    return world


def page(world: World, path: str = ROPE) -> str:
    return (world.registry / path).read_bytes().decode()


def change(world: World, path: str, edit: Callable[[str], str]) -> None:
    before = page(world, path)
    after = edit(before)
    assert after != before
    (world.registry / path).write_bytes(after.encode())


def cell(row: str, at: int, text: str) -> Callable[[str], str]:
    """An edit that writes ``text`` into a cell of the line that begins with ``row``."""

    def edit(whole: str) -> str:
        lines = whole.split("\n")
        (number,) = [n for n, line in enumerate(lines) if line.startswith(f"| {row} |")]
        cells = lines[number].split(" | ")
        cells[at] = text
        lines[number] = " | ".join(cells)
        return "\n".join(lines)

    return edit


USED_BY, NOTES, MEAN, HERD = 7, 8, 5, 1


def record(world: World, name: str) -> Any:
    return json.loads((world.registry / f"records/npu2-emu/{name}.json").read_bytes())


def state(world: World) -> dict[str, bytes]:
    """Every file of the registry, and the index."""
    files = {
        str(path.relative_to(world.registry)): path.read_bytes()
        for path in world.registry.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(world.registry).parts
    }
    return files | {"index": world.git("ls-files", "-s").encode()}


def refused(world: World, *words: str, status: int = 1) -> str:
    """What `absorb` says when it refuses; nothing at all may have been written."""
    before = state(world)
    done = world.tool("absorb", *words)
    assert done.returncode == status, done.stdout + done.stderr
    assert state(world) == before
    return done.stdout + done.stderr


def committed(world: World) -> None:
    """What is staged passes the gate, and is all that there is to commit."""
    world.ok("check", "--staged")
    done = world.commit("-m", "A change")
    assert done.returncode == 0, done.stdout + done.stderr


def test_notes_and_users_go_into_the_row_and_pass_the_gate(world: World) -> None:
    change(world, ROPE, cell("64×64", NOTES, r"one \| two<br>`code` & more"))
    change(world, ROPE, cell("64×64", USED_BY, "Tiny prefill RoPE Q<br>My Model 2 decode"))
    assert world.tool("check").returncode == 1
    world.ok("absorb")
    row = record(world, "RoPE_bf16/64x64")
    assert row["notes"] == ["one | two", "code & more"]
    assert row["used_by"] == [
        {"model": "Tiny", "site": "prefill RoPE Q"},
        {"model": "My Model 2", "site": "decode"},
    ]
    assert "Tiny prefill RoPE Q<br>My Model 2 decode | one \\| two<br>code & more |" in page(world)
    committed(world)
    assert world.git("status", "--porcelain") == ""
    assert "nothing was edited by hand" in world.ok("absorb")


def test_what_was_there_can_be_taken_away_and_put_in_another_order(world: World) -> None:
    world.ok("note", "RoPE_bf16/32x64", "first")
    world.ok("note", "RoPE_bf16/32x64", "second")
    change(world, ROPE, cell("32×64", NOTES, "second<br>first"))
    change(world, ROPE, cell("32×64", USED_BY, ""))
    world.ok("absorb")
    assert record(world, "RoPE_bf16/32x64")["notes"] == ["second", "first"]
    assert record(world, "RoPE_bf16/32x64")["used_by"] == []


def test_a_measured_cell_is_refused_by_name_and_nothing_is_written(world: World) -> None:
    change(world, ROPE, cell("64×64", NOTES, "this one would be fine"))
    change(world, ROPE, cell("64×64", MEAN, "1.00e-3"))
    change(world, ROPE, cell("96×64", HERD, "4×1"))
    said = refused(world)
    line = page(world).split("\n").index(next(x for x in page(world).split("\n") if "64×64" in x))
    assert f"{ROPE}:{line + 1}: npu2-emu/RoPE_bf16/64x64: mean_rel_L1: was '2.78e-3'" in said
    assert "says '1.00e-3'" in said
    assert "verify --target npu2-emu --kernel RoPE_bf16 --shape rows=96,head_dim=64" in said
    assert "--herd 4x1 --force" in said
    assert "2 refused; nothing was written" in said
    document = world.json("absorb", status=1)
    assert [one["column"] for one in document["refused"]] == ["mean_rel_L1", "Herd"]
    assert document["refused"][0]["before"] == "2.78e-3"
    assert document["refused"][0]["after"] == "1.00e-3"
    assert document["changed"] == document["files"] == []


def test_the_command_that_a_refusal_names_runs(world: World) -> None:
    change(world, ROPE, cell("96×64", HERD, "4×1"))
    fix = world.json("absorb", status=1)["refused"][0]["fix"]
    world.ok("render", "--force")
    world.ok(*fix.partition("registry-tool ")[2].split())
    assert record(world, "RoPE_bf16/96x64")["herd"] == [4, 1]


def test_computed_remarks_and_the_index_are_nobodys_to_change(world: World) -> None:
    assert "computed: tier-down" in page(world, GEMM)
    change(world, GEMM, lambda text: text.replace("computed: tier-down", "computed: no tier-down"))
    assert "Notes: was 'computed: tier-down" in refused(world)
    world.ok("render", "--force")
    change(world, "supported_kernels.md", lambda text: text.replace("| 3 |", "| 4 |"))
    said = refused(world)
    assert "Rows: was '3', says '4'" in said
    assert "render --force" in said


def test_an_added_row_leaves_the_table_and_becomes_a_command_that_verifies_it(
    world: World,
) -> None:
    added = "| 128x64 | 4x1 | 4 | 1 µs | 99.9 | 1e-3 | 1e-2 | Tiny decode | -10 % \\| odd | ✅ |"
    change(world, ROPE, lambda text: text.replace("| 96×64", f"{added}\n| 96×64"))
    plan = world.folder.parent / "plan.sh"
    document = world.json("absorb", "--plan", str(plan))
    (entry,) = document["planned"]
    assert entry["command"] == (
        "registry-tool verify --target npu2-emu --kernel RoPE_bf16 "
        "--shape rows=128,head_dim=64 --herd 4x1"
    )
    assert entry["dropped"]["GB/s"] == "99.9"
    assert "128" not in page(world).partition("registry:begin")[2]
    assert not (world.registry / "records/npu2-emu/RoPE_bf16/128x64.json").exists()
    # The plan is a file that a shell runs, and the words written beside the row survive.
    done = world.run("sh", "-e", str(plan))
    assert done.returncode == 0, done.stdout + done.stderr
    row = record(world, "RoPE_bf16/128x64")
    assert row["herd"] == [4, 1]
    assert row["notes"][-1] == "-10 % | odd"
    assert row["used_by"] == [{"model": "Tiny", "site": "decode"}]


def test_a_plan_keeps_what_it_holds_and_names_a_row_once(world: World) -> None:
    plan = world.folder.parent / "plan.sh"
    plan.write_text("# mine")
    added = "| 128×64 |  |  |  |  |  |  |  |  |  |\n| 96×64"
    for _ in range(2):
        change(world, ROPE, lambda text: text.replace("| 96×64", added))
        world.ok("absorb", "--plan", str(plan))
    lines = plan.read_text().split("\n")
    assert lines[0] == "# mine"
    assert sum(line.startswith("registry-tool verify") for line in lines) == 1


def test_an_added_row_with_a_variant_and_a_tile_names_both(world: World) -> None:
    added = "| 512×128×256 | drain | — | 32/128/32/64 | 8×4 |  |  |  |  |  |  |  |"
    change(world, GEMM, lambda text: text.replace("| 256×128×256", f"{added}\n| 256×128×256"))
    (entry,) = world.json("absorb")["planned"]
    assert entry["command"].endswith(
        "--shape M=512,K=128,N=256 --variant drain "
        "--tile tile_m=32,tile_k_l2=128,tile_k_l1=32,tile_n=64 --herd 8x4"
    )
    assert entry["row"] == "npu2-emu/GEMM_bf16_in_bf16_out/512x128x256+drain"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("| 128 |  |  |  |  |  |  |  |  |  |", "'128'"),
        ("| 128×64 | 8 |  |  |  |  |  |  |  |  |", "herd"),
        ("| 128×64 |  |  |  |  |  |  | Llama |  |  |", "MODEL SITE"),
        ("| 128×64 |  |  |  |  |  |  |  | computed: x |  |", "remark of the tool"),
        ("| 128×64 |  |  |  |  |  |  |  | [a](https://e.invalid) |  |", "would be lost"),
    ],
)
def test_an_added_row_that_cannot_be_read_is_refused_with_its_line(
    world: World, line: str, words: str
) -> None:
    change(world, ROPE, lambda text: text.replace("| 96×64", f"{line}\n| 96×64"))
    number = page(world).split("\n").index(line) + 1
    said = refused(world)
    assert f"{ROPE}:{number}: " in said
    assert words in said


def drop(row: str) -> Callable[[str], str]:
    return lambda text: "\n".join(x for x in text.split("\n") if not x.startswith(f"| {row} |"))


def test_a_deleted_row_asks_and_is_retired_when_told_so(world: World) -> None:
    change(world, ROPE, drop("64×64"))
    said = refused(world)
    assert "npu2-emu/RoPE_bf16/64x64: its line was deleted" in said
    assert "absorb --retire" in said
    verdicts = len(world.verdicts())
    world.ok("absorb", "--retire")
    assert len(world.records()) == 3
    assert len(world.verdicts()) == verdicts
    committed(world)
    assert world.git("status", "--porcelain") == ""
    events = [event["event"] for event in world.json("log", "RoPE_bf16", "64x64")]
    assert "retired" in events


def test_a_dry_run_says_what_would_be_done_and_does_nothing(world: World) -> None:
    change(world, ROPE, cell("64×64", NOTES, "a remark"))
    before = state(world)
    plan = world.folder.parent / "plan.sh"
    said = world.ok("absorb", "--dry-run", "--plan", str(plan))
    assert "'' -> 'a remark'" in said
    assert "would write records/npu2-emu/RoPE_bf16/64x64.json" in said
    assert state(world) == before
    assert not plan.exists()
    assert world.json("absorb", "--dry-run")["changed"][0]["after"] == "a remark"
    assert state(world) == before


def test_only_the_pages_that_are_named_are_read_and_the_others_must_be_clean(
    world: World,
) -> None:
    change(world, ROPE, cell("64×64", NOTES, "a remark"))
    change(world, GEMM, cell("256×128×256", 0, "| 256×128×999"))
    assert f"{GEMM}:" in refused(world, ROPE, status=2)
    world.git("checkout", "--", GEMM)
    world.ok("absorb", ROPE)
    assert record(world, "RoPE_bf16/64x64")["notes"] == ["a remark"]
    assert "no page with a generated table" in refused(world, "registry.yaml", status=2)
    assert "no page is called" in refused(world, "details/None.md", status=2)


HEADER = "| rows×head_dim | Herd |"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (HEADER, "| rows×head_dim | Array |", "found 'Array' where 'Herd' belongs"),
        ("| 96×64", "\nsome words\n\n| 96×64", "is no row of its table"),
        ("| 96×64", "=======\n| 96×64", "is no row of its table"),
        ("|  |  | emulated ✔ |\n| 96×64", "|  | a | b | emulated ✔ |\n| 96×64", "11 cells"),
        ("|  |  | emulated ✔ |\n| 96×64", "|  |\n| 96×64", "8 cells"),
        ("\n<!-- registry:end", "\n| a |\n|---|\n| b |\n\n<!-- registry:end", "holds 2 tables"),
        ("<!-- registry:end", "<!-- registry:stop", "has no end marker"),
    ],
)
def test_what_is_not_the_table_is_refused_with_its_line(
    world: World, old: str, new: str, words: str
) -> None:
    change(world, ROPE, lambda text: text.replace(old, new))
    said = refused(world, status=2)
    assert words in said
    assert said.startswith(f"registry-tool absorb: {ROPE}:")
    assert said.split(":")[2].isdigit()


def test_a_row_that_is_there_twice_is_refused(world: World) -> None:
    line = next(x for x in page(world).split("\n") if x.startswith("| 64×64 |"))
    again = line.replace("64×64", "64 x 64")
    change(world, ROPE, lambda text: text.replace("| 96×64", f"{again}\n| 96×64"))
    assert "here a second time" in refused(world)


def test_line_ends_and_a_byte_order_mark_stay_what_they_are(world: World) -> None:
    change(world, ROPE, cell("64×64", NOTES, "a remark"))
    path = world.registry / ROPE
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    world.ok("absorb")
    assert record(world, "RoPE_bf16/64x64")["notes"] == ["a remark"]
    data = path.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    assert data.count(b"\n") == data.count(b"\r\n")


def test_bytes_that_are_no_utf8_are_refused_with_their_line(world: World) -> None:
    change(world, ROPE, cell("64×64", NOTES, "caf\u00e9"))
    path = world.registry / ROPE
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xe9"))
    said = refused(world, status=2)
    assert "not UTF-8" in said
    assert said.split(":")[2].isdigit()


def test_a_failure_half_way_leaves_everything_as_it_was(world: World) -> None:
    change(world, ROPE, cell("32×64", NOTES, "one"))
    change(world, ROPE, cell("64×64", NOTES, "two"))
    before = state(world)
    # The page cannot be replaced: a folder stands where its temporary file would go.
    details = world.registry / "details"
    kept = details / "RoPE_bf16.json"
    content = kept.read_bytes()
    kept.unlink()
    kept.mkdir()
    done = world.tool("absorb")
    assert done.returncode == 2
    kept.rmdir()
    kept.write_bytes(content)
    assert state(world) == before


def branch(world: World, name: str, edit: Callable[[], object], message: str) -> None:
    world.git("checkout", "-q", "-b", name, "main")
    edit()
    done = world.commit("-qm", message)
    assert done.returncode == 0, done.stdout + done.stderr


def keep_both(world: World) -> None:
    """Resolve the page as people do: every row's line once, newest wording, one end marker."""
    lines = page(world).split("\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("<<<<<<<"))
    last = next(n for n, line in enumerate(lines) if line.startswith(">>>>>>>"))
    hunk = [line for line in lines[first : last + 1] if line.startswith("| ")]
    rows = {line.split(" ")[1]: line for line in sorted(hunk, key=len)}
    ends = [line for line in lines[first : last + 1] if line.startswith("<!-- registry:end")]
    assert len(ends) == 2
    kept = [*reversed(rows.values()), "", ends[0]]
    (world.registry / ROPE).write_text("\n".join([*lines[:first], *kept, *lines[last + 1 :]]))


def test_conflict_markers_are_refused_with_words(merging: World) -> None:
    world = merging
    said = refused(world, status=2)
    assert "a merge conflict is not resolved" in said
    assert "keep the rows of both sides" in said


def test_a_merge_that_kept_the_lines_of_both_sides_is_put_in_order(merging: World) -> None:
    world = merging
    keep_both(world)
    document = world.json("absorb")
    assert document["refused"] == document["planned"] == document["retired"] == []
    assert document["changed"] == []
    assert record(world, "RoPE_bf16/32x64")["notes"] == ["from the left"]
    assert record(world, "RoPE_bf16/96x64")["notes"] == ["from the right"]
    rows = [line.split(" ")[1] for line in page(world).split("\n") if "×64 |" in line]
    assert rows == ["32×64", "64×64", "96×64", "128×64", "160×64"]
    world.git("add", "-A")
    committed(world)


def test_a_line_that_the_merge_lost_is_not_taken_for_retired(merging: World) -> None:
    world = merging
    world.git("checkout", "--ours", "--", ROPE)
    # Ours is whole and unedited, but lacks their row: the records say what there is.
    world.ok("absorb")
    assert len(world.records()) == 6
    assert "128×64" in page(world)


def test_what_was_written_while_resolving_a_merge_goes_into_the_row(merging: World) -> None:
    world = merging
    world.git("checkout", "--ours", "--", ROPE)
    change(world, ROPE, cell("64×64", NOTES, "seen while merging"))
    document = world.json("absorb")
    assert [one["row"] for one in document["changed"]] == ["npu2-emu/RoPE_bf16/64x64"]
    # Their remark and their row, which our page does not show, are still there.
    assert document["shown_again"] == ["npu2-emu/RoPE_bf16/128x64"]
    assert record(world, "RoPE_bf16/32x64")["notes"] == ["from the left"]
    assert "128×64" in page(world)


def test_a_row_that_the_other_side_retired_is_not_planned_again(world: World) -> None:
    branch(world, "left", lambda: world.ok("retire", "RoPE_bf16/96x64"), "Left")
    branch(world, "right", lambda: world.ok("note", "RoPE_bf16/64x64", "right"), "Right")
    world.run("git", "merge", "left", "-m", "Merge")
    assert not (world.registry / "records/npu2-emu/RoPE_bf16/96x64.json").exists()
    for path in ("details/RoPE_bf16.json", "supported_kernels.md", ROPE):
        world.git("checkout", "--ours", "--", path)
    change(world, ROPE, cell("32×64", NOTES, "by hand"))
    document = world.json("absorb")
    assert document["planned"] == []
    assert document["left_out"] == ["96×64"]
    assert "96×64" not in page(world)
