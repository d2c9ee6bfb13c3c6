"""Adopting rows without a run, and working them off, behind real hooks."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from msgspec.structs import replace

from registry_tool import baseline
from registry_tool.records import canonical, catalog
from registry_tool.records.baseline import Baseline
from registry_tool.records.record import Record, Use
from tests.acceptance.world import World
from tests.baseline.samples import baseline_of, imported, with_waiver
from tests.examples.build import Row, make_row

ROPE, ADD = catalog.built_in()["RoPE_bf16"], catalog.built_in()["EltwiseAdd_bf16"]
TARGET = "npu2-emu"


def owed_rows() -> list[Row]:
    """Three imported rows that the emulator can run."""
    tight = make_row(ROPE, {"rows": 64, "head_dim": 64}, herd=[4, 1], tile={})
    rows = [
        imported(tight),
        imported(make_row(ROPE, {"rows": 128, "head_dim": 64})),
        imported(make_row(ADD, {"N": 65536})),
    ]
    rows[0] = with_waiver(dataclasses.replace(rows[0], notes=("8x1 hangs here",)), "2099-12-31")
    used = (Use(model="Toy", site="prefill RoPE Q"), Use(model="Toy", site="prefill RoPE K"))
    rows[1] = dataclasses.replace(rows[1], used_by=used, notes=("swept at 2 and 4 tiles",))
    return rows


def adopt(world: World) -> list[Row]:
    """Rows and baseline as an import writes them, staged."""
    rows = owed_rows()
    for row in rows:
        for name, data in row.files().items():
            path = world.registry / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    (world.registry / baseline.PATH).write_bytes(baseline_of(*rows))
    world.ok("render")
    world.git("add", "-A")
    return rows


def adopted(world: World) -> list[Row]:
    """The same, committed through the hook."""
    rows = adopt(world)
    done = world.commit("-m", "Adopt the registry")
    assert done.returncode == 0, done.stdout + done.stderr
    return rows


def record(world: World, row: Row) -> Record:
    return canonical.decode((world.registry / row.id.record_path).read_bytes(), Record)


def left(world: World) -> list[str]:
    data = (world.registry / baseline.PATH).read_bytes()
    return [entry.row for entry in canonical.decode(data, Baseline).rows]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_an_import_is_committed_and_its_rows_stay_as_they_came(hooked: World) -> None:
    rows = adopted(hooked)
    path = hooked.registry / rows[0].id.record_path
    edit(path, '"max_abs": 0.000824', '"max_abs": 0.000724')
    hooked.ok("render")
    hooked.git("add", "-A")
    done = hooked.commit("-m", "Improve a figure")
    assert done.returncode != 0
    assert "KR111" in done.stdout + done.stderr
    assert f"git checkout HEAD -- {rows[0].id.record_path}" in done.stdout + done.stderr


def test_people_may_write_into_an_owed_row(hooked: World) -> None:
    rows = adopted(hooked)
    hooked.ok("note", str(rows[2].id), "the same as in the old registry")
    hooked.ok("use", str(rows[2].id), "Toy", "residual")
    hooked.ok(
        "waive", str(rows[2].id), "KR103", "--reason", "NUMFAIL on two elements",
        "--by", "A. Tester", "--expires", "2099-01-01",
    )  # fmt: skip
    page = (hooked.registry / "details/EltwiseAdd_bf16.md").read_text()
    assert "⚠️ unverified imported<br>KR103 until 2099-01-01: NUMFAIL on two elements" in page
    assert hooked.commit("-m", "What people say").returncode == 0


def test_the_baseline_takes_no_row_in_and_lets_any_go(hooked: World) -> None:
    rows = adopted(hooked)
    more = imported(make_row(ROPE, {"rows": 256, "head_dim": 64}))
    for name, data in more.files().items():
        path = hooked.registry / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (hooked.registry / baseline.PATH).write_bytes(baseline_of(more, *rows))
    hooked.ok("render")
    hooked.git("add", "-A")
    done = hooked.commit("-m", "One more")
    assert done.returncode != 0
    assert "KR112" in done.stdout + done.stderr
    hooked.git("reset", "-q", "--hard")
    hooked.ok("retire", str(rows[2].id))
    (hooked.registry / baseline.PATH).write_bytes(baseline_of(*rows[:2]))
    hooked.git("add", "-A")
    done = hooked.commit("-m", "Retire one")
    assert done.returncode == 0, done.stdout + done.stderr


def test_verify_baseline_works_the_rows_off_and_nothing_else(hooked: World) -> None:
    rows = adopted(hooked)
    before = {path: path.read_bytes() for path in hooked.verdicts()}
    out = hooked.ok("verify", "--baseline", "--kernel", "RoPE_bf16")
    assert "2 of 2 rows verified" in out
    assert "baseline.json names 1 row; 2 rows left it" in out
    assert left(hooked) == [str(rows[2].id)]
    for row in rows[:2]:
        now = record(hooked, row)
        assert (now.verdict.kind, now.verdict.status) == ("harness", "pass")
        assert (now.tile, now.herd) == (row.record.tile, row.record.herd)
        assert now.used_by == row.record.used_by
        assert set(row.record.notes) <= set(now.notes)
    assert record(hooked, rows[0]).waivers == [], "only an import may waive KR103"
    assert record(hooked, rows[2]) == rows[2].record
    assert all(path.read_bytes() == data for path, data in before.items())
    assert len(hooked.records()) == 3
    done = hooked.commit("-m", "Work two rows off")
    assert done.returncode == 0, done.stdout + done.stderr
    assert hooked.git("status", "--porcelain") == ""

    hooked.ok("verify", "--baseline")
    assert left(hooked) == []
    assert hooked.commit("-m", "Work the last one off").returncode == 0
    out = hooked.ok("verify", "--baseline")
    assert "nothing to do: no selected row is owed" in out
    assert hooked.json("status")["debt"]["rows"] == 0
    done = hooked.run("git", "revert", "--no-commit", "HEAD")
    assert "KR112" in hooked.tool("check", "--staged").stdout


def test_a_row_that_fails_stays_owed_with_its_verdict(hooked: World) -> None:
    rows = adopted(hooked)
    done = hooked.tool("verify", "--baseline", "--kernel", "EltwiseAdd_bf16", "--inject", "zeros")
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(left(hooked)) == 3
    assert record(hooked, rows[2]) == rows[2].record
    assert len(list((hooked.registry / rows[2].id.verdict_folder).glob("*.json"))) == 2
    done = hooked.commit("-m", "Keep the failing verdict")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_recorded_herd_that_is_not_legal_is_replaced(world: World) -> None:
    wrong = imported(make_row(ADD, {"N": 65536}, herd=[7, 1], tile={"tile_n": 1024}))
    for name, data in {**wrong.files(), baseline.PATH: baseline_of(wrong)}.items():
        path = world.registry / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    world.ok("render")
    out = world.tool("verify", "--baseline")
    assert out.returncode == 0, out.stderr
    assert "not legal" in out.stderr
    now = record(world, wrong)
    assert now.verdict.status == "pass"
    assert now.herd != [7, 1]
    assert left(world) == []


def test_a_small_herd_that_nothing_explains_is_said_before_it_runs(hooked: World) -> None:
    rows = adopted(hooked)
    row = str(rows[0].id)
    hooked.ok("note", row, "8x1 hangs here", "--remove")
    done = hooked.tool("verify", "--baseline", "--kernel", "RoPE_bf16")
    assert done.returncode == 0
    assert f"4 of 8 tiles in flight, and no note says why: registry-tool note {row}" in done.stderr
    assert done.stderr.count("no note says why") == 1
    done = hooked.commit("-m", "Without a reason")
    assert "KR202" in done.stdout + done.stderr
    hooked.ok("note", row, "8x1 hangs here")
    assert hooked.commit("-m", "With a reason").returncode == 0


def test_any_verify_removes_what_is_owed_no_more(hooked: World) -> None:
    rows = adopted(hooked)
    hooked.ok("retire", str(rows[2].id))
    done = hooked.tool("check")
    assert done.returncode == 0
    assert f"KR111 (warning) {rows[2].id} is gone" in done.stdout
    out = hooked.ok("verify")
    assert "1 row left it" in out
    assert len(left(hooked)) == 2
    assert "KR111" not in hooked.ok("check")
    assert hooked.commit("-m", "Retire").returncode == 0


def test_a_row_verified_by_its_shape_leaves_the_baseline_too(world: World) -> None:
    rows = adopt(world)
    world.ok("verify", "--kernel", "RoPE_bf16", "--shape", "rows=128,head_dim=64")
    assert str(rows[1].id) not in left(world)
    assert len(left(world)) == 2


def test_status_counts_the_debt_by_kernel_and_model(world: World) -> None:
    rows = adopt(world)
    debt = world.json("status")["debt"]
    assert debt["rows"] == 3
    assert debt["kernels"] == {"EltwiseAdd_bf16": 1, "RoPE_bf16": 2}
    assert (debt["models"], debt["unused"], debt["waived"]) == ({"Toy": 1}, 2, 1)
    text = world.ok("status")
    assert "3 rows, 1 of them with a waiver" in text
    assert "next: registry-tool verify --baseline" in text
    edit(world.registry / rows[1].id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000724')
    (world.registry / rows[2].id.record_path).unlink()
    debt = world.json("status")["debt"]
    assert debt["changed"] == [str(rows[1].id)]
    assert debt["stale"] == [str(rows[2].id)]
    assert f"changed since the import, so a run is needed: 1 row\n    {rows[1].id}" in world.ok(
        "status"
    )
    assert world.json("status", "--target", "npu2")["debt"]["elsewhere"] == {TARGET: 2}


def test_status_counts_one_row_as_one(world: World) -> None:
    world.ok("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64")
    assert "npu2-emu (emulated): 1 row\n" in world.ok("status")
    assert world.json("status")["debt"] is None


def test_baseline_takes_no_selection_that_would_change_its_rows(world: World) -> None:
    adopt(world)
    for words in (["--all"], ["--sweep"], ["--model", "Toy"]):
        done = world.tool("verify", "--baseline", *words)
        assert done.returncode == 2
        assert f"takes no {words[0]}" in done.stderr
    done = world.tool("verify", "--baseline", "--kernel", "RoPE_bf16", "--herd", "8x1")
    assert (done.returncode, "takes no --herd" in done.stderr) == (2, True)


def test_a_broken_baseline_is_said_before_anything_runs(world: World) -> None:
    adopt(world)
    (world.registry / baseline.PATH).write_text("{")
    for words in (("verify", "--baseline"), ("verify",), ("status",)):
        done = world.tool(*words)
        assert done.returncode == 2
        assert "baseline.json:1" in done.stderr
    assert len(world.verdicts()) == 3


def test_rows_of_another_target_are_named(world: World) -> None:
    adopt(world)
    out = world.ok("verify", "--baseline", "--dry-run")
    assert out.count("registry_tool.emulator") == 3
    assert "--herd 4x1" in out
    done = world.tool("verify", "--baseline", "--target", "npu2", "--no-stage")
    assert "registry-tool verify --baseline --target npu2-emu" in done.stdout


# waive


def test_waive_writes_renews_and_removes(world: World) -> None:
    world.ok("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64", "--herd", "4x1")
    words = ("waive", "64x64", "kr202", "--by", "A. Tester", "--expires")
    world.ok(*words, "2098-01-01", "--reason", "first")
    world.ok(*words, "2099-01-01", "--reason", "second  time")
    (path,) = world.records()
    (waiver,) = json.loads(path.read_bytes())["waivers"]
    assert (waiver["rule"], waiver["reason"], waiver["expires"]) == (
        "KR202", "second time", "2099-01-01",
    )  # fmt: skip
    assert (
        "KR202 until 2099-01-01: second time"
        in (world.registry / "details/RoPE_bf16.md").read_text()
    )
    world.ok("check")
    world.ok("waive", "64x64", "KR202", "--remove")
    assert json.loads(path.read_bytes())["waivers"] == []


def test_waive_refuses_what_could_not_hold(world: World) -> None:
    world.ok("verify", "--kernel", "RoPE_bf16", "--shape", "rows=64,head_dim=64")
    good = {"--reason": "why", "--by": "A. Tester", "--expires": "2099-01-01"}

    def waive(rule: str, **changes: str) -> str:
        given = {**good, **{f"--{name}": value for name, value in changes.items()}}
        done = world.tool(
            "waive", "64x64", rule, *[word for pair in given.items() for word in pair]
        )
        assert done.returncode == 2, done.stdout
        return done.stderr

    for rule in ("KR101", "KR102", "KR104", "KR105", "KR106", "KR107", "KR110", "KR111", "KR112"):
        assert "never be waived" in waive(rule)
    assert "imported row only" in waive("KR103")
    assert "no rule is called" in waive("KR999")
    assert "is over already" in waive("KR202", expires="2001-01-01")
    for day in ("soon", "2099-02-30", "20990101", "2099-1-1"):
        assert "is no day" in waive("KR202", expires=day)
    assert "1 to 1000 characters" in waive("KR202", reason="  ")
    done = world.tool("waive", "64x64", "KR202", "--reason", "why")
    assert (done.returncode, "needs --by, --expires" in done.stderr) == (2, True)
    done = world.tool("waive", "64x64", "KR202", "--remove")
    assert "waives nothing" in done.stderr
    (path,) = world.records()
    assert replace(canonical.decode(path.read_bytes(), Record)).waivers == []
