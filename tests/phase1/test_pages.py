"""What a reader of the three files sees, as markdown-it-py reads them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec import UNSET
from msgspec.structs import replace

from registry_tool.phase1 import pages
from registry_tool.phase1.blockers import Blocker
from registry_tool.phase1.evidence import Stored, seconds_of, starts_of
from registry_tool.phase1.gate import Gate, NeedState, Problem
from registry_tool.planning.plan import Wanted
from registry_tool.records.catalog import built_in
from registry_tool.records.keys import RowId
from registry_tool.records.model import Model, Uncovered
from registry_tool.records.record import Record, Use
from registry_tool.verifier.diagnose import Cause
from tests.records.examples import DIGEST, RECORD, VERDICT
from tests.tables import second_opinion

SPEC = built_in()["GEMM_bf16_in_bf16_out"]
ROW = RowId("npu2", SPEC.kernel, "2048x8192x2048+fused-cast")
MODEL = Model(
    model="Tiny_1.B",
    config_sha256=DIGEST,
    seq=256,
    needs=[],
    uncovered=[Uncovered(phase="prefill", site="post-attention norm", reason="no page of its own")],
    notes=["# soft-capping: there is no page for it", "1. prefill of 256 tokens"],
)


def need(record: Record | None = RECORD, *problems: Problem, **more: object) -> NeedState:
    """A need of the GEMM page at the example's shape."""
    uses = (Use(model="Tiny_1.B", site="prefill Down proj"),)
    wanted = Wanted(SPEC, dict(RECORD.shape), ("fused-cast",), uses)
    row = ROW if record else None
    return NeedState(wanted, "npu2", "harness gemm", problems, row, record, **more)  # type: ignore[arg-type]


def gate(*needs: NeedState, emulated: bool = False) -> Gate:
    return Gate(MODEL, "npu2", emulated, needs)


def body(found: Gate, path: str, name: str, blockers: tuple[Blocker, ...] = ()) -> str:
    page = next(page for page in pages.pages(found, blockers) if page.path == path)
    return next(part.body for part in page.sections if part.name == name).decode()


def row_of(found: Gate) -> dict[str, str]:
    """The first row of the table of kernels, by heading, as displayed."""
    ((rows, _),) = second_opinion.tables(body(found, pages.KERNELS, "kernels").encode())
    return dict(zip(rows[0], rows[1], strict=True))


def test_a_measured_row_shows_its_figures_with_units() -> None:
    shown = row_of(gate(need()))
    assert shown["Shape"] == "2048×8192×2048"
    assert shown["Verdict"] == "pass"
    assert shown["mean_rel_L1"] == "9.70e-3"
    assert shown["Performance"] == "7723 µs, 8898 GFLOP/s, spread 0.0 %"
    assert (
        shown["Tile"] == "fused-cast\ntile_m=64, tile_k_l2=256, tile_k_l1=32, tile_n=128\nherd 8×4"
    )
    assert shown["Tiles"] == "32"
    assert "KR203 waived until 2026-12-31: recorded upstream" in shown["Notes"]
    assert "emulated" not in body(gate(need()), pages.KERNELS, "kernels")


def test_an_emulated_row_says_so_and_has_no_speed() -> None:
    found = gate(need(replace(RECORD, performance=None)), emulated=True)
    assert row_of(found)["Performance"] == "emulated"
    assert row_of(found)["Verdict"] == "pass (emulated)"
    for path, name in (
        (pages.KERNELS, "kernels"),
        (pages.PROGRESS, "phase1"),
        (pages.TODO, "phase1"),
    ):
        assert "these numbers are emulated and stand for no hardware" in body(found, path, name)


def test_a_flaky_pass_is_called_flaky_whether_the_row_or_its_verdict_says_so() -> None:
    link = replace(RECORD.verdict, flaky=True)
    stated = need(replace(RECORD, verdict=link))
    retried = replace(VERDICT, status="pass", attempts=VERDICT.attempts[:1] * 2)
    proved = need(RECORD, cited=Stored(ROW, RECORD.verdict.artifact, retried))
    for one in (stated, proved):
        assert row_of(gate(one))["Verdict"].startswith("pass (flaky)")
        assert "(flaky)" in body(gate(one), pages.TODO, "phase1")
    assert "flaky" not in row_of(gate(need()))["Verdict"]


def test_a_diagnosis_shows_no_mean_rel_L1() -> None:
    link = replace(RECORD.verdict, kind="diagnosis")
    shown = row_of(gate(need(replace(RECORD, verdict=link))))
    assert shown["mean_rel_L1"] == "—"


