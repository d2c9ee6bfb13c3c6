"""What is exported reads back to the same records, whatever people wrote into them."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool.export import jsonl, spreadsheet
from registry_tool.export.model import ExportError, in_order
from registry_tool.records.fields import Status, VerdictKind
from registry_tool.records.record import Performance, Record, Use, Waiver
from tests.tables import samples

KINDS = {"npu2": "hardware", "npu2-emu": "emulated"}

ALPHABET = "".join(map(chr, [*range(0x20, 0x7F), *range(0x80, 0x250)])) + "＝＋－＠\u2028\ufeff×µ🧮"
HEADS = ["", "", "=", "+", "-", "@", "'", "''", " =", "＝", '"', "\ufeff", "\u2028"]
LINE = st.builds(
    lambda head, text: head + text,
    st.sampled_from(HEADS),
    st.text(ALPHABET, min_size=1, max_size=20),
)
FEW = settings(max_examples=40)
FIGURE = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
SPEED = st.floats(min_value=1e-300, max_value=1e300)
STATUSES: list[Status] = ["pass", "fail", "error", "timeout", "incomplete", "unverified"]
VERDICT_KINDS: list[VerdictKind] = ["harness", "diagnosis", "imported"]


@st.composite
def records(draw: st.DrawFn) -> Record:
    sizes = [draw(st.integers(1, 9999)) for _ in range(3)]
    variant = draw(st.sampled_from(["fused-cast", "drain", "direct"]))
    waiver = st.builds(
        Waiver,
        rule=st.just("KR202"),
        reason=LINE,
        by=LINE,
        date=st.just("2026-01-02"),
        expires=st.just("2027-01-02"),
    )
    base = samples.record(
        samples.GEMM,
        sizes,
        variant,
        target=draw(st.sampled_from(sorted(KINDS))),
        status=draw(st.sampled_from(STATUSES)),
        kind=draw(st.sampled_from(VERDICT_KINDS)),
        mean_rel_L1=draw(st.none() | FIGURE),
        herd=draw(st.lists(st.integers(1, 8), min_size=1, max_size=2)),
        notes=draw(st.lists(LINE, max_size=3)),
        waivers=draw(st.lists(waiver, max_size=2)),
    )
    return replace(
        base,
        used_by=draw(st.lists(st.builds(Use, model=LINE, site=LINE), max_size=3)),
        performance=draw(
            st.none()
            | st.builds(
                Performance,
                latency_us=SPEED,
                gflops=st.none() | SPEED,
                gbps=st.none() | SPEED,
                spread=st.none() | FIGURE,
            )
        ),
        tile=dict.fromkeys(draw(st.sets(st.sampled_from(sorted(base.tile)))), 16),
        provenance=draw(st.dictionaries(st.text(ALPHABET + "\n\t", max_size=5), LINE, max_size=2)),
    )


def distinct(found: list[Record]) -> list[Record]:
    return list(samples.by_id(found).values())


@FEW
@given(st.lists(records(), max_size=4).map(distinct))
def test_json_lines_read_back_to_the_same_records(found: list[Record]) -> None:
    data = jsonl.dump_jsonl(found, KINDS)
    assert list(jsonl.load_jsonl(data).values()) == in_order(found)
    assert jsonl.dump_jsonl(reversed(found), KINDS) == data
    # One line for everybody: whatever a reader takes for the end of a line.
    assert len(data.decode().splitlines()) == len(found)


@FEW
@given(st.lists(records(), max_size=4).map(distinct))
def test_csv_reads_back_to_the_same_records(found: list[Record]) -> None:
    data = spreadsheet.dump_csv(samples.GEMM, "hardware", found)
    assert spreadsheet.load_csv(data, samples.GEMM) == in_order(found)
    assert spreadsheet.dump_csv(samples.GEMM, "hardware", reversed(found)) == data


@FEW
@given(st.lists(records(), max_size=3).map(distinct))
def test_no_cell_of_a_csv_is_taken_for_a_formula(found: list[Record]) -> None:
    text = spreadsheet.dump_csv(samples.GEMM, "hardware", found).decode()
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")), cell
            assert not cell.startswith(("\t", "\r")), cell


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("-10 %", "'-10 %"),
        (" @x", "' @x"),
        ("'quoted'", "''quoted'"),
        ("\tx", "'\tx"),
        ("＝1", "'＝1"),
        ("1-1=0", "1-1=0"),
        ("", ""),
    ],
)
def test_a_formula_is_written_after_an_apostrophe(text: str, cell: str) -> None:
    assert spreadsheet.text_cell(text) == cell
    assert spreadsheet.cell_text(cell) == text


@given(LINE)
def test_a_guarded_cell_is_the_text_again(text: str) -> None:
    assert spreadsheet.cell_text(spreadsheet.text_cell(text)) == text


def test_rows_of_a_csv_end_in_crlf_and_lines_inside_a_cell_do_not() -> None:
    record = samples.record(samples.GEMM, (1, 2, 3), "drain", notes=["one", "two"])
    data = spreadsheet.dump_csv(samples.GEMM, "hardware", [record])
    assert data.count(b"\r\n") == 2
    assert b'"one\ntwo"' in data
    assert not data.startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"mean_rel_L1":0.0094', b'"mean_rel_L1":0.00940'),
        (b'"M":512', b'"M":512.0'),
        (b'"herd":[8,4]', b'"herd":[8,4],"herd":[8,4]'),
        (b'"target_kind":"hardware",', b""),
        (b"\n", b"\n\n"),
        (
            b"{",
            b"[",
        ),
    ],
)
def test_a_line_that_was_not_exported_is_refused_with_its_number(old: bytes, new: bytes) -> None:
    data = jsonl.dump_jsonl([samples.record(samples.GEMM, (512, 512, 512), "drain")], KINDS)
    assert old in data
    with pytest.raises(ExportError) as caught:
        jsonl.load_jsonl(data.replace(old, new, 1), "x.jsonl")
    assert caught.value.line in (1, 2)
    assert caught.value.path == "x.jsonl"


def test_rows_in_another_order_or_twice_are_refused() -> None:
    lines = jsonl.dump_jsonl(samples.gemm_records(), KINDS).splitlines(keepends=True)
    for wrong in (b"".join(reversed(lines)), lines[0] * 2):
        with pytest.raises(ExportError, match="does not come after"):
            jsonl.load_jsonl(wrong)


@pytest.mark.parametrize(
    ("old", "new"), [(b"kernel,", b"name,"), (b",512,", b",512.0,"), (b"pass", b"passed")]
)
def test_a_csv_that_was_not_exported_is_refused(old: bytes, new: bytes) -> None:
    record = samples.record(samples.GEMM, (512, 512, 512), "drain")
    data = spreadsheet.dump_csv(samples.GEMM, "hardware", [record])
    assert old in data
    with pytest.raises(ExportError):
        spreadsheet.load_csv(data.replace(old, new, 1), samples.GEMM, "x.csv")


def test_a_page_with_two_columns_of_one_name_is_refused() -> None:
    spec = replace(samples.GEMM, dims=["M", "K", "notes"])
    with pytest.raises(ExportError, match="notes"):
        spreadsheet.header(spec)
