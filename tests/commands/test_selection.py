"""Which rows a selector takes, and that selectors narrow one another."""

from __future__ import annotations

import argparse
from dataclasses import replace

from registry_tool.commands.selection import add_selection, select
from registry_tool.records import canonical
from registry_tool.records.model import Model, Need
from registry_tool.records.record import Use
from registry_tool.store import registry as registries
from registry_tool.store import snapshot
from tests.examples.build import Row
from tests.examples.example import Example


def selected(example: Example, *words: str) -> set[tuple[str, tuple[int, ...]]]:
    parser = argparse.ArgumentParser()
    add_selection(parser)
    registry = registries.load(snapshot.of_worktree(example.root))
    wants = select(registry, parser.parse_args(words)).wants
    return {(wanted.spec.kernel, tuple(wanted.shape.values())) for wanted in wants}


def key(row: Row) -> tuple[str, tuple[int, ...]]:
    return row.id.kernel, tuple(row.verdict.subject.shape.values())


def save(example: Example, name: str, needs: list[Need]) -> None:
    saved = Model(model=name, config_sha256="0" * 64, seq=64, needs=needs, uncovered=[], notes=[])
    example.write({f"models/{name}.json": canonical.encode(saved)})


def test_all_rows_of_a_model_are_those_that_are_credited_to_it(
    good: Example, row: Row, other: Row
) -> None:
    good.add(
        replace(row, used_by=(Use(model="Toy-1B", site="a"),)),
        replace(other, used_by=(Use(model="Another", site="b"),)),
    )
    save(good, "Toy-1B", [])
    save(good, "Another", [])
    assert {key(row), key(other)} <= selected(good, "--all")
    assert selected(good, "--all", "--model", "Toy-1B") == {key(row)}
    assert selected(good, "--all", "--model", "Another") == {key(other)}
    assert selected(good, "--all", "--model", "Another", "--kernel", row.id.kernel) <= {key(other)}


def test_a_need_whose_kernel_has_no_page_is_left_out(good: Example, row: Row) -> None:
    good.add(row)
    need = Need(phase="prefill", site="x", kernel="Other_bf16", precision=None, shape={"N": 8})
    save(good, "Toy-1B", [need])
    assert selected(good, "--model", "Toy-1B") == set()
