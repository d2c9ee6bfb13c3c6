"""Values in prose: what they show, and what `render` writes of a page that has some."""

from __future__ import annotations

import html
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from registry_tool.cli import main
from registry_tool.records import canonical
from registry_tool.records.record import Record
from registry_tool.store import registry as registries
from registry_tool.store import snapshot
from registry_tool.tables import inline, selector
from registry_tool.tables.document import TableError
from registry_tool.tables.inline import Home, Values
from registry_tool.tables.selector import SelectorError
from tests.tables import samples
from tests.tables.samples import ATTENTION, GEMM, attention_records, gemm_records, write_registry

PAGE = f"details/{GEMM.kernel}.md"
HOME = Home(GEMM.kernel, "npu2")
TARGETS = registries.catalog.parse_policy(samples.HARDWARE.encode(), "registry.yaml").targets
SPECS = {spec.kernel: spec for spec in (GEMM, ATTENTION)}


def values_of(records: Sequence[Record]) -> Values:
    def records_of(place: inline.Place) -> list[Record]:
        return [one for one in records if (one.target, one.kernel) == place]

    return Values(SPECS, TARGETS, records_of)


ALL = values_of(
    [*gemm_records(), *attention_records(), *gemm_records("npu2-emu")],
)


def shown(words: str, values: Values = ALL, home: Home = HOME) -> str | None:
    return inline.text(selector.parse(words), values, home)


def value(words: str, text: str = "?") -> str:
    return f"<!-- registry:value {words} -->{text}<!-- /registry:value -->"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("best throughput", "9592"),
        ("worst throughput", "482"),
        ("range throughput", "482–9592"),
        ("best throughput variant=drain", "7234"),
        ("best throughput precision=high", "8898"),
        ("best throughput M=512", "1703"),
        ("range throughput M=512 variant=drain", "1703"),
        ("best throughput model=Llama-3.2-1B", "8898"),
        ("best throughput unit=yes", "9592 GFLOP/s"),
        ("range throughput unit=yes", "482–9592 GFLOP/s"),
        ("best throughput digits=1", "10000"),
        ("best throughput digits=2", "9600"),
        ("best mean_rel_L1", "9.40e-3"),
        ("worst mean_rel_L1", "1.90e-2"),
        ("worst mean_rel_L1 digits=1", "2e-2"),
        ("range mean_rel_L1 digits=2", "9.4e-3–1.9e-2"),
        ("worst max_abs", "1.22e-3"),
        ("best max_rel", "1.23e5"),
        ("best latency", "437 µs"),
        ("best latency unit=no", "437"),
        ("best tiles", "32"),
        ("worst tiles", "16"),
        ("count", "5"),
        ("count rows variant=drain", "2"),
        ("count shapes", "2"),
        ("range latency kernel=Attention_toy digits=3", "437 µs–15.4 ms"),
        ("best throughput target=npu2-emu", "emulated"),
        ("range latency target=npu2-emu digits=2", "emulated"),
        ("worst mean_rel_L1 target=npu2-emu", "1.90e-2"),
        ("count shapes target=npu2-emu", "2"),
    ],
)
def test_a_value_is_what_the_rows_say(words: str, text: str) -> None:
    assert shown(words) == text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("best throughput M=3", "no row of GEMM_bf16_in_bf16_out on npu2 fits"),
        ("count model=Nobody", "no row of"),
        ("best throughput lq=3", "unknown key 'lq'; the dimensions of .* are M, K, N"),
        ("best throughput kernel=Nothing", "unknown kernel 'Nothing'; expected one of"),
        ("best throughput target=npu9", "unknown target 'npu9'"),
        ("best throughput variant=dr", "unknown variant 'dr'; those of .* are: fused-cast, drain"),
        ("best throughput target=npu2-emu kernel=Attention_toy", "no row of Attention_toy"),
    ],
)
def test_a_selection_that_cannot_be_made_says_so(words: str, message: str) -> None:
    with pytest.raises(SelectorError, match=message):
        shown(words)


def test_a_page_of_no_kernel_asks_for_one() -> None:
    with pytest.raises(SelectorError, match="expected kernel=NAME"):
        shown("best throughput", home=Home(None, "npu2"))


def test_a_row_that_failed_and_the_diagnosis_of_a_model_are_not_spoken_of() -> None:
    fast = samples.record(GEMM, (64, 64, 64), "drain", 99999.0, status="fail")
    assert shown("best throughput", values_of([*gemm_records(), fast])) == "9592"
    assert shown("count rows kernel=Attention_toy") == "2"


