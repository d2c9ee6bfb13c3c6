from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from registry_tool.records.record import Record
from registry_tool.registry_lookup import Lookup, NotVerifiedError
from registry_tool.tables import details
from registry_tool.tables.rows import rows
from tests.tables.samples import ATTENTION, GEMM, attention_records, gemm_records, record

SHAPE = (2048, 8192, 2048)
ALL = ["inherited", "failing", "untimed"]


def written(records: Iterable[Record], lookup: str | None = None, kind: str = "hardware") -> Any:
    return json.loads(details.encode(GEMM, "npu2", kind, rows(GEMM, kind, records), lookup))


def imported(
    method: str, speed: float | None, mean_rel_L1: float | None = 9.4e-3, notes: Iterable[str] = ()
) -> Record:
    return record(
        GEMM,
        SHAPE,
        method,
        speed,
        kind="imported",
        status="unverified",
        mean_rel_L1=mean_rel_L1,
        notes=notes,
    )


def said_of(field: str, source: str) -> Record:
    return replace(imported("fused-cast", 1.0), provenance={field: source})


def verified(method: str, speed: float) -> Record:
    return record(GEMM, SHAPE, method, speed)


def marks(method: dict[str, Any]) -> dict[str, Any]:
    return {name: method[name] for name in ("verified", "source", "caveats") if name in method}


def test_an_imported_row_is_there_and_says_that_it_is_not_verified() -> None:
    (entry,) = written([imported("fused-cast", 8898.0), verified("drain", 7234.0)])["shapes"]
    assert marks(entry["methods"]["fused-cast"]) == {"verified": False, "source": "imported"}
    assert marks(entry["methods"]["drain"]) == {}
    assert entry["methods"]["fused-cast"]["gflops"] == 8898.0


def test_rows_that_failed_or_that_a_diagnosis_covers_are_not_there() -> None:
    failed = record(GEMM, SHAPE, "drain", status="fail")
    unverified = record(GEMM, SHAPE, "direct", status="unverified")
    assert written([failed, unverified])["shapes"] == []
    made = rows(ATTENTION, "hardware", attention_records())
    shapes = json.loads(details.encode(ATTENTION, "npu2", "hardware", made))["shapes"]
    assert [entry["causal"] for entry in shapes] == [1, 1]


@pytest.mark.parametrize(
    ("one", "caveats"),
    [
        (imported("fused-cast", None), ["untimed"]),
        (imported("fused-cast", 1.0, mean_rel_L1=None), ["ungauged"]),
        (imported("fused-cast", 1.0, notes=["Speed carried over from x."]), ["inherited"]),
        (imported("fused-cast", 1.0, notes=["7034†"]), ["inherited"]),
        (said_of("performance", "inherited from x"), ["inherited"]),
        (said_of("performance.gflops", "inherited from x"), ["inherited"]),
        (said_of("performance.latency_us", "computed from the shape"), []),
        (said_of("tile", "inherited from x"), []),
        (said_of("caveats", "failing"), ["failing"]),
        (said_of("caveats", "inherited, failing"), ["inherited", "failing"]),
        (said_of("status", "❌ a.md:3"), ["failing"]),
        (said_of("status", "✅ a.md:3; ✘ b.md:4"), ["failing"]),
        (said_of("status", "✅ a.md:3; ⚠ b.md:4"), []),
        (imported("fused-cast", 1.0, notes=["Status NUMFAIL on two elements"]), ["failing"]),
        (imported("fused-cast", None, notes=["NUMFAIL; copied from x"]), ALL),
    ],
)
def test_what_its_own_words_and_gaps_say_of_it(one: Record, caveats: list[str]) -> None:
    (entry,) = written([one])["shapes"]
    assert entry["methods"]["fused-cast"].get("caveats", []) == caveats


@pytest.mark.parametrize("status", ["fail", "timeout", "error", "incomplete"])
def test_an_imported_row_with_a_worse_status_is_failing(status: Any) -> None:
    one = imported("fused-cast", 1.0)
    worse = replace(one, verdict=replace(one.verdict, status=status))
    (entry,) = written([worse])["shapes"]
    assert entry["methods"]["fused-cast"]["caveats"] == ["failing"]


def test_an_imported_pass_is_still_not_verified() -> None:
    one = imported("fused-cast", 1.0)
    claimed = replace(one, verdict=replace(one.verdict, status="pass"))
    (entry,) = written([claimed])["shapes"]
    assert entry["methods"]["fused-cast"]["verified"] is False


def test_the_best_passed_before_it_was_fast() -> None:
    (entry,) = written([imported("fused-cast", 8898.0), verified("drain", 7234.0)])["shapes"]
    assert entry["best"] == {"high": "drain"}
    (entry,) = written([imported("fused-cast", 8898.0), imported("drain", 7234.0)])["shapes"]
    assert entry["best"] == {"high": "fused-cast"}
    inherited = imported("fused-cast", 8898.0, notes=["Inherited from the K=64 row"])
    (entry,) = written([inherited, imported("drain", 7234.0)])["shapes"]
    assert entry["best"] == {"high": "drain"}


def test_a_row_that_was_imported_without_a_speed_is_nobodys_best() -> None:
    (entry,) = written([imported("drain", None), imported("direct", 3.0)])["shapes"]
    assert entry["best"] == {"low": "direct"}
    (entry,) = written([imported("drain", None)])["shapes"]
    assert entry["best"] == {}


def test_the_registrys_own_policy_stands_at_the_head() -> None:
    document = written([imported("drain", 1.0)], lookup="verified")
    assert next(iter(document)) == "lookup"
    lookup = Lookup.of_documents({GEMM.kernel: document})
    with pytest.raises(NotVerifiedError, match="strict='verified' refuses it"):
        lookup.gemm_config(*SHAPE)
    assert lookup.gemm_config(*SHAPE, strict=False)["method"] == "drain"


def test_the_file_explains_its_marks_where_it_has_any() -> None:
    assert "imported" in written([imported("drain", 1.0)])["_comment"]
    assert "imported" not in written(gemm_records())["_comment"]


def test_without_imported_rows_nothing_changed() -> None:
    document = written(gemm_records())
    assert "lookup" not in document
    for entry in document["shapes"]:
        assert all(marks(method) == {} for method in entry["methods"].values())
