"""The one oracle of the registry's JSON: encode(decode(b)) == b, and nothing else is accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.records import canonical
from registry_tool.records.fields import Part
from registry_tool.records.record import Performance, Record
from registry_tool.records.verdict import Verdict
from tests.records import examples

GOLDEN = Path(__file__).parent / "golden"

quick = settings(max_examples=40)


@quick
@given(examples.records)
def test_any_record_comes_back_as_it_was(record: Record) -> None:
    data = canonical.encode(record)
    assert canonical.decode(data, Record) == record
    assert canonical.encode(canonical.decode(data, Record)) == data


@quick
@given(examples.verdicts)
def test_any_verdict_comes_back_as_it_was(verdict: Verdict) -> None:
    data = canonical.encode(verdict)
    assert canonical.decode(data, Verdict) == verdict
    assert canonical.encode(canonical.decode(data, Verdict)) == data


@quick
@given(examples.records)
def test_canonical_bytes_are_what_json_dumps_writes(record: Record) -> None:
    text = json.dumps(examples.plain(record), indent=2, ensure_ascii=False, allow_nan=False)
    assert canonical.encode(record) == text.encode() + b"\n"


@settings(max_examples=300)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_stands_as_python_writes_it_and_in_no_other_way(number: float) -> None:
    value = Performance(latency_us=number, gflops=None, gbps=None, spread=None)
    data = canonical.encode(value)
    assert f'"latency_us": {number!r},'.encode() in data
    as_msgspec_writes_it = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    if number > 0 and as_msgspec_writes_it != data:
        with pytest.raises(ValueError):
            canonical.decode(as_msgspec_writes_it, Performance)


@settings(max_examples=300)
@given(st.binary(max_size=2), st.integers(0, 5000), st.integers(0, 3))
def test_a_damaged_record_is_refused_or_is_another_canonical_record(
    inserted: bytes, place: int, removed: int
) -> None:
    data = canonical.encode(examples.RECORD)
    at = place % len(data)
    damaged = data[:at] + inserted + data[at + removed :]
    try:
        value = canonical.decode(damaged, Record)
    except ValueError:
        return
    assert canonical.encode(value) == damaged


@pytest.mark.parametrize("value", [examples.RECORD, examples.VERDICT], ids=["record", "verdict"])
def test_the_golden_file_is_what_is_written_today(value: Part) -> None:
    golden = GOLDEN / f"{type(value).__name__.lower()}.json"
    assert canonical.encode(value) == golden.read_bytes()
    assert canonical.decode(golden.read_bytes(), type(value)) == value


Damage = Callable[[str], str]


def _swap(first: str, second: str) -> Damage:
    def damage(text: str) -> str:
        lines = text.split("\n")
        one = next(index for index, line in enumerate(lines) if first in line)
        two = next(index for index, line in enumerate(lines) if second in line)
        lines[one], lines[two] = lines[two], lines[one]
        return "\n".join(lines)

    return damage


def _replace(old: str, new: str) -> Damage:
    def damage(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return damage


DAMAGE: dict[str, Damage] = {
    "a key twice": _replace('  "target": "npu2",\n', '  "target": "npu2",\n  "target": "npu2",\n'),
    "a key twice in a map": _replace('"M": 2048,', '"M": 2048,\n    "M": 2048,'),
    "keys in another order": _swap('"kernel"', '"target"'),
    "a float for an integer": _replace('"M": 2048,', '"M": 2048.0,'),
    "an exponent for an integer": _replace('"M": 2048,', '"M": 2048e0,'),
    "a boolean for an integer": _replace('"M": 2048,', '"M": true,'),
    "an integer for a float": _replace("3118.0", "3118"),
    "NaN": _replace("3118.0", "NaN"),
    "Infinity": _replace("3118.0", "Infinity"),
    "a number beyond all floats": _replace("3118.0", "1e999"),
    "a longer float": _replace("3118.0", "3118.00"),
    "a small number as msgspec writes it": _replace("1e-05", "0.00001"),
    "an exponent without its zero": _replace("1e-05", "1e-5"),
    "a capital exponent": _replace("1e-05", "1E-05"),
    "a digit that no float has": _replace("0.00970231", "0.0097023100000000000001"),
    "a leading zero": _replace('"M": 2048,', '"M": 02048,'),
    "a plus sign": _replace('"M": 2048,', '"M": +2048,'),
    "an escape that is not needed": _replace("×", "\\u00d7"),
    "an escaped slash": _replace("verdicts/npu2", "verdicts\\/npu2"),
    "an escaped letter in a key": _replace('"target"', '"t\\u0061rget"'),
    "another indentation": lambda text: text.replace("  ", "    "),
    "a tab": _replace('  "kernel"', '\t"kernel"'),
    "no space after a colon": _replace('"kernel": ', '"kernel":'),
    "a space at the end of a line": _replace('"npu2",', '"npu2", '),
    "an empty line": _replace("{\n", "{\n\n"),
    "one line": lambda text: json.dumps(json.loads(text), ensure_ascii=False) + "\n",
    "a list on one line": lambda text: re.sub(r"\[\n\s+8,\n\s+4\n\s+\]", "[8, 4]", text),
    "no newline at the end": lambda text: text.removesuffix("\n"),
    "two newlines at the end": lambda text: text + "\n",
    "text at the end": lambda text: text + "{}\n",
    "a byte order mark": lambda text: "\ufeff" + text,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "a comma too many": _replace('"provenance": {}\n', '"provenance": {},\n'),
    "a comment": _replace("{\n", "{ // a comment\n"),
    "an unknown key": _replace('"provenance": {}', '"provenance": {},\n  "extra": 1'),
    "a missing key": _replace('  "tiles_in_flight": 32,\n', ""),
    "a missing $schema": lambda text: re.sub(r'  "\$schema".*\n', "", text),
    "a newer version": _replace('"schema_version": 1', '"schema_version": 2'),
    "half a file": lambda text: text[: len(text) // 2],
    "nothing": lambda text: "",
    "another type": lambda text: "[]\n",
    "a conflict": _replace("{\n", "{\n<<<<<<< ours\n"),
}


def _damaged(kind: str) -> bytes:
    data = canonical.encode(examples.RECORD).decode()
    damaged = DAMAGE[kind](data)
    assert damaged != data
    return damaged.encode()


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_refused(kind: str) -> None:
    with pytest.raises(ValueError):
        canonical.decode(_damaged(kind), Record)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\xed\xa0\x80", b'{"kernel": "\xff"}'])
def test_what_is_not_utf8_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        canonical.decode(data, Record)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_never_written(number: float) -> None:
    value = Performance(latency_us=number, gflops=None, gbps=None, spread=None)
    with pytest.raises(ValueError):
        canonical.encode(value)


@pytest.mark.parametrize(
    "kind", ["another indentation", "CRLF", "one line", "keys in another order", "an escaped slash"]
)
def test_fmt_can_read_what_is_only_formatted_otherwise(kind: str) -> None:
    value = canonical.decode_lenient(_damaged(kind), Record)
    assert canonical.encode(value) == canonical.encode(examples.RECORD)
