from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from registry_tool.records.record import Record, Use
from registry_tool.records.spec import Column
from registry_tool.tables.document import TableError
from registry_tool.tables.read import read_tables
from registry_tool.tables.readback import project, require_reads_back, shown
from registry_tool.tables.render import kernel_table, render
from tests.tables import second_opinion
from tests.tables.samples import (
    ATTENTION,
    GEMM,
    attention_records,
    gemm_records,
    load,
    on_disk,
    record,
    write_registry,
)

LINE = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12),
    st.lists(
        st.sampled_from(
            ["|", "\\", "`", "*", "_", "<br>", "<!--", "&lt;", "~", " ", "a", "[b](c)"]
        ),
        min_size=1,
        max_size=6,
    ).map("".join),
)


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    sizes = draw(st.lists(st.integers(1, 10**6), min_size=1, max_size=4, unique=True))
    return [
        replace(
            record(GEMM, (size, 64, 64), "drain", draw(st.floats(0.01, 1e5))),
            mean_rel_L1=draw(st.floats(0, 10)),
            notes=draw(st.lists(LINE, max_size=3)),
            used_by=[Use(model=text, site=text) for text in draw(st.lists(LINE, max_size=2))],
        )
        for size in sizes
    ]


@settings(max_examples=50, deadline=None)
@given(records(), LINE)
def test_what_is_read_is_what_the_records_show(made: list[Record], title: str) -> None:
    spec = replace(GEMM, columns=[*GEMM.columns, Column(title=title, cell="notes")])
    data = kernel_table(spec, "hardware", made).encode()
    expected = project(spec, "hardware", made)
    (table,) = read_tables(data)
    assert shown(table) == expected
    ((cells, _),) = second_opinion.tables(data)
    assert cells == expected


@pytest.mark.parametrize("kind", ["hardware", "emulated"])
def test_the_sample_tables_read_back(kind: str) -> None:
    for spec, made in ((GEMM, gemm_records()), (ATTENTION, attention_records())):
        data = kernel_table(spec, kind, made).encode()
        (table,) = read_tables(data)
        assert shown(table) == project(spec, kind, made) == second_opinion.tables(data)[0][0]


def test_every_page_of_a_registry_reads_back(tmp_path: Path) -> None:
    root = write_registry(tmp_path, [*gemm_records(), *attention_records()])
    registry = load(root)
    done = render(registry, on_disk(root))
    require_reads_back(registry, done)
    index = read_tables(done["supported_kernels.md"])[0]
    assert ["Attention | toy [v2]", "npu2", "3", "25.0 GB/s (2048×2048 32q/8kv, herd 8)", "⚠️"] in (
        index.rows
    )


def test_a_page_that_would_show_something_else_is_refused(tmp_path: Path) -> None:
    root = write_registry(tmp_path, gemm_records())
    registry = load(root)
    done = render(registry, on_disk(root))
    path = "details/GEMM_bf16_in_bf16_out.md"
    for damage in (
        done[path].replace(b"| drain |", b"| dr|ain |"),
        done[path].replace(b"|---|", b"|---", 1),
        done[path].replace(b"-->\n\n| M", b"-->\n\n    | M"),
    ):
        with pytest.raises(TableError, match="would not be shown on GitHub") as caught:
            require_reads_back(registry, {path: damage})
        assert caught.value.path == path
