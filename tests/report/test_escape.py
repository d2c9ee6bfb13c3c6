"""Whatever a stranger writes: each format still parses, and shows it as text."""

from __future__ import annotations

import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from registry_tool.report import FORMATS, REVIEWS, escape
from registry_tool.report.markdown import Section, document
from registry_tool.rules.finding import Finding
from registry_tool.rules.model import Report
from tests.report import samples
from tests.tables.second_opinion import tables

ODD = [
    "\x1b[31m", "\x9b", "\x07", "\x00", "\r\n", "\n", "\u202e", "\u2066", "\u200b", "\u2028",
    "\ud800", "\U000e0041", "\ufffe", "|", "\\", "\\|", "`", "``", "<b>", "<!--", "-->", "]]>",
    "&amp;", "&#124;", "@a", "#1", "GH-1", "www.a.b", "https://a.b", "[a](b)", "![x](y)", "*", "_",
    "~~", "::error::x", "##[add-mask]a", "##vso[x]y", "%0A", "%", ",", ":", "{0}", "$x$", "é", "×",
]  # fmt: skip
# Whole documents are written for each example.
few = settings(max_examples=30, deadline=None)
texts = st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=5)), max_size=12).map("".join)
lines_of_text = texts.filter(bool)


def findings(text: str) -> tuple[Finding, ...]:
    return (
        samples.ERROR._replace(message=text, fix=text, path=text, record=text),
        samples.WARNING._replace(message=text, fix=text, path=f"kernels/{text}", record=None),
    )


def report(text: str) -> Report:
    return Report(findings(text), 1, 0.5)


def is_seen(text: str) -> bool:
    return not any(unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") for one in text)


@given(texts)
@example("::error::x")
@example(" \t::add-mask::x")
@example("##vso[task.complete]")
def test_a_line_holds_nothing_that_cannot_be_seen_and_no_command(text: str) -> None:
    line = escape.line(text)
    assert is_seen(line)
    assert not re.search(r"##\w*\[", line)
    assert not escape.start(text).lstrip().startswith("::")


@given(st.text(st.characters(categories=["L", "N", "P", "S"], max_codepoint=0x2FF)))
def test_what_can_be_seen_stays_as_it_is(text: str) -> None:
    if not re.search(r"##\w*\[", text):
        assert escape.line(text) == text


@few
@given(texts, st.sampled_from(sorted(FORMATS)))
def test_no_format_lets_a_control_character_through(text: str, format_: str) -> None:
    out = FORMATS[format_](report(text), f"{text}/")
    assert all(is_seen(line) for line in out.split("\n"))
    assert not re.search(r"##\w*\[", out)


@pytest.mark.parametrize("format_", sorted(REVIEWS))
def test_no_review_lets_one_through(format_: str) -> None:
    out = REVIEWS[format_](samples.REVIEW, "")
    assert all(is_seen(line) for line in out.split("\n"))
    assert not re.search(r"##\w*\[", out)
    if format_ != "github":
        assert not any(line.lstrip().startswith("::") for line in out.split("\n"))


@given(texts)
def test_json_reads_back(text: str) -> None:
    found = json.loads(FORMATS["json"](report(text), ""))
    assert found["findings"][0]["message"] == text
    assert json.loads(escape.json_text([text])) == [text]


@few
@given(texts)
def test_sarif_is_json_with_two_results(text: str) -> None:
    found = json.loads(FORMATS["sarif"](report(text), f"{text}/"))
    results = found["runs"][0]["results"]
    assert [one["level"] for one in results] == ["error", "warning"]
    for one in results:
        uri = one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]*", uri)
        assert "](" not in one["message"]["text"]


@few
@given(texts)
def test_junit_is_well_formed_and_has_the_message(text: str) -> None:
    root = ElementTree.fromstring(FORMATS["junit"](report(text), ""))
    (failure,) = root.iter("failure")
    assert failure.attrib["message"] == escape.line(text).replace("\ufffe", "\ufffd")
    assert int(root.attrib["tests"]) == len(list(root.iter("testcase")))


