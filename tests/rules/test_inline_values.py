"""KR305 and KR306: values in prose, through the real command."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from registry_tool.records import canonical
from tests.examples.build import GEMM, Row
from tests.examples.example import Example

PAGE = f"details/{GEMM}.md"


def value(words: str, text: str = "7") -> str:
    return f"<!-- registry:value {words} -->{text}<!-- /registry:value -->"


def append(good: Example, path: str, text: str) -> int:
    """Add a line to a page; its number."""
    before = good.path(path).read_text("utf-8") if good.path(path).exists() else "# Mine\n"
    good.write({path: f"{before}\n{text}\n"})
    return before.count("\n") + 2


@pytest.mark.parametrize(
    "path",
    [PAGE, "supported_kernels.md", "details/how-to.md", "README.md"],
)
def test_a_stale_value_is_found_and_render_mends_it(good: Example, path: str) -> None:
    line = append(good, path, f"All {value(f'count kernel={GEMM}')} rows.")
    (one,) = good.findings()
    assert (one["rule"], one["path"], one["line"]) == ("KR305", path, line)
    assert "'7'" in one["message"]
    assert "'2'" in one["message"]
    assert "registry-tool render" in one["fix"]
    good.command("render")
    assert good.findings() == []
    good.edit(path, "-->2<", "-->3<")
    assert good.rules() == {"KR305"}


def test_a_value_goes_stale_with_the_rows_of_another_page(good: Example, row: Row) -> None:
    worst = f"worst mean_rel_L1 kernel={GEMM}"
    append(good, "details/how-to.md", value(worst))
    good.command("render")
    assert good.findings() == []
    worse = replace(row.record, mean_rel_L1=9.77e-3)
    good.write({row.id.record_path: canonical.encode(worse)})
    found = [one for one in good.findings() if one["rule"] == "KR305"]
    assert [one["path"] for one in found] == ["details/how-to.md"]
    assert "'9.77e-3'" in found[0]["message"]


def test_an_emulated_speed_is_what_the_table_shows(good: Example) -> None:
    append(good, PAGE, value("best throughput", "9592"))
    (one,) = good.findings()
    assert "'emulated'" in one["message"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (value("best speed"), "unknown word 'speed'; expected throughput"),
        (value("count K=3"), "no row of"),
        (value("count", "2").replace("/registry", "/other"), "has no end marker"),
        (value("count", value("count", "2")), "begins inside the one"),
        (value("count", "2") + "<!-- /registry:value -->", "without a begin marker"),
    ],
)
def test_a_value_that_cannot_be_made_is_found(good: Example, text: str, message: str) -> None:
    line = append(good, PAGE, text)
    found = good.findings()
    assert {one["rule"] for one in found} == {"KR306"}
    assert found[0]["line"] == line
    assert message in found[0]["message"]


def test_code_and_regions_are_text(good: Example) -> None:
    append(good, PAGE, f"`{value('nonsense')}`\n\n```\n{value('nonsense')}\n```")
    assert good.findings() == []


def test_a_record_that_cannot_be_read_accuses_no_value(good: Example, row: Row) -> None:
    append(good, "details/how-to.md", value(f"count kernel={GEMM}", "2"))
    assert good.findings() == []
    good.edit(row.id.record_path, '"variant": "drain"', '"variant": drain')
    assert good.rules() == {"KR001"}


def test_a_page_that_is_gone_has_no_finding(good: Example) -> None:
    append(good, "details/how-to.md", value(f"count kernel={GEMM}"))
    assert good.rules() == {"KR305"}
    good.path("details/how-to.md").unlink()
    assert good.findings() == []
