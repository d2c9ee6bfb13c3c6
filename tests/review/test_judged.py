"""What the gate says beyond the later state: by the base's measure, and of each commit."""

from __future__ import annotations

from pathlib import Path

from registry_tool.records import catalog
from registry_tool.review import judged
from registry_tool.review.model import Review
from registry_tool.store import snapshot
from tests.examples.build import GEMM, Row, make_row
from tests.examples.example import Example
from tests.review.conftest import SPEC, noted
from tests.review.test_make import NEXT, review

LOWERED = "rules: {KR202: off}\n"


def errors(found: Review) -> list[tuple[str, str | None]]:
    return [
        (placed.finding.rule, placed.finding.record)
        for placed in found.findings
        if placed.finding.severity == "error"
    ]


def small_herd() -> Row:
    """A row that leaves most of the array unused, and says nothing about it."""
    return make_row(
        SPEC, NEXT, "drain", herd=[4, 2], tile=make_row(SPEC, NEXT, "drain").record.tile
    )


def test_a_row_that_needs_the_change_of_policy_is_refused_by_the_old_one(good: Example) -> None:
    made = small_herd()
    good.write({"registry.yaml": good.path("registry.yaml").read_text() + LOWERED})
    good.add(made)
    good.render()
    good.commit("Lower the rule, and add what breaks it")
    assert {record for _, record in errors(review(good))} == {str(made.id)}


def test_the_old_policy_alone_would_refuse_that_row(good: Example) -> None:
    made = small_herd()
    good.write({"registry.yaml": good.path("registry.yaml").read_text() + LOWERED})
    good.add(made)
    good.render()
    good.commit("Lower the rule, and add what breaks it")
    state = snapshot.of_revision(good.root, "HEAD")
    found = list(judged._by_base(state, (), {str(made.id)}))
    assert "KR202" in {one.rule for one in found}
    assert all(one.message.startswith("by pages and policy as they were before: ") for one in found)
    assert list(judged._by_base(state, (), set())) == []
    assert list(judged._by_base(state, found, {str(made.id)})) == []


def test_a_policy_alone_is_not_held_against_old_rows(good: Example) -> None:
    good.add(small_herd())
    good.render()
    good.commit("Add a row that breaks a rule")
    good.write({"registry.yaml": good.path("registry.yaml").read_text() + LOWERED})
    good.commit("Lower the rule")
    assert errors(review(good)) == []


def test_a_commit_that_was_taken_back_is_still_told(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000124')
    good.commit("Forge")
    forged = good.git("rev-parse", "--short=12", "HEAD").strip()
    good.git("revert", "--no-edit", "HEAD")
    found = review(good, "HEAD~2..HEAD")
    assert found.rows == ()
    assert {rule for rule, _ in errors(found)} == {"KR602"}
    assert all(forged in placed.finding.message for placed in found.findings)


def test_what_still_stands_is_told_once(good: Example, row: Row) -> None:
    good.edit(row.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000124')
    good.render()
    good.commit("Forge")
    good.write({"models/Other.json": good.path("models/Toy-1B.json").read_bytes()
                .replace(b"Toy-1B", b"Other")})  # fmt: skip
    good.commit("Another model")
    found = errors(review(good, "HEAD~2..HEAD"))
    assert ("KR105", str(row.id)) in found
    assert "KR602" not in {rule for rule, _ in found}


def test_commits_beyond_the_end_of_a_shallow_clone_are_said_to_be_unjudged(
    good: Example, row: Row, tmp_path: Path
) -> None:
    good.git("branch", "start")
    for text in ("one", "two", "three"):
        good.write({row.id.record_path: noted(row, notes=[text])})
        good.render()
        good.commit(text)
    place = tmp_path / "clone"
    good.git("clone", "-q", "--depth=2", f"file://{good.repo}", str(place))
    clone = Example(place, place)
    clone.git("fetch", "-q", "--depth=1", "origin", "start:start")
    found = review(clone, "start..HEAD")
    assert found.unjudged is not None
    assert "git fetch --unshallow" in found.unjudged
    assert [one.kind for one in found.rows] == ["re-noted"]
    assert review(good, "start..HEAD").unjudged is None


def test_a_page_that_is_tightened_is_the_measure_at_once(good: Example, row: Row) -> None:
    assert catalog.built_in()[GEMM].tolerances["high"].atol > 0.0005
    good.write(
        {
            f"kernels/{GEMM}.yaml": f"schema_version: 1\nkernel: {GEMM}\ntolerances:\n"
            "  high: {rtol: 0.016, atol: 0.0005}\n  low: {rtol: 0.016, atol: 0.004}\n"
        }
    )
    good.commit("Tighten")
    assert ("KR104", str(row.id)) in errors(review(good))
