"""Models against rows: the matrix, and credits that do not fit."""

from __future__ import annotations

from dataclasses import replace as with_fields

from registry_tool.planning import plan
from registry_tool.planning.coverage import Cell, Coverage, coverage
from registry_tool.records.model import Model, Need
from registry_tool.records.record import Use
from registry_tool.store import registry as registries
from registry_tool.store import snapshot
from tests.examples.build import Row
from tests.examples.example import Example


def model(row: Row, name: str = "Toy-1B", missing: bool = False) -> Model:
    shape = dict(row.verdict.subject.shape)
    needs = [
        Need(phase="prefill", site="Q proj", kernel=row.id.kernel, precision="high", shape=one)
        for one in (shape, *([{**shape, "M": 4096}] if missing else []))
    ]
    return Model(model=name, config_sha256="0" * 64, seq=2048, needs=needs, uncovered=[], notes=[])


def covered(example: Example, *models: Model) -> Coverage:
    registry = registries.load(snapshot.of_worktree(example.root))
    tasks = {
        one.model: plan.make(registry, "npu2-emu", plan.of_models(registry, [one]))
        for one in models
    }
    return coverage(tasks, models, registry.records)


def credited(row: Row, *uses: tuple[str, str]) -> Row:
    return with_fields(row, used_by=tuple(Use(model=one, site=site) for one, site in uses))


def test_a_cell_counts_what_is_verified_of_what_is_needed(good: Example, row: Row) -> None:
    good.add(credited(row, ("Toy-1B", "prefill Q proj")))
    found = covered(good, model(row, missing=True))
    assert found.cells["Toy-1B"][row.id.kernel] == Cell(verified=1, stale=0, imported=0, needed=2)
    assert found.credits == ()


def test_a_need_that_no_credit_names_is_found(good: Example, row: Row) -> None:
    good.add(credited(row, ("Another", "prefill Q proj")))
    [credit] = covered(good, model(row)).credits
    assert (credit.row, credit.model, credit.site, credit.is_missing) == (
        row.id,
        "Toy-1B",
        "prefill Q proj",
        True,
    )


def test_a_credit_that_no_need_explains_is_found(good: Example, row: Row, other: Row) -> None:
    good.add(
        credited(row, ("toy-1b", "the query projection")),
        credited(other, ("Toy-1B", "prefill K proj")),
    )
    [credit] = covered(good, model(row)).credits
    assert (credit.row, credit.site, credit.is_missing) == (other.id, "prefill K proj", False)


def test_a_credit_to_a_model_that_is_not_saved_is_nobodys_business(
    good: Example, row: Row, other: Row
) -> None:
    good.add(
        credited(row, ("Toy-1B", "prefill Q proj")), credited(other, ("Unsaved-7B", "anything"))
    )
    assert covered(good, model(row)).credits == ()
