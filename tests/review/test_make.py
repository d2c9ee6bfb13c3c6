"""What a review finds in a change, row by row."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical
from registry_tool.records.record import Waiver
from registry_tool.report.review_words import counts
from registry_tool.review import make, span
from registry_tool.review.model import Review, RowChange
from registry_tool.store import git
from tests.examples.build import GEMM, OTHER, SMALL, Row, make_row
from tests.examples.example import Example
from tests.review.conftest import FORGED, SPEC, STEADY, TIMED, noted, timed

NEXT = {"M": 4096, "K": 1024, "N": 1024}


def review(made: Example, text: str = "HEAD~1..HEAD") -> Review:
    return make.of_span(made.root, span.resolve(git.require_repository(made.root), text))


@pytest.fixture(scope="module")
def found(changed: Example) -> Review:
    return review(changed)


def one(found: Review, shape: dict[str, int], variant: str = "drain") -> RowChange:
    key = f"{'x'.join(map(str, shape.values()))}+{variant}"
    (row,) = [row for row in found.rows if row.row.endswith(f"/{key}")]
    return row


def test_every_row_has_the_kind_of_its_change(found: Review) -> None:
    assert {(row.row.split("/")[2], row.kind) for row in found.rows} == {
        ("2048x1024x1024+drain", "removed"),
        ("2048x1024x1024+direct", "added"),
        ("2048x8192x2048+fused-cast", "re-measured"),
        ("2048x2048x2048+fused-cast", "re-measured"),
        ("2048x1024x512+drain", "edited"),
        ("2048x2048x512+drain", "re-noted"),
    }


def test_what_got_worse_stands_first(found: Review) -> None:
    assert [row.worse for row in found.rows] == [True, False, False, False, False, False]


def test_a_step_inside_the_spread_is_neither_worse_nor_better(found: Review) -> None:
    row = one(found, STEADY, "fused-cast")
    assert [figure.trend for figure in row.figures if figure.unit] == ["within spread"] * 2
    assert not row.worse


def test_speed_is_told_before_and_after(found: Review) -> None:
    row = one(found, TIMED, "fused-cast")
    (latency,) = [figure for figure in row.figures if figure.name == "latency_us"]
    assert (latency.before, latency.after, latency.trend) == (8000.0, 9000.0, "worse")
    assert not row.emulated


def test_an_edited_row_got_neither_better_nor_worse(found: Review) -> None:
    row = one(found, FORGED)
    assert row.emulated
    assert not row.better
    (figure,) = [figure for figure in row.figures if figure.name == "max_abs"]
    assert (figure.before, figure.after, figure.trend) == (0.000824, 0.000124, "changed")


def test_a_re_noted_row_says_what_people_added(found: Review) -> None:
    row = one(found, OTHER)
    assert row.users_added == ("Toy-1B: prefill O proj",)
    assert len(row.notes_added) == 1
    assert [(waiver.kind, waiver.rule) for waiver in found.waivers] == [("new", "KR202")]


def test_a_need_that_falls_to_a_lower_tier_is_a_move(found: Review) -> None:
    (move,) = found.needs
    assert (move.model, move.site, move.move) == ("Toy-1B", "prefill Q proj", "tier down")
    assert (move.was_tier, move.tier, move.emulated) == ("high", "low", True)


def test_a_row_names_the_needs_that_it_meets_or_met(found: Review) -> None:
    assert one(found, SMALL, "direct").serves == ("Toy-1B: prefill Q proj",)
    assert one(found, SMALL, "drain").serves == ("Toy-1B: prefill Q proj",)
    assert one(found, STEADY, "fused-cast").serves == ()


def test_lookup_answers_name_the_change_that_explains_them(found: Review) -> None:
    causes = {(answer.shape, answer.before is None, answer.cause) for answer in found.answers}
    assert ("2048×8192×2048", False, "re-measured") in causes
    assert ("2048×1024×1024", False, "removed") in causes or (
        "2048×1024×1024", False, "added",
    ) in causes  # fmt: skip


def test_a_policy_that_is_looser_is_told(found: Review) -> None:
    (measure,) = found.measures
    assert measure.path == "registry.yaml"
    assert measure.loosened == ("lookup was sound and is any",)


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ("", "rules: {KR202: warning}\n", ["KR202 was as the rule says and is warning"]),
        ("rules: {KR202: warning}\n", "rules: {KR202: off}\n", ["KR202 was warning and is off"]),
        ("rules: {KR202: off}\n", "rules: {KR202: error}\n", []),
        ("rules: {KR202: off}\n", "", []),
        ("rules: {KR202: error}\n", "", ["KR202 was error and is as the rule says"]),
    ],
)
def test_a_lowered_rule_is_told(good: Example, was: str, now: str, words: list[str]) -> None:
    text = good.path("registry.yaml").read_text()
    good.write({"registry.yaml": text + was})
    good.commit("Before")
    good.write({"registry.yaml": text + now})
    good.commit("After")
    (measure,) = review(good).measures
    assert list(measure.loosened) == words


def test_a_model_that_needs_more_is_told(found: Review) -> None:
    (model,) = found.models
    assert model.kind == "changed"
    assert len(model.needs_added) == 1
    assert model.needs_removed == ()


def test_the_gate_is_asked_about_the_later_state(found: Review) -> None:
    errors = [placed for placed in found.findings if placed.finding.severity == "error"]
    assert {placed.finding.rule for placed in errors} == {"KR105", "KR601"}
    assert all(placed.touched for placed in errors)
    assert found.blocking == 2


def test_a_finding_elsewhere_is_not_the_changes(own: Example) -> None:
    own.commit("Nothing")
    found = review(own)
    assert found.rows == ()
    assert [placed.touched for placed in found.findings] == [False]
    assert found.blocking == 1


def test_backwards_the_same_change_is_undone(changed: Example) -> None:
    found = review(changed, "HEAD..HEAD~1")
    assert one(found, SMALL, "drain").kind == "added"
    assert one(found, SMALL, "direct").kind == "removed"
    assert [move.move for move in found.needs] == ["tier up"]
    assert found.blocking == 0


def test_against_nothing_every_row_is_added(changed: Example) -> None:
    found = review(changed, f"{'0' * 40}..HEAD~1")
    assert {row.kind for row in found.rows} == {"added"}
    assert len(found.rows) == found.records == 5
    assert {move.move for move in found.needs} == {"met"}


def test_a_renamed_target_is_one_change_per_row(good: Example, row: Row, other: Row) -> None:
    for folder in ("records", "verdicts"):
        good.git("mv", f"{folder}/npu2-emu", f"{folder}/npu3-emu")
    good.commit("Rename")
    found = review(good)
    assert {(one.kind, one.was) for one in found.rows} == {
        ("renamed", str(row.id)),
        ("renamed", str(other.id)),
    }
    assert all(one.emulated for one in found.rows)


def test_a_removed_row_leaves_its_need_unmet(own: Example) -> None:
    own.git("rm", "-q", timed(TIMED, 9000.0, 210).id.record_path)
    own.render()
    own.commit("Retire")
    (move,) = review(own).needs
    assert (move.move, move.after) == ("unmet", None)


def test_a_row_that_did_not_pass_meets_no_need(own: Example) -> None:
    row = timed(TIMED, 9000.0, 210).record
    link = replace(row.verdict, status="unverified", kind="imported")
    path = timed(TIMED, 9000.0, 210).id.record_path
    own.write({path: canonical.encode(replace(row, verdict=link))})
    own.commit("Doubt")
    assert [move.move for move in review(own).needs] == ["unmet"]


def test_a_waiver_is_followed_over_its_life(good: Example, row: Row) -> None:
    def until(*days: str) -> Review:
        waivers = [
            Waiver(rule="KR202", reason="r", by="b", date="2020-01-01", expires=day) for day in days
        ]
        good.write({row.id.record_path: noted(row, waivers=waivers)})
        good.commit("Waive")
        return review(good)

    for days, kind in (
        (("2998-01-01",), "new"),
        (("2999-01-01",), "extended"),
        (("2998-01-01",), "shortened"),
        (("2020-02-01",), "expired"),
        ((), "removed"),
    ):
        (waiver,) = until(*days).waivers
        assert waiver.kind == kind


def test_a_run_that_did_not_pass_is_told_with_its_reason(good: Example) -> None:
    made = make_row(SPEC, NEXT, "drain")
    failed = replace(made.verdict, status="fail", reason="14 elements differ")
    good.write({made.artifact: canonical.encode(failed)})
    good.commit("Try")
    (run,) = review(good).verdicts.not_passed
    assert (run.row, run.status, run.reason) == (str(made.id), "fail", "14 elements differ")


def test_deleted_and_edited_evidence_is_told(good: Example, row: Row, other: Row) -> None:
    good.git("rm", "-q", row.artifact)
    good.edit(other.artifact, '"status": "pass"', '"status": "fail"')
    good.commit("Tidy")
    verdicts = review(good).verdicts
    assert verdicts.deleted == (row.artifact,)
    assert verdicts.edited == (other.artifact,)


def test_new_debt_is_told(good: Example) -> None:
    entry = {"row": "npu2/GEMV_bf16/1x1", "record": "0" * 64, "artifact": "0" * 64}
    good.write({"baseline.json": json.dumps({"schema_version": 1, "rows": [entry]})})
    good.commit("Owe")
    assert review(good).debt.added == ("npu2/GEMV_bf16/1x1",)
    good.write({"baseline.json": json.dumps({"schema_version": 1, "rows": []})})
    good.commit("Pay")
    assert review(good).debt.paid == ("npu2/GEMV_bf16/1x1",)


def test_a_loosened_page_is_told(good: Example) -> None:
    text = f"schema_version: 1\nkernel: {GEMM}\ntiles_target: 1\n"
    good.write({f"kernels/{GEMM}.yaml": text})
    good.commit("Loosen")
    (measure,) = review(good).measures
    assert measure.kind == "added"
    assert any("tiles_target was 32 and is 1" in words for words in measure.loosened)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("registry.yaml", "targets: ["),
        ("registry.yaml", ""),
        (f"kernels/{GEMM}.yaml", "\x00"),
        ("models/Toy-1B.json", "[" * 5000),
        ("records/npu2-emu/GEMM_bf16_in_bf16_out/2048x1024x1024+drain.json", "{"),
        ("records/npu2-emu/GEMM_bf16_in_bf16_out/2048x1024x1024+drain.json", "[" * 100_000),
        ("details/GEMM_bf16_in_bf16_out.json", '{"shapes": 5}'),
        ("baseline.json", "nothing"),
        ("verdicts/npu2-emu/a/b/c.json", "nothing"),
    ],
)
def test_a_broken_file_is_a_finding_and_no_end(good: Example, path: str, content: str) -> None:
    good.write({path: content})
    good.commit("Break")
    found = review(good)
    assert found.blocking > 0
    assert review(good, "HEAD..HEAD~1").blocking == 0


def test_an_unreadable_row_says_why(good: Example, row: Row) -> None:
    good.write({row.id.record_path: "{"})
    good.commit("Break")
    (changed,) = review(good).rows
    assert changed.kind == "unreadable"
    assert changed.problem is not None
    assert changed.before is not None


def test_only_formatting_is_no_new_figure(good: Example, row: Row) -> None:
    document: Any = json.loads(good.path(row.id.record_path).read_bytes())
    good.write({row.id.record_path: json.dumps(document)})
    good.commit("Reformat")
    (changed,) = review(good).rows
    assert changed.kind == "reformatted"


def test_what_surrounded_the_runs_is_compared(good: Example) -> None:
    was, now = timed(TIMED, 8000.0, 80), timed(TIMED, 8000.0, 100)
    good.add(was)
    good.commit("Measure")
    environment = replace(
        now.verdict.environment, driver=replace(now.verdict.environment.host, value="2.1")
    )
    document = canonical.encode(replace(now.verdict, environment=environment))
    good.write({now.id.record_path: canonical.encode(now.record), now.artifact: document})
    good.commit("Measure again")
    (changed,) = review(good).rows
    assert changed.kind == "re-measured"
    assert [(one.field, one.after) for one in changed.environment] == [("driver", "2.1")]


def test_the_index_and_the_work_tree_are_compared_with_the_head(good: Example, row: Row) -> None:
    good.write({row.id.record_path: noted(row, notes=["staged"])})
    good.git("add", "-A")
    good.write({row.id.record_path: noted(row, notes=["on disk"])})
    (staged,) = make.of_index(good.root).rows
    (on_disk,) = make.of_worktree(good.root).rows
    assert (staged.notes_added, on_disk.notes_added) == (("staged",), ("on disk",))
    assert {staged.kind, on_disk.kind} == {"re-noted"}


def test_an_answer_of_before_there_was_a_policy_is_no_new_one(good: Example) -> None:
    policy = good.path("registry.yaml").read_bytes()
    good.path("registry.yaml").unlink()
    good.commit("Lose the policy")
    good.write({"registry.yaml": policy})
    good.commit("Find it again")
    assert review(good).answers == ()


def test_an_edited_row_is_counted_by_itself(found: Review) -> None:
    assert counts(found)[1] == "1 row edited without a run"
    only = [row for row in found.rows if row.kind == "edited"]
    assert counts(dataclasses.replace(found, rows=tuple(only)))[1] == "1 row edited without a run"
    assert "no row differs" not in counts(dataclasses.replace(found, rows=tuple(only)))