def test_fewer_tiles_than_the_target_are_shown_against_it() -> None:
    shown = row_of(gate(need(replace(RECORD, herd=[4, 2], tiles_in_flight=8))))
    assert shown["Tiles"] == "8 of 32"


def test_an_unmet_need_shows_what_is_missing_once_and_what_to_type() -> None:
    again = "registry-tool verify --model Tiny_1.B"
    missing = [Problem("tiles", "there is no row", again), Problem("row", "there is no row", again)]
    found = gate(need(), need(None, Problem("correctness", "not run yet", again), *missing))
    todo = body(found, pages.TODO, "phase1")
    assert todo.startswith("\n## Phase 1 (1/2 kernels PASSED)\n")
    assert todo.count("- [ ] ") == todo.count("- [x] ") == 1
    assert todo.count("next: ") == 1
    assert "  - tiles, row: there is no row\n" in todo


def test_a_blocker_names_cause_symptom_and_log_as_they_are() -> None:
    cause = Cause("a | *line* `of` <the> log", "N % (tile_n*herd_n) != 0", "tile_n")
    one = Blocker(
        need(None), "fail", "1 of 2 differ", 2, (cause,), "verdicts/a.json", "verdicts/a.log"
    )
    source = body(gate(need(None)), pages.TODO, "blockers", (one,))
    (first, second, third) = items(source)
    assert first.endswith("(prefill Down proj): fail after 2 attempts: 1 of 2 differ")
    assert second == (
        "Likely cause: N % (tile_n*herd_n) != 0 (symptom: a | *line* `of` <the> log); "
        "look at: tile_n"
    )
    assert third == "Log: verdicts/a.log (in the registry)"


def test_no_blocker_is_said_in_a_word() -> None:
    assert body(gate(need()), pages.TODO, "blockers") == "\nNone.\n\n"


def test_what_no_page_covers_is_listed_apart_from_what_was_assumed() -> None:
    signal = Problem("signal", "GEMM has no harness for npu2", "registry-tool doctor")
    source = body(gate(need(None, signal)), pages.TODO, "prerequisites")
    uncovered, assumed = source.split("Assumed when")
    assert items(uncovered) == [
        "prefill post-attention norm: no page of its own",
        "# soft-capping: there is no page for it",
        "prefill Down proj: GEMM has no harness for npu2",
    ]
    assert items(assumed) == ["1. prefill of 256 tokens"]


def test_the_total_time_counts_every_start_once() -> None:
    attempt = VERDICT.attempts[0]

    def run(name: str, seconds: float):  # type: ignore[no-untyped-def]
        return replace(attempt, seconds=seconds, log=replace(attempt.log, name=name))

    compiled = run("c.log", 1.0)
    verdict = replace(
        VERDICT,
        attempts=[run("1.log", 2.0), run("r.log", 4.0)],
        profile=[run("t1.log", 8.0), run("t2.log", 16.0)],
        compile=compiled,
    )
    assert seconds_of([Stored(ROW, "p", verdict)]) == 31.0
    # A compile-only run that decided stands in both places.
    verdict = replace(VERDICT, attempts=[compiled], profile=None, compile=compiled)
    assert [start.seconds for start in starts_of(verdict)] == [1.0]
    verdict = replace(verdict, compile=UNSET)
    assert [start.seconds for start in starts_of(verdict)] == [1.0]


def test_a_diagnosis_that_several_verdicts_tell_of_counts_once() -> None:
    one = Stored(ROW, "p", replace(VERDICT, attempts=VERDICT.attempts[:1], profile=None))
    again = Stored(RowId("npu2", "GELU_bf16", "1"), "q", one.verdict)
    assert seconds_of([one, again]) == seconds_of([one]) > 0


def test_a_time_is_written_as_people_say_it() -> None:
    said = [pages.duration(seconds) for seconds in (0.0, 59.94, 60.0, 3599.7, 7384.2)]
    assert said == ["0.0 s", "59.9 s", "1 min 00 s", "1 h 00 min 00 s", "2 h 03 min 04 s"]


def items(source: str) -> list[str]:
    """The list items of a region, as displayed."""
    inline = [t for t in MarkdownIt("commonmark").parse(source) if t.type == "inline"]
    return [second_opinion.shown(token.children or []) for token in inline if token.level > 2]


SIGNS = st.text(
    st.sampled_from(list("#>-+=*_`~[](){}<>|&!\\.:0123456789 abé×")), min_size=1, max_size=30
)


@given(SIGNS)
def test_any_line_is_shown_as_it_is_in_a_list(text: str) -> None:
    text = " ".join(text.split()) or "x"
    assert items(f"- {pages.item(text)}") == [text]
