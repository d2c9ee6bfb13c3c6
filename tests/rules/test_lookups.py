"""KR401 and KR402: a `best` that is one, and answers that change only where a row did."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from registry_tool import baseline
from registry_tool.records import catalog
from tests.baseline import samples
from tests.examples.build import GEMM, SMALL, Row, make_row
from tests.examples.cases import sped_up
from tests.examples.example import Example, ids

FILE = f"details/{GEMM}.json"
NPU = f"details/npu2/{GEMM}.json"
ORDER = "preference:\n  - {when: null, order: [fused-cast, drain, direct]}\n"


def prefer(good: Example, text: str = ORDER) -> None:
    good.write({f"kernels/{GEMM}.yaml": f"schema_version: 1\nkernel: {GEMM}\n{text}"})


def of(found: list[dict[str, Any]], rule: str) -> list[dict[str, Any]]:
    return [one for one in found if one["rule"] == rule]


@pytest.fixture
def measured(good: Example) -> Example:
    """The emulated rows, and one shape that two methods of a tier were timed at."""
    page = catalog.built_in()[GEMM]
    slow = sped_up(latency_us=1200.0, gflops=3579.14)(
        make_row(page, SMALL, "fused-cast", "npu2", second=200)
    )
    good.add(make_row(page, SMALL, "drain", "npu2", second=100), slow)
    good.render()
    good.commit("Verify on the device")
    assert good.findings() == []
    return good


def with_best(example: Example, best: dict[str, str]) -> None:
    """Say another `best` of the measured shape, in what consumers read."""
    document = json.loads(example.path(NPU).read_text())
    (entry,) = document["shapes"]
    entry["best"] = best
    example.write({NPU: json.dumps(document, indent=2) + "\n"})


@pytest.mark.parametrize(
    ("best", "words"),
    [
        ({}, "no best of tier high, though drain, fused-cast passed"),
        ({"high": "fused-cast"}, "is 'fused-cast' with 3579.14, and 'drain' has 4945.84"),
        ({"high": "direct"}, "is 'direct', which is of no row that passed"),
        ({"high": "drain", "low": "drain"}, "no row of that tier is there"),
    ],
)
def test_a_best_that_is_none_is_refused_with_the_reason(
    measured: Example, best: dict[str, str], words: str
) -> None:
    with_best(measured, best)
    found = of(measured.findings(), "KR401")
    assert [one["severity"] for one in found] == ["error"]
    assert "M=2048 K=1024 N=1024: " in found[0]["message"]
    assert words in found[0]["message"]
    line = measured.path(NPU).read_text().splitlines()[found[0]["line"] - 1]
    assert '"best"' in line


def test_the_best_that_the_rows_render_to_is_in_order(measured: Example) -> None:
    with_best(measured, {"high": "drain"})
    assert of(measured.findings(), "KR401") == []


def test_a_file_in_no_form_at_all_is_left_to_the_rule_of_stale_files(measured: Example) -> None:
    for text in ("{", "[]\n", '{"shapes": [{}]}\n', '{"shapes": [{"M": 1, "best": 3}]}\n'):
        measured.write({NPU: text})
        assert ids(measured.findings()) == {"KR301"}


def test_an_imported_best_that_fails_warns_until_the_baseline_holds_it(good: Example) -> None:
    row = samples.imported(make_row(catalog.built_in()[GEMM], samples.SHAPES[0], "drain"))
    row = dataclasses.replace(row, notes=("the check fails: status is FAIL",))
    good.add(row)
    good.render()
    (one,) = of(good.findings(), "KR401")
    assert (one["severity"], one["record"]) == ("warning", str(row.id))
    assert "failing" in one["message"]
    good.write({baseline.PATH: samples.baseline_of(row)})
    assert good.findings() == []


# KR402.


def two_methods(good: Example) -> None:
    good.add(make_row(catalog.built_in()[GEMM], SMALL, "fused-cast", second=9))
    good.render()
    good.commit("Verify the other method")
    assert good.findings("--ref", "HEAD") == []


def test_a_page_that_moves_answers_is_refused_with_every_answer(good: Example) -> None:
    two_methods(good)
    more = make_row(
        catalog.built_in()[GEMM], {"M": 2048, "K": 2048, "N": 512}, "fused-cast", second=8
    )
    good.add(more)
    good.render()
    good.commit("Verify another shape")
    prefer(good)
    good.render()
    (one,) = good.findings()
    assert (one["rule"], one["severity"], one["path"]) == ("KR402", "error", FILE)
    assert one["message"].startswith("2 lookup answers differ from the base")
    for shape in ("M=2048 K=1024 N=1024", "M=2048 K=2048 N=512"):
        assert f"{shape} best of tier high: method=drain" in one["message"]
    good.git("add", "-A")
    assert good.rules("--staged") == {"KR402"}
    good.commit("Prefer the other method")
    assert good.rules("--ref", "HEAD") == {"KR402"}


def test_a_registry_that_lowered_the_rule_before_is_only_warned(good: Example) -> None:
    two_methods(good)
    head = "schema_version: 1\n"
    good.edit("registry.yaml", head, f"{head}rules: {{KR402: warning}}\n")
    prefer(good)
    good.render()
    assert good.rules() == {"KR110"}
    good.path(f"kernels/{GEMM}.yaml").unlink()
    good.render()
    good.commit("Let answers move")
    prefer(good)
    good.render()
    found = good.findings()
    assert (ids(found), ids(found, "warning")) == (set(), {"KR402"})


def test_an_answer_that_moves_with_a_row_of_its_shape_is_fine(good: Example) -> None:
    prefer(good)
    good.add(make_row(catalog.built_in()[GEMM], SMALL, "fused-cast", second=9))
    good.render()
    assert of(good.findings(), "KR402") == []


def test_a_policy_that_moves_answers_is_refused(good: Example) -> None:
    adopted = samples.rows()
    samples.adopt(good, *adopted)
    good.commit("Adopt")
    good.edit("registry.yaml", "schema_version: 1\n", "schema_version: 1\nlookup: verified\n")
    good.render()
    (one,) = good.findings()
    assert one["rule"] == "KR402"
    assert one["message"].count("-> an error") == 4
    assert one["message"].startswith("4 lookup answers differ")


def test_another_first_target_moves_the_answers_of_who_names_none(measured: Example) -> None:
    text = measured.path("registry.yaml").read_text()
    head, _, rest = text.partition("  npu2-emu:\n")
    emulated, _, hardware = rest.partition("  npu2:\n")
    measured.write({"registry.yaml": f"{head}  npu2:\n{hardware}  npu2-emu:\n{emulated}"})
    measured.path(f"details/npu2/{GEMM}.md").unlink()
    measured.path(NPU).unlink()
    measured.render()
    found = of(measured.findings(), "KR402")
    assert found
    assert "best of tier high without a target" in found[0]["message"]


def test_rendering_late_is_no_change_of_answers(good: Example, row: Row) -> None:
    good.add(make_row(catalog.built_in()[GEMM], SMALL, "fused-cast", second=9))
    good.commit("Forget to render")
    good.render()
    assert good.findings() == []


def test_mending_a_best_that_was_edited_by_hand_only_warns(measured: Example) -> None:
    with_best(measured, {"high": "fused-cast"})
    measured.commit("Slipped through")
    measured.render()
    found = measured.findings()
    assert (ids(found), ids(found, "warning")) == (set(), {"KR402"})


def test_a_remark_on_a_row_reads_no_base(good: Example, row: Row, monkeypatch: Any) -> None:
    from registry_tool.rules import against_base

    def never(*_: object) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(against_base, "base_context", never)
    good.edit(row.id.record_path, '"notes": []', '"notes": [\n    "a remark"\n  ]')
    good.render()
    assert good.findings() == []
