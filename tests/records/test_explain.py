"""Why a file was refused: the kind, the line and the JSON pointer, for every sort of damage."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.records import canonical
from registry_tool.records.explain import Problem, explain, line_of
from registry_tool.records.record import Record
from registry_tool.records.schema import schema_for
from registry_tool.records.verdict import Verdict
from tests.records import examples
from tests.records.test_canonical import DAMAGE, _damaged

# What is said, at which line of the golden record and for which value.
EXPECTED: dict[str, tuple[str, int, str]] = {
    "a key twice": ("duplicate", 6, "/target"),
    "a key twice in a map": ("duplicate", 8, "/shape/M"),
    "keys in another order": ("formatting", 4, ""),
    "a float for an integer": ("schema", 7, "/shape/M"),
    "an exponent for an integer": ("schema", 7, "/shape/M"),
    "a boolean for an integer": ("schema", 7, "/shape/M"),
    "an integer for a float": ("formatting", 26, ""),
    "NaN": ("not-finite", 26, "/max_rel"),
    "Infinity": ("not-finite", 26, "/max_rel"),
    "a number beyond all floats": ("not-finite", 26, "/max_rel"),
    "a longer float": ("formatting", 26, ""),
    "a small number as msgspec writes it": ("formatting", 31, ""),
    "an exponent without its zero": ("formatting", 31, ""),
    "a capital exponent": ("formatting", 31, ""),
    "a digit that no float has": ("formatting", 24, ""),
    "a leading zero": ("unreadable", 7, ""),
    "a plus sign": ("unreadable", 7, ""),
    "an escape that is not needed": ("formatting", 46, ""),
    "an escaped slash": ("formatting", 36, ""),
    "an escaped letter in a key": ("formatting", 5, ""),
    "another indentation": ("formatting", 2, ""),
    "a tab": ("formatting", 4, ""),
    "no space after a colon": ("formatting", 4, ""),
    "a space at the end of a line": ("formatting", 5, ""),
    "an empty line": ("formatting", 2, ""),
    "one line": ("formatting", 1, ""),
    "a list on one line": ("formatting", 19, ""),
    "no newline at the end": ("formatting", 58, ""),
    "two newlines at the end": ("formatting", 60, ""),
    "text at the end": ("unreadable", 59, ""),
    "a byte order mark": ("formatting", 1, ""),
    "CRLF": ("formatting", 1, ""),
    "a comma too many": ("unreadable", 58, ""),
    "a comment": ("unreadable", 1, ""),
    "an unknown key": ("schema", 58, "/extra"),
    "a missing key": ("schema", 1, ""),
    "a missing $schema": ("formatting", 2, ""),
    "a newer version": ("schema", 3, "/schema_version"),
    "half a file": ("unreadable", 33, ""),
    "nothing": ("unreadable", 1, ""),
    "another type": ("schema", 1, ""),
    "a conflict": ("conflict", 2, ""),
}


def _explain(data: bytes) -> list[Problem]:
    return explain(data, Record, schema_for(Record))


def test_every_kind_of_damage_has_an_expectation() -> None:
    assert EXPECTED.keys() == DAMAGE.keys()


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_named_with_its_line_and_pointer(kind: str) -> None:
    problems = _explain(_damaged(kind))
    assert [(found.kind, found.line, found.pointer) for found in problems] == [EXPECTED[kind]]
    assert problems[0].message


def test_a_canonical_file_has_nothing_to_explain() -> None:
    assert _explain(canonical.encode(examples.RECORD)) == []
    verdict = canonical.encode(examples.VERDICT)
    assert explain(verdict, Verdict, schema_for(Verdict)) == []


def test_several_schema_problems_are_all_named() -> None:
    document = examples.plain(examples.RECORD)
    document["shape"]["M"] = -1
    document["verdict"]["sha256"] = "ABC"
    document["herd"][1] = "4"
    document["waivers"][0]["rule"] = "203"
    document["a/b~c"] = 1
    problems = _explain(json.dumps(document, indent=2).encode())
    assert {found.pointer for found in problems} == {
        "/shape/M",
        "/verdict/sha256",
        "/herd/1",
        "/waivers/0/rule",
        "/a~1b~0c",
    }
    assert all(found.kind == "schema" for found in problems)
    assert {found.line for found in problems} == {7, 37, 21, 50, 58}


@pytest.mark.parametrize(
    ("data", "kind", "line"),
    [
        (b"\xff", "unreadable", 1),
        (b'{\n"a": "\xff"}', "unreadable", 2),
        (b'{"a": ' + b"9" * 5000 + b"}", "unreadable", 1),
        (b"[" * 100_000, "unreadable", 1),
        (b'{"a": "\\ud800"}', "unreadable", 1),
        (b'{"\\ud800": 1}', "unreadable", 1),
        (b'{"a": "\\x"}', "unreadable", 1),
        (b'{"a": "tab\there"}', "unreadable", 1),
        (b'{"a" 1}', "unreadable", 1),
        (b'{"a": 1 "b": 2}', "unreadable", 1),
        (b"{1: 2}", "unreadable", 1),
        (b"tru", "unreadable", 1),
        (b"{}\n>>>>>>> theirs\n", "conflict", 2),
        (b"{}\n=======\n", "conflict", 2),
        (b"{}\n||||||| base\n", "conflict", 2),
    ],
)
def test_what_is_no_json_is_named_and_nothing_is_raised(data: bytes, kind: str, line: int) -> None:
    problems = _explain(data)
    assert [(found.kind, found.line) for found in problems] == [(kind, line)]


def test_a_conflict_marker_within_a_value_is_text() -> None:
    document = examples.plain(examples.RECORD)
    document["notes"] = ["<<<<<<< is how git marks a conflict"]
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    assert _explain(text.encode()) == []


@settings(max_examples=150)
@given(st.binary(max_size=3), st.integers(0, 5000), st.integers(0, 40))
def test_whatever_is_refused_is_explained(inserted: bytes, place: int, removed: int) -> None:
    data = canonical.encode(examples.RECORD)
    at = place % len(data)
    damaged = data[:at] + inserted + data[at + removed :]
    try:
        canonical.decode(damaged, Record)
    except ValueError:
        problems = _explain(damaged)
        assert problems
        lines = damaged.count(b"\n") + 1
        assert all(1 <= found.line <= lines and found.message for found in problems)
    else:
        assert _explain(damaged) == []


@settings(max_examples=60)
@given(st.binary(max_size=60))
def test_no_bytes_make_it_fail(data: bytes) -> None:
    assert _explain(data)


@pytest.mark.parametrize(
    ("pointer", "line"),
    [
        ("", 1),
        ("/kernel", 4),
        ("/shape", 6),
        ("/shape/K", 8),
        ("/herd/1", 21),
        ("/waivers/0/by", 52),
        ("/waivers/7/by", 48),
        ("/nowhere/at/all", 1),
    ],
)
def test_a_pointer_has_a_line_or_its_parents(pointer: str, line: int) -> None:
    assert line_of(canonical.encode(examples.RECORD), pointer) == line


def test_a_line_is_found_in_half_a_file_too() -> None:
    half = canonical.encode(examples.RECORD)[:400]
    assert line_of(half, "/kernel") == 4
    assert line_of(half, "/provenance") == 1
    assert line_of(b"", "/kernel") == 1
    assert line_of(b'{"a": ' + b"9" * 5000, "/a") == 1