def parse_command(line: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as the runner's documentation says that it is read."""
    found = re.fullmatch(r"::([a-z]+) ([^:]*)::(.*)", line)
    assert found is not None, line
    properties = {}
    for part in found[2].split(","):
        name, _, value = part.partition("=")
        for written, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n")):
            value = value.replace(written, sign)
        properties[name] = value.replace("%25", "%")
    message = found[3].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
    return found[1], properties, message


@given(lines_of_text)
def test_an_annotation_round_trips_through_the_runners_escaping(text: str) -> None:
    out = FORMATS["github"](report(text), "way/").split("\n")
    assert len(out) == 3
    kind, properties, message = parse_command(out[1])
    safe = escape.line(text)
    assert kind == "error"
    # The runner's own unescaping is not exact for text that looks escaped; ours never splits.
    assert properties["file"] == f"way/{safe}"
    assert properties["line"] == "25"
    assert message == f"{safe}\nfix: {safe}"


@given(texts)
def test_a_cell_shows_its_text_and_never_breaks_the_table(text: str) -> None:
    cell = escape.markdown(text, 10_000)
    out = document("head", [Section("t", [(cell, "end"), ("x", "y")], ("a", "b"))])
    ((rows, _),) = tables(out.encode())
    shown = rows[1][0].replace("\u200b", "")
    wanted = escape._seen(text)
    assert len(rows) == 3
    assert rows[1][1] == "end"
    assert shown.strip() == wanted.replace("\u200b", "").strip()


@given(texts)
def test_a_cell_calls_nobody_and_links_nothing(text: str) -> None:
    cell = escape.markdown(text)
    assert not re.search(r"@[\w-]", cell)
    assert not re.search(r"#\d+\b(?!;)", cell)
    assert "://" not in cell
    assert not re.search(r"(?i)\bwww\.", cell)
    assert not re.search(r"(?<!\\)[`<>*_\[\]]", cell)


@given(st.text(max_size=30))
def test_code_is_used_for_plain_names_only(text: str) -> None:
    out = escape.code(text)
    if out.startswith("`"):
        assert re.fullmatch(r"`[\w.+/×-]+`", out)


def many(number: int) -> samples.Review:
    rows = tuple(
        replace(samples.NOTED, kind="re-measured", row=f"{samples.EMULATED}{at}", notes=())
        for at in range(number)
    )
    placed = tuple(samples.Placed(samples.ERROR, True) for _ in range(number))
    return replace(samples.REVIEW, rows=rows, findings=placed)


def test_a_comment_is_cut_by_rows_that_are_counted() -> None:
    out = REVIEWS["md"](many(3000), "")
    assert len(out.encode()) <= 65_536
    shown = [line for line in out.split("\n") if line.startswith("| re-measured")]
    cut, *_ = [int(n.replace(",", "")) for n in re.findall(r"… and ([\d,]+) more; ", out)]
    assert len(shown) > 20
    assert len(shown) + cut == 3000
    assert out.count("<details>") == out.count("</details>") > 0


def test_what_is_behind_a_click_is_cut_first() -> None:
    noted = replace(samples.NOTED, kind="re-measured", notes_added=("a remark " * 30,))
    rows = tuple(replace(noted, row=f"{samples.EMULATED}{at}") for at in range(200))
    out = REVIEWS["md"](replace(samples.REVIEW, rows=rows), "")
    assert len(out.encode()) <= 65_536
    assert sum(line.startswith("| re-measured") for line in out.split("\n")) == 200
    assert "more; `--format json` has all of them" in out
    assert "note added: a remark" in out


def test_a_small_comment_is_not_cut() -> None:
    out = REVIEWS["md"](samples.REVIEW, "")
    assert "… and" not in out
    assert out.startswith("<!-- registry-tool review -->\n")


def test_a_comment_of_long_texts_still_fits() -> None:
    long = replace(samples.NOTED, notes_added=("|" * 1000,) * 3000, waivers=samples.NOTED.waivers)
    out = REVIEWS["md"](replace(samples.REVIEW, rows=(long,) * 50), "")
    assert len(out.encode()) <= 65_536


@few
@given(texts)
def test_code_quality_is_a_list_of_issues(text: str) -> None:
    issues = json.loads(FORMATS["codequality"](report(text), "way/"))
    assert [issue["severity"] for issue in issues] == ["critical", "minor"]
    assert len({issue["fingerprint"] for issue in issues}) == 2
    assert issues[0]["location"] == {"path": f"way/{escape.line(text)}", "lines": {"begin": 25}}


@pytest.mark.parametrize("formats", [FORMATS, REVIEWS])
def test_the_annotation_that_sums_up_comes_first_and_counts_what_nobody_sees(
    formats: dict[str, Any],
) -> None:
    some = (*[samples.ERROR] * 12, *[samples.WARNING] * 11)
    placed = tuple(samples.Placed(one, True) for one in some)
    review, check = replace(samples.QUIET, findings=placed), samples.REPORT._replace(findings=some)
    made: Any = check if formats is FORMATS else review
    kind, _, message = parse_command(formats["github"](made, "").split("\n")[0])
    assert kind == "error"
    # The one that sums up is an error itself.
    assert message.endswith(
        "; 3 more errors and 1 more warning not shown as annotations: see the log"
    )
    few = formats["github"](samples.CLEAN if formats is FORMATS else samples.QUIET, "")
    assert "not shown" not in few


def test_a_review_of_nothing_is_a_test_that_passed() -> None:
    root = ElementTree.fromstring(REVIEWS["junit"](samples.QUIET, ""))
    assert (root.attrib["tests"], root.attrib["failures"]) == ("1", "0")
    assert len(list(root.iter("testcase"))) == 1


@given(texts)
def test_json_that_another_wrote_is_made_harmless_and_reads_the_same(text: str) -> None:
    document = json.dumps([text], ensure_ascii=False)
    safe = escape.json_seen(document)
    assert json.loads(safe) == [text]
    assert not re.search("[\x7f-\x9f\u200b\u2028\u202e\u2066\ud800]", safe)
    assert not re.search(r"##\w*\[", safe)
