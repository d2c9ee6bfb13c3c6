"""A hardware verdict that its own commands, roles or page contradict is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from registry_tool.records import catalog
from registry_tool.records.verdict import Fact, Verdict
from tests.examples.build import Row, make_row
from tests.examples.example import Example
from tests.rules.test_verdicts import GEMM, SMALL, ids, override, put, sealed

Edit = Callable[[Verdict], Verdict]


@pytest.fixture
def measured(good: Example) -> Row:
    mine = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")
    good.add(mine)
    good.render()
    assert good.findings() == []
    return mine


def command(*words: str) -> Edit:
    def edit(verdict: Verdict) -> Verdict:
        run = replace(verdict.attempts[-1], command=list(words))
        return replace(verdict, attempts=[run])

    return edit


def without(text: str) -> Edit:
    def edit(verdict: Verdict) -> Verdict:
        run = verdict.attempts[-1]
        kept = [word for word in run.command if text not in word]
        assert len(kept) < len(run.command)
        return replace(verdict, attempts=[replace(run, command=kept)])

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        command("echo", "hi"),
        command("make", "run", "N=1"),
        without("PEANO_INSTALL_DIR"),
        without("TILE_K_L2"),
        without("METHOD"),
        without("HERD_M"),
        lambda verdict: replace(
            verdict,
            profile=[replace(verdict.attempts[-1], command=["echo", "fast"], step="timing")],
        ),
    ],
)
def test_a_command_of_something_else_is_refused(good: Example, measured: Row, edit: Edit) -> None:
    put(good, sealed(dataclasses.replace(measured, verdict=edit(measured.verdict))))
    assert "KR102" in good.rules()


def run(verdict: Verdict, **changes: object) -> Verdict:
    return replace(verdict, attempts=[replace(verdict.attempts[-1], **changes)])


@pytest.mark.parametrize(
    "edit",
    [
        lambda verdict: replace(verdict, canary=True),
        lambda verdict: replace(verdict, places=False),
        lambda verdict: run(verdict, step="compile"),
        lambda verdict: run(verdict, step="timing"),
        lambda verdict: replace(verdict, compile=verdict.attempts[-1]),
        lambda verdict: replace(
            verdict,
            environment=replace(verdict.environment, device=Fact(value=None, reason=None)),
        ),
    ],
)
def test_a_pass_in_a_role_that_cannot_pass_is_refused(
    good: Example, measured: Row, edit: Edit
) -> None:
    put(good, sealed(dataclasses.replace(measured, verdict=edit(measured.verdict))))
    assert "KR103" in good.rules()


def test_a_timing_run_before_the_gated_one_is_refused(good: Example, measured: Row) -> None:
    gated = measured.verdict.attempts[-1]
    early = replace(gated, step="timing", started="2020-01-01T00:00:00Z")
    edited = replace(measured.verdict, profile=[early])
    put(good, sealed(dataclasses.replace(measured, verdict=edited)))
    assert "KR103" in good.rules()


def test_renamed_flags_leave_old_verdicts_as_good_as_they_were(
    good: Example, measured: Row
) -> None:
    # The sizes are sought, wherever a page comes to hand them over.
    words = [word.replace("TILE_", "--tile-") for word in measured.verdict.attempts[-1].command]
    edited = run(measured.verdict, command=words)
    assert edited.canary is UNSET
    put(good, sealed(dataclasses.replace(measured, verdict=edited)))
    assert good.rules() == set()


SAVED = """\
harness:
  npu2:
    correctness: {folder: gemm, command: [cat, saved.log]}
    timing: null
"""


def test_other_commands_are_not_changed_together_with_the_rows_that_need_them(
    good: Example, measured: Row
) -> None:
    edited = command("cat", "saved.log")(measured.verdict)
    put(good, sealed(dataclasses.replace(measured, verdict=edited)))
    good.write(override(SAVED))
    good.render()
    found = good.findings()
    assert ids(found) == {"KR110"}
    (one,) = [finding for finding in found if finding["severity"] == "error"]
    assert "the harness for npu2 is another one" in one["message"]
    assert one["path"] == measured.id.record_path


def test_other_commands_in_a_change_of_their_own_are_shown(good: Example, measured: Row) -> None:
    good.write(override(SAVED))
    good.render()
    found = good.findings()
    assert (ids(found), ids(found, "warning")) == (set(), {"KR110"})
