"""What blocks most comes first."""

from __future__ import annotations

from registry_tool.planning.plan import State, Task, Wanted
from registry_tool.planning.ranking import by_blocking, models_of
from registry_tool.records.catalog import built_in
from registry_tool.records.record import Use

ROPE = built_in()["RoPE_bf16"]


def task(state: State, rows: int = 64, *models: str) -> Task:
    uses = tuple(Use(model=model, site=f"site {at}") for at, model in enumerate(models))
    return Task(Wanted(ROPE, {"rows": rows, "head_dim": 64}, (None,), uses), state, None, ())


def test_states_come_in_the_order_of_their_gravity() -> None:
    states: list[State] = ["verified", "stale", "imported", "missing", "impossible"]
    assert [one.state for one in by_blocking(map(task, states))] == states[::-1]


def test_a_shape_that_more_models_wait_for_comes_first() -> None:
    one, two = task("missing", 128, "A", "A", "A"), task("missing", 64, "A", "B")
    assert by_blocking([one, two]) == [two, one]


def test_then_the_one_with_more_sites_and_then_the_larger() -> None:
    sites, large, small = (
        task("missing", 64, "A", "A"),
        task("missing", 128, "A"),
        task("missing", 64, "A"),
    )
    assert by_blocking([small, large, sites]) == [sites, large, small]


def test_a_model_counts_once() -> None:
    assert models_of(task("missing", 64, "A", "B", "A")) == ["A", "B"]