def test_an_imported_row_is_spoken_of() -> None:
    one = samples.record(GEMM, (64, 64, 64), "drain", 12.5, status="unverified", kind="imported")
    assert shown("best throughput", values_of([one])) == "12.5"


def test_rows_without_the_figure_show_what_the_table_shows() -> None:
    assert shown("best latency", values_of([samples.record(GEMM, (64, 64, 64), "drain")])) == "—"


@pytest.mark.parametrize(
    ("path", "home"),
    [
        (PAGE, HOME),
        (f"details/npu2-emu/{GEMM.kernel}.md", Home(GEMM.kernel, "npu2-emu")),
        ("supported_kernels.md", Home(None, "npu2")),
        ("README.md", Home(None, "npu2")),
        ("details/how-to.md", Home(None, "npu2")),
        (f"elsewhere/{GEMM.kernel}.md", Home(None, "npu2")),
    ],
)
def test_a_page_stands_for_a_kernel_and_a_target(path: str, home: Home) -> None:
    assert inline.home_of(path, SPECS, TARGETS) == home


@pytest.mark.parametrize(
    ("page", "line", "message"),
    [
        ("a\n\n" + value("best throughput")[:-24], 3, "has no end marker"),
        ("a\n\n<!-- /registry:value --> b\n", 3, "without a begin marker"),
        (
            "a <!-- registry:value count -->1 " + value("count") + "\n",
            1,
            "begins inside the one that began on line 1",
        ),
        ("a <!-- registry:value count -->1\n2<!-- /registry:value -->\n", 1, "ends on line 2"),
        ("| a <!-- registry:value count -->1 | 2<!-- /registry:value --> |\n", 1, "another table"),
        ("a <!-- registry:value\ncount -->1<!-- /registry:value -->\n", 1, "on one line"),
        ("text <!-- registry:value count 1\n\nmore\n", 1, "has no `-->`"),
        ("a <!-- registry:values count -->1<!-- /registry:value -->\n", 1, "without a begin"),
        ("a <!-- registry:value count -->1<!-- /registry:value count -->\n", 1, "expected `<!-- /"),
        ("a\nb " + value("best sped") + "\n", 2, "unknown word 'sped'; expected throughput"),
        ("a\nb " + value("count M=3") + "\n", 2, "no row of"),
        (
            "`" + value("count") + "` <!-- registry:value count -->1\n",
            1,
            "has no end marker (one in code does not count)",
        ),
    ],
)
def test_what_does_not_fit_is_an_error_with_its_line(page: str, line: int, message: str) -> None:
    with pytest.raises(TableError, match=re.escape(message)) as caught:
        inline.splice(page.encode(), ALL, HOME, PAGE)
    assert (caught.value.path, caught.value.line) == (PAGE, line)
    assert caught.value.fix


@pytest.mark.parametrize(
    "page",
    [
        "`" + value("nonsense") + "`\n",
        "```\n" + value("nonsense") + "\n```\n",
        "    " + value("nonsense") + "\n",
        "<!-- registry:begin shapes -->\n\n| "
        + value("nonsense")
        + " |\n\n<!-- registry:end -->\n",
        "<!--\n" + value("nonsense").replace("-->", "") + "\n-->\n",
        "\\" + value("nonsense").replace("<!-- /", "\\<!-- /") + "\n",
        "the word registry:value alone\n",
    ],
)
def test_in_code_and_in_regions_it_is_text(page: str) -> None:
    assert inline.splice(page.encode(), ALL, HOME) == page.encode()


PIECES = st.sampled_from(
    [
        "best throughput",
        "worst mean_rel_L1 digits=2",
        "range latency",
        "count shapes",
        "best throughput target=npu2-emu",
    ]
)
AROUND = st.text(st.sampled_from("ab \n\t\r*_`|<>#-é\u2028")).map(lambda text: f"x{text}x")


@given(st.lists(st.tuples(AROUND, PIECES, st.text("0123 µ|*")), max_size=5), AROUND)
def test_only_what_stands_between_the_markers_is_written(
    parts: list[tuple[str, str, str]], last: str
) -> None:
    page = "".join(around + value(words, old) for around, words, old in parts) + last
    data = page.encode()
    try:
        found = inline.marked(data)
        after = inline.splice(data, ALL, HOME)
    except TableError:  # the text around cut a pair in two: code, or a container
        return
    pieces, at = [], 0
    for one in found:
        wanted = inline.text(selector.parse(one.words), ALL, HOME)
        assert wanted is not None
        pieces += [data[at : one.start], wanted.encode()]
        at = one.stop
    assert after == b"".join([*pieces, data[at:]])
    assert inline.splice(after, ALL, HOME) == after
    assert [one.words for one in inline.marked(after)] == [one.words for one in found]


