"""The JSON Schemas: generated, current, described, and read alike by every validator."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from jsonschema import Draft202012Validator

from registry_tool.records import catalog, schema
from registry_tool.records.fields import Part
from registry_tool.records.layout import Layout
from registry_tool.records.model import Model
from registry_tool.records.record import Record
from registry_tool.records.verdict import Verdict
from tests.records import examples

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"

every_schema = pytest.mark.parametrize("name", schema.TYPES)

Document = dict[str, Any]

BASELINE: Document = {
    "$schema": "schemas/baseline-1.schema.json",
    "schema_version": 1,
    "rows": [
        {"row": "npu2/GEMV_bf16/64x64+fused-cast", "record": "0a" * 32, "artifact": "f1" * 32}
    ],
}

GOOD: dict[str, Callable[[], Document]] = {
    "record-1": lambda: examples.plain(examples.RECORD),
    "verdict-1": lambda: examples.plain(examples.VERDICT),
    "model-1": lambda: examples.plain(examples.MODEL),
    "kernel-1": lambda: examples.plain(catalog.built_in()["GEMM_bf16_in_bf16_out"]),
    "registry-1": lambda: copy.deepcopy(examples.POLICY),
    "baseline-1": lambda: copy.deepcopy(BASELINE),
    "layout-1": lambda: examples.plain(examples.LAYOUT),
}


def test_the_schema_files_are_what_the_types_say_today() -> None:
    wanted = schema.schema_files()
    found = {path.name: path.read_bytes() for path in SCHEMAS.glob("*.json")}
    assert found == wanted, "run `make docs`"


def test_writing_makes_the_same_files(tmp_path: Path) -> None:
    schema.write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == schema.schema_files()


@every_schema
def test_a_schema_is_a_schema(name: str) -> None:
    document = schema.schema_of(name)
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema.schema_for(schema.TYPES[name]) == document


def _properties(node: object, where: str) -> Iterator[tuple[str, Document]]:
    if isinstance(node, dict):
        for name, value in node.get("properties", {}).items():
            yield f"{where}.{name}", value
        for key, value in node.items():
            yield from _properties(value, f"{where}.{key}")
    elif isinstance(node, list):
        for value in node:
            yield from _properties(value, where)


@every_schema
def test_every_property_has_a_description(name: str) -> None:
    found = list(_properties(schema.schema_of(name), name))
    assert len(found) > 5
    assert [where for where, value in found if not value.get("description")] == []


@every_schema
def test_every_object_of_ours_is_closed(name: str) -> None:
    definitions = schema.schema_of(name)["$defs"]
    for where, definition in definitions.items():
        assert definition["additionalProperties"] is False, where
        assert definition.get("description"), where


# --- one corpus, four readers ---------------------------------------------------------------------


def _at(document: Any, path: str) -> tuple[Any, Any]:
    *parents, last = path.split("/")
    for part in parents:
        document = document[int(part) if isinstance(document, list) else part]
    return document, int(last) if isinstance(document, list) else last


def _with(path: str, value: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        parent, key = _at(document, path)
        parent[key] = value

    return change


def _without(path: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        parent, key = _at(document, path)
        del parent[key]

    return change


GOOD_CHANGES: dict[str, list[Callable[[Document], None]]] = {
    "record-1": [
        _without("$schema"),
        _without("schema_version"),
        _with("performance", None),
        _with("variant", None),
        _with("shape", {}),
        _with("shape/causal", 0),
        _with("mean_rel_L1", 0),
        _with("mean_rel_L1", 1),
        _with("max_rel", 1e308),
        _with("notes", ["é ✅ \u2028 next"]),
        _with("notes", ["ends in a space "]),
        _with("kernel", "a" * 128),
    ],
    "verdict-1": [
        _with("gate/band", None),
        _with("gate/zero_share", 1),
        _with("attempts/0/exit_status", -9),
        _with("attempts", []),
        _with("attempts/0/command", []),
        _with("outputs", []),
        _with("sources", {}),
    ],
    "baseline-1": [_without("$schema"), _with("rows", []), _with("rows/0/row", "a/B_c/1x2")],
    "model-1": [_with("needs", []), _with("needs/0/precision", None), _with("notes", [])],
    "kernel-1": [
        _with("variants", {}),
        _with("constraints/0/when", None),
        _with("emulator", None),
        _without("harness"),
        _with("work/flops", None),
        _with("columns/0/argument", None),
        _without("columns/0/align"),
    ],
    "registry-1": [
        _without("signing"),
        _without("targets/npu2/jobs"),
        _with("targets/npu2/harness_root", None),
    ],
    "layout-1": [
        _without("$schema"),
        _with("$schema", "../../schemas/layout-1.schema.json"),
        _without("tables/0/columns/0/bold"),
        _with("tables/0/columns/0/rule", ":-:"),
        _with("tables/0/lines", []),
        _with("tables/0/lines/0/row", None),
        _without("tables/0/lines/0/cells"),
        _with("tables/0/lines/0/cells/Status/text", ""),
        _with("tables/0/lines/0/cells/Status/of", {"gflops": 4276, "variant": "drain"}),
        _with("tables/0/lines/0/cells/Status/of/gflops", None),
        _with("tables/0/kernel", None),
    ],
}

BAD_CHANGES: dict[str, list[Callable[[Document], None]]] = {
    "record-1": [
        _without("kernel"),
        _without("provenance"),
        _without("verdict/sha256"),
        _without("performance/gbps"),
        _with("extra", 1),
        _with("verdict/extra", 1),
        _with("$schema", "elsewhere.json"),
        _with("schema_version", 2),
        _with("schema_version", "1"),
        _with("schema_version", True),
        _with("kernel", ""),
        _with("kernel", "a/b"),
        _with("kernel", ".hidden"),
        _with("kernel", "name\n"),
        _with("kernel", "a" * 129),
        _with("kernel", None),
        _with("kernel", 7),
        _with("shape", []),
        _with("shape/M", -1),
        _with("shape/M", True),
        _with("shape/M", 0.5),
        _with("shape/M", "2048"),
        _with("shape/M", None),
        _with("tile/tile_m", 0),
        _with("herd", {}),
        _with("herd/0", 0),
        _with("herd/0", "8"),
        _with("tiles_in_flight", 0),
        _with("precision", "medium"),
        _with("mean_rel_L1", -1e-9),
        _with("mean_rel_L1", "0.009"),
        _with("mean_rel_L1", False),
        _with("performance/latency_us", 0),
        _with("performance/latency_us", None),
        _with("performance", []),
        _with("verdict/status", "passed"),
        _with("verdict/sha256", "0" * 63),
        _with("verdict/sha256", "0" * 64 + "\n"),
        _with("verdict/sha256", "A" * 64),
        _with("verdict/sha256", "٣" * 64),
        _with("verdict/artifact", ""),
        _with("notes", "a note"),
        _with("notes", [""]),
        _with("notes", ["two\nlines"]),
        _with("notes", ["\x00"]),
        _with("notes", ["\x7f"]),
        _with("notes", [None]),
        _with("used_by/0/site", ""),
        _with("waivers/0/rule", "KR1"),
        _with("waivers/0/rule", "KR2030"),
        _with("waivers/0/date", "2026-8-1"),
        _with("waivers/0/date", "2026-08-01\n"),
        _with("waivers/0/date", "٢٠٢٦-08-01"),
        _with("provenance", {"max_abs": ""}),
        _with("provenance", {"max_abs": 1}),
    ],
    "verdict-1": [
        _without("environment"),
        _without("gate/band_reason"),
        _with("run_id", "20260801T093000Z-0123ABCD"),
        _with("run_id", "2026-08-01T09:30:00Z"),
        _with("status", "ok"),
        _with("gate/rtol", -0.1),
        _with("gate/zero_share", 1.5),
        _with("gate/zero_share", -0.1),
        _with("gate/band/low", None),
        _with("outputs/0/index", -1),
        _with("outputs/0/elements", 0),
        _with("outputs/0/mean_rel_L1", "nan"),
        _with("attempts/0/command", "make run"),
        _with("attempts/0/command", [1]),
        _with("attempts/0/exit_status", "0"),
        _with("attempts/0/timed_out", 0),
        _with("attempts/0/started", "2026-08-01 09:30:00"),
        _with("attempts/0/log/name", "../r.log"),
        _with("attempts/0/log/size", -1),
        _with("environment/host", None),
        _with("environment/host/value", 1),
        _with("environment/toolchain", None),
        _with("sources", {"a": "b"}),
    ],
    "baseline-1": [
        _without("rows"),
        _with("rows", {}),
        _with("schema_version", 2),
        _with("rows/0/row", "a/b"),
        _with("rows/0/row", "a/b/c/d"),
        _with("rows/0/row", "a/../c"),
        _with("rows/0/row", "a/b/c\n"),
        _with("rows/0/record", "0" * 63),
        _with("rows/0/artifact", None),
        _without("rows/0/artifact"),
        _with("rows/0/note", "mine"),
        _with("note", "mine"),
    ],
    "model-1": [
        _without("seq"),
        _with("seq", 0),
        _with("needs/0/phase", "training"),
        _with("needs/0/shape/M", "2048"),
        _with("uncovered/0/reason", ""),
        _with("config_sha256", None),
    ],
    "kernel-1": [
        _without("dims"),
        _with("dims", []),
        _with("tile/tile_m/choices", []),
        _with("tile/tile_m/choices", [0]),
        _with("tile/tile_m", 64),
        _with("herd", {}),
        _with("constraints/0/kind", "soft"),
        _with("constraints/0/holds", ""),
        _with("constraints/0/holds", "M" * 2001),
        _with("constraints/0/reason", None),
        _with("bound", "neither"),
        _with("metric", "tops"),
        _with("tolerances/high/rtol", -1),
        _with("outputs", []),
        _with("columns", []),
        _with("columns/0/align", "middle"),
        _with("harness/npu2/correctness", None),
        _with("harness/npu2/correctness/command", []),
        _with("preference/0/order", []),
    ],
    "registry-1": [
        _without("targets"),
        _with("targets", {}),
        _with("targets/npu2/kind", "simulated"),
        _with("targets/npu2/lock", "/tmp/lock"),
        _with("targets/npu2/lock/limit_s", 0),
        _with("targets/npu2/jobs", 0),
        _with("signing", "on"),
        _with("policy", {}),
    ],
    "layout-1": [
        _without("page"),
        _with("tables", []),
        _with("tables/0/columns", []),
        _with("tables/0/region", "two words"),
        _with("tables/0/lines_of", "cell"),
        _with("tables/0/new_lines", 1),
        _with("tables/0/columns/0/rule", "=="),
        _with("tables/0/columns/0/rule", "---\n"),
        _with("tables/0/columns/0/bold", "best"),
        _with("tables/0/columns/0/cell", "two\nlines"),
        _with("tables/0/lines/0/row", ""),
        _with("tables/0/lines/0/cells/Status", "text"),
        _with("tables/0/lines/0/cells/Status/of", {"gflops": [1]}),
        _with("tables/0/lines/0/cells/Status/used_by", "Toy"),
    ],
}


def _readers(name: str) -> dict[str, Callable[[Document], bool]]:
    document = schema.schema_of(name)

    def by_msgspec(value: Document) -> bool:
        try:
            msgspec.json.decode(msgspec.json.encode(value), type=schema.TYPES[name])
        except msgspec.ValidationError:
            return False
        return True

    return {
        "jsonschema": Draft202012Validator(document).is_valid,
        "jsonschema-rs": jsonschema_rs.Draft202012Validator(document).is_valid,
        "msgspec": by_msgspec,
    }


def _answers(name: str, changes: list[Callable[[Document], None]]) -> list[dict[str, bool]]:
    readers = _readers(name)
    answers = []
    for change in changes:
        document = GOOD[name]()
        change(document)
        answers.append({reader: accepts(document) for reader, accepts in readers.items()})
    return answers


@every_schema
def test_all_readers_accept_what_is_good(name: str) -> None:
    everything = [lambda document: None, *GOOD_CHANGES[name]]
    for number, answer in enumerate(_answers(name, everything)):
        assert all(answer.values()), (number, answer)


@every_schema
def test_all_readers_refuse_what_is_bad(name: str) -> None:
    for number, answer in enumerate(_answers(name, BAD_CHANGES[name])):
        assert not any(answer.values()), (number, answer)


def test_a_whole_float_is_an_integer_to_json_schema_and_the_typed_decode_refuses_it() -> None:
    document = GOOD["record-1"]()
    document["shape"]["M"] = 2048.0
    answers = {reader: accepts(document) for reader, accepts in _readers("record-1").items()}
    assert answers == {"jsonschema": True, "jsonschema-rs": True, "msgspec": False}


@pytest.mark.parametrize("name", ["GEMV_bf16", "FlashAttention_bf16", "RMSNorm_bf16"])
def test_every_built_in_spec_fits_the_published_schema(name: str) -> None:
    document = examples.plain(catalog.built_in()[name])
    assert all(accepts(document) for accepts in _readers("kernel-1").values())


def _patterns(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        for value in node.values():
            yield from _patterns(value)
    elif isinstance(node, list):
        for value in node:
            yield from _patterns(value)


@every_schema
def test_schemas_avoid_what_validators_read_differently(name: str) -> None:
    text = str(schema.schema_of(name))
    assert "multipleOf" not in text
    for pattern in _patterns(schema.schema_of(name)):
        assert "$" not in pattern
        assert "\\d" not in pattern
        assert "\\w" not in pattern


@pytest.mark.parametrize("type_", [Record, Verdict, Model, Layout])
def test_a_file_points_editors_to_its_schema(type_: type[Part]) -> None:
    name = next(name for name, known in schema.TYPES.items() if known is type_)
    document = GOOD[name]()
    assert document["$schema"].endswith(f"schemas/{name}.schema.json")
