"""Which rows of a registry are stale."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from registry_tool.planning import plan
from registry_tool.stale import rows as stale
from registry_tool.store import registry as registries
from registry_tool.store import snapshot
from registry_tool.store.registry import Registry
from tests.examples.build import Row, make_row, sealed
from tests.examples.example import Example


def registry_of(example: Example) -> Registry:
    return registries.load(snapshot.of_worktree(example.root))


def from_sources(row: Row, sources: dict[str, str]) -> Row:
    return sealed(dataclasses.replace(row, verdict=replace(row.verdict, sources=sources)))


def test_an_emulated_row_is_held_against_this_tools_own_emulation(good: Example, row: Row) -> None:
    name = "registry_tool/emulator/numerics.py"
    old = from_sources(row, {name: "0" * 64})
    good.add(old)
    found = stale.of(registry_of(good), "npu2-emu")
    assert list(found) == [old.id]
    assert found[old.id][0] == f"changed since: {name} (this version of the emulation)"


def test_a_stale_row_still_meets_its_need_and_says_why(good: Example, row: Row) -> None:
    good.add(from_sources(row, {"registry_tool/emulator/numerics.py": "0" * 64}))
    registry = registry_of(good)
    spec = registry.spec(row.id.kernel)
    want = plan.Wanted(spec, row.verdict.subject.shape, ("drain",))
    moved = stale.of(registry, "npu2-emu")
    [task] = plan.make(registry, "npu2-emu", [want], moved=moved)
    assert (task.state, task.is_met, task.reasons) == ("stale", True, tuple(moved[row.id]))
    [task] = plan.make(registry, "npu2-emu", [want])
    assert task.state == "verified"


def test_without_a_harness_tree_the_newest_run_of_a_kernel_counts(good: Example, row: Row) -> None:
    spec = registry_of(good).spec(row.id.kernel)
    shapes = [{"M": 2048, "K": 1024, "N": 1024}, {"M": 2048, "K": 2048, "N": 512}]
    older, newer = (
        from_sources(make_row(spec, shape, "drain", "npu2", second=second), {"run.py": digit * 64})
        for shape, second, digit in zip(shapes, (5, 9), "01", strict=True)
    )
    good.add(older, newer)
    found = stale.of(registry_of(good), "npu2")
    assert list(found) == [older.id]
    assert newer.verdict.run_id in found[older.id][0]


def test_a_verdict_that_cannot_be_read_is_left_to_the_gate(good: Example, row: Row) -> None:
    good.write({row.artifact: b"{"})
    assert row.id not in stale.of(registry_of(good), "npu2-emu")
