"""Models against rows: the matrix, and credits that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_fields

import pytest
from msgspec import structs

from registry_tool.planning import pages, plan
from registry_tool.planning.coverage import Cell, Coverage, coverage
from registry_tool.records.model import Model, Need
from registry_tool.records.record import Use
from registry_tool.report.coverage import write_text
from registry_tool.store import git, snapshot
from registry_tool.store import registry as registries
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


def test_a_need_of_a_kernel_without_a_page_counts_as_unmet(good: Example, row: Row) -> None:
    good.add(credited(row, ("Toy-1B", "prefill Q proj")))
    saved = model(row)
    other = Need(phase="prefill", site="x", kernel="Other_bf16", precision=None, shape={"N": 8})
    whole = structs.replace(saved, needs=[*saved.needs, other, structs.replace(other, site="y")])
    registry = registries.load(snapshot.of_worktree(good.root))
    view = pages.paged(registry, whole)
    assert [part.site for part in view.uncovered] == ["x", "y"]
    assert pages.paged(registry, saved) == saved
    tasks = {"Toy-1B": plan.make(registry, "npu2-emu", plan.of_models(registry, [view]))}
    cells = coverage(tasks, [whole], registry.records).cells["Toy-1B"]
    assert cells["Other_bf16"] == Cell(verified=0, stale=0, imported=0, needed=1)
    assert cells[row.id.kernel].verified == 1


@pytest.mark.parametrize("number", [1, 11])
def test_the_matrix_of_many_models_fits_a_terminal_and_loses_none(number: int) -> None:
    names = [f"A-model-of-{at}-{'B' * at}" for at in range(number)]
    cell = Cell(verified=1, stale=0, imported=2, needed=30)
    found = Coverage({name: {"GEMM_bf16_in_bf16_out": cell} for name in names}, ())
    lines = write_text("npu2", found).splitlines()
    assert max(map(len, lines)) <= 100
    text = "\n".join(lines).split()
    assert [name for name in names if name not in text] == []
    assert text.count("1~2/30") == 2 * number


def test_a_name_that_is_wider_than_a_terminal_stands_alone() -> None:
    found = Coverage({"B" * 120: {}, "short": {}}, ())
    assert "B" * 120 in write_text("npu2", found)


def test_the_verdicts_of_unmet_needs_are_fetched_at_once(
    good: Example, row: Row, other: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process for every row of an imported registry took most of a plan's time."""
    good.add(row, other)
    good.commit("Two rows")
    for path in (good.root / "records").rglob("*.json"):
        path.unlink()  # the verdicts stay, and back no row
    registry = registries.load(snapshot.of_worktree(good.root))
    fetched: list[int] = []
    blobs = git.blobs

    def counted(repository: git.Repository, oids: Sequence[str]) -> dict[str, bytes]:
        fetched.append(len(oids))
        return blobs(repository, oids)

    monkeypatch.setattr(snapshot.git, "blobs", counted)
    wants = plan.of_models(registry, [model(row), model(other, "Other-1B")])
    plan.make(registry, "npu2-emu", wants)
    assert fetched == [2]