def read_back(page: str) -> list[tuple[str, str]]:
    """Words and displayed text of each value, as a reader's own Markdown parser shows them."""
    rendered = MarkdownIt("commonmark").enable("table").render(page)
    found = re.findall(
        r"<!-- registry:value (.*?) -->(.*?)<!-- /registry:value -->", rendered, re.S
    )
    return [(words, html.unescape(re.sub(r"<[^>]*>", "", text))) for words, text in found]


@given(st.lists(PIECES, min_size=1, max_size=4))
def test_what_is_displayed_is_the_projection_of_the_records(words: list[str]) -> None:
    page = "# Head " + value(words[0]) + "\n\n" + "".join(f"- a {value(one)} b\n" for one in words)
    after = inline.splice(page.encode(), ALL, HOME).decode()
    expected = []
    for one in [words[0], *words]:
        said = selector.parse(one)
        kind = TARGETS[said.target or "npu2"].kind
        records = ALL.records_of((said.target or "npu2", GEMM.kernel))
        assert records is not None
        expected.append((one, inline.project(said, GEMM, kind, "npu2", records)))
    assert read_back(after) == expected


# Through the real command.


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = write_registry(tmp_path, [*gemm_records(), *attention_records()])
    assert main(["render", "--registry", str(made), "--quiet"]) == 0
    return made


def render(root: Path, *options: str) -> int:
    return main(["render", "--registry", str(root), *options])


PAGES = ["supported_kernels.md", PAGE, f"details/npu2-emu/{GEMM.kernel}.md", "README.md"]


@pytest.mark.parametrize("name", [*PAGES, "details/how-to.md"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_render_writes_the_figure_and_nothing_else(root: Path, name: str, newline: str) -> None:
    words = f"best throughput kernel={GEMM.kernel} target=npu2"
    around = ["", "Text with  odd\tspace,\u00a0and {} GFLOP/s.", ""]
    page = root / name
    if name.startswith("details/npu2-emu"):
        page.parent.mkdir(exist_ok=True)
        assert render(root, "--quiet") == 0
        page.write_bytes((root / PAGE).read_bytes().replace(b"on npu2", b"on npu2-emu"))
        render(root, "--quiet", "--force")
    before = page.read_bytes() if page.exists() else b"# Mine\n"
    before = before.replace(b"\n", newline.encode())
    tail = newline.join(around)
    page.write_bytes(before + tail.format(value(words, "7")).encode())
    assert render(root, "--check") == 1
    assert render(root) == 0
    assert page.read_bytes() == before + tail.format(value(words, "9592")).encode()
    assert render(root, "--check") == 0


def test_a_readme_without_values_is_not_the_tools_affair(root: Path) -> None:
    (root / "README.md").write_bytes(b"# Mine\n\nNo figure.\n")
    assert render(root, "--check") == 0
    (root / "README.md").unlink()
    assert render(root, "--check") == 0
    assert not (root / "README.md").exists()


def test_a_figure_follows_its_row(root: Path) -> None:
    page = root / PAGE
    page.write_text(
        page.read_text("utf-8") + "\nUp to " + value("best throughput") + ".\n", "utf-8"
    )
    render(root)
    assert value("best throughput", "9592") in page.read_text("utf-8")
    faster = samples.record(GEMM, (2048, 8192, 2048), "direct", 9700.0)
    (row,) = samples.by_id([faster])
    (root / row.record_path).write_bytes(canonical.encode(faster))
    assert render(root) == 0
    assert value("best throughput", "9700") in page.read_text("utf-8")


@pytest.mark.parametrize("broken", ["<!-- registry:value count -->3", value("most rows")])
def test_a_broken_value_keeps_every_file_as_it_was(
    root: Path, broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = root / PAGE
    text = page.read_text("utf-8")
    page.write_text(text + "\n" + broken + "\n", "utf-8")
    before = samples.on_disk(root)
    capsys.readouterr()
    assert render(root) == 2
    assert f"{PAGE}:{text.count(chr(10)) + 2}: " in capsys.readouterr().err
    assert samples.on_disk(root) == before


def test_a_page_with_values_is_staged_with_the_others(tmp_path: Path) -> None:
    root = write_registry(tmp_path, gemm_records())
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    (root / "README.md").write_text(value(f"count kernel={GEMM.kernel}") + " rows\n", "utf-8")
    assert render(root) == 0
    staged = subprocess.run(
        [*git, "show", ":README.md"], check=True, capture_output=True, text=True
    ).stdout
    assert staged == value(f"count kernel={GEMM.kernel}", "5") + " rows\n"
    assert snapshot.of_worktree(root).kind == "worktree"
