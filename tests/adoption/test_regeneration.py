"""The public registry's pages, marked and rendered: what changes is what the report says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import msgspec
import pytest

from registry_tool.adoption.drift import Finding
from registry_tool.adoption.mark import Marked, kernels_of, mark
from registry_tool.adoption.model import Adoption, Table
from registry_tool.records import canonical
from registry_tool.records.layout import Layout, TableLayout
from registry_tool.records.record import Record, Use
from registry_tool.tables import document, layout
from registry_tool.tables.document import Region
from registry_tool.tables.layout_files import file_of
from registry_tool.tables.layout_template import places
from registry_tool.tables.layout_values import FIGURES
from registry_tool.tables.read import TableRead, read_tables
from registry_tool.tables.readback import project_layout, shown
from tests.adoption import public
from tests.shared_data import shared
from tests.tables import second_opinion

MARKED = ("shapes", "pivot", "overview")


@cache
def tables_of(data: bytes) -> list[TableRead]:
    return read_tables(data)


@dataclass(frozen=True)
class Adopted:
    """The public registry, taken over: what it was, and what the rows say in its place."""

    adoption: Adoption
    records: list[Record]
    marked: Marked
    layouts: Mapping[str, Layout]
    rendered: Mapping[str, bytes]
    findings: list[Finding]

    def before(self, page: str) -> bytes:
        return self.adoption.source(page).data

    def tables(self, page: str) -> list[tuple[Table, TableLayout, Region, TableRead, TableRead]]:
        """Each marked table of a page: as it was adopted, its layout, and how it reads now."""
        old = {table.line: table for table in tables_of(self.before(page))}
        new = tables_of(self.rendered[page])
        tables = [t for t in self.adoption.tables if t.file == page and t.kind in MARKED]
        found = []
        regions = document.regions(self.rendered[page])
        for table, own, region in zip(tables, self.layouts[page].tables, regions, strict=True):
            [now] = [one for one in new if region.start_line < one.line < region.end_line]
            found.append((table, own, region, old[table.line], now))
        return found

    def about(self, where: str, row: str) -> list[Finding]:
        """The findings about a line, or about the row or the shape that it shows."""
        shape = row.split("+")[0]
        return [
            one
            for one in self.findings
            if where in one.where
            or (one.record is not None and (one.record == row or one.record == shape))
            or (row == shape and (one.record or "").split("+")[0] == shape)
        ]


def taken_over(adoption: Adoption, records: list[Record], marked: Marked) -> dict[str, bytes]:
    kernels = kernels_of(adoption, records)
    return {
        page: document.splice(data, layout.page(layout_of(marked, page), kernels), page)
        for page, data in marked.pages.items()
    }


def layout_of(marked: Marked, page: str) -> Layout:
    return canonical.decode(marked.layouts[file_of(page)], Layout)


@cache
def _adopted() -> Adopted:
    adoption = public.adopted()
    records = [one.record for one in public.made()]
    marked = mark(adoption, records)
    return Adopted(
        adoption,
        records,
        marked,
        {page: layout_of(marked, page) for page in marked.pages},
        taken_over(adoption, records, marked),
        list(public.findings()),
    )


@pytest.fixture
def adopted() -> Adopted:
    shared("upstream_registry")
    return _adopted()


def outside(data: bytes) -> list[bytes]:
    """What stands before, between and after the regions of a page."""
    parts, at = [], 0
    for region in document.regions(data):
        parts.append(data[at : region.body_start])
        at = region.body_start + len(region.body)
    return [*parts, data[at:]]


def without_markers(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"<!-- registry:"))


def test_every_page_with_rows_is_marked_and_has_a_layout(adopted: Adopted) -> None:
    assert len(adopted.marked.pages) == 11
    assert sum(len(one.tables) for one in adopted.layouts.values()) == 24


def test_marking_adds_marker_lines_and_nothing_else(adopted: Adopted) -> None:
    for page, data in adopted.marked.pages.items():
        assert without_markers(data) == adopted.before(page), page
        assert not any(region.edited for region in document.regions(data))


def test_outside_the_regions_every_byte_stays(adopted: Adopted) -> None:
    checksum = b"<!-- registry:end "
    for page, data in adopted.rendered.items():
        for before, after in zip(outside(adopted.marked.pages[page]), outside(data), strict=True):
            # The end marker carries the checksum of what it ends.
            cut = len(checksum) + 12 if before.startswith(checksum) else 0
            assert after[cut:] == before[cut:], page


def differences(adopted: Adopted) -> Iterator[tuple[str, str, str, str, str]]:
    """Line, row, heading, and how a cell read before and reads now."""
    for page in adopted.rendered:
        for _, own, _, old, new in adopted.tables(page):
            assert new.header == old.header
            named = [line.row or "" for line in own.lines]
            for row, line, before, after in zip(
                named, old.row_lines, old.rows, new.rows[: len(old.rows)], strict=True
            ):
                name = f"{own.kernel}/{row}" if own.kernel else row
                for title, was, now in zip(old.header, before, after, strict=True):
                    if was != now:
                        yield f"{page}:{line}", name, title, was, now


def test_a_cell_reads_as_before_unless_the_report_has_a_finding_on_its_row(
    adopted: Adopted,
) -> None:
    found = list(differences(adopted))
    unexplained = [one for one in found if not adopted.about(one[0], one[1])]
    assert unexplained == []
    assert 0 < len(found) < 40


def added(adopted: Adopted) -> Iterator[tuple[str, str]]:
    """Page and row of each line that a table did not have."""
    kernels = kernels_of(adopted.adoption, adopted.records)
    for page in adopted.rendered:
        for _, own, _, old, _ in adopted.tables(page):
            for line in layout.lines_of(own, kernels)[len(old.rows) :]:
                yield page, f"{own.kernel}/{line.key}"


def test_a_line_is_new_only_where_the_report_misses_it(adopted: Adopted) -> None:
    found = list(added(adopted))
    assert [one for one in found if not adopted.about("", one[1])] == []
    assert len(found) > 30


def test_no_line_is_gone_and_the_old_ones_keep_their_order(adopted: Adopted) -> None:
    kernels = kernels_of(adopted.adoption, adopted.records)
    for page in adopted.rendered:
        for _, own, _, old, new in adopted.tables(page):
            assert len(own.lines) == len(old.rows)
            lines = layout.lines_of(own, kernels)
            assert [line.key for line in lines[: len(old.rows)]] == [
                line.row or "" for line in own.lines
            ]
            assert len(new.rows) == len(lines)


def test_every_better_figure_that_the_report_names_is_shown(adopted: Adopted) -> None:
    changed = {where for where, *_ in differences(adopted)}
    named = [one for one in adopted.findings if one.kind == "headline-not-best"]
    assert named
    for finding in named:
        assert changed & set(finding.where), finding.message


def test_every_bold_figure_that_is_not_the_best_is_corrected(adopted: Adopted) -> None:
    named = [one for one in adopted.findings if one.kind == "bold-not-best"]
    assert named
    for finding in named:
        page, _, number = finding.sides[0].where.rpartition(":")
        line = adopted.before(page).split(b"\n")[int(number) - 1]
        assert line not in adopted.rendered[page].split(b"\n"), finding.message


def test_every_shape_that_a_page_misses_is_on_it_now(adopted: Adopted) -> None:
    """Of those that some place gives whole; a mention without a tile is no row."""
    whole = {f"{one.kernel}/{'x'.join(map(str, one.shape.values()))}" for one in adopted.records}
    now = Counter(name.split("+")[0] for _, name in added(adopted))
    named = [one for one in adopted.findings if one.kind == "row-missing" and one.record in whole]
    assert named
    assert [one.message for one in named if not now[one.record or ""]] == []


def test_what_is_written_reads_back_as_the_rows_say(adopted: Adopted) -> None:
    kernels = kernels_of(adopted.adoption, adopted.records)
    for page, data in adopted.rendered.items():
        wanted = project_layout(adopted.layouts[page], kernels)
        second = {lines[0]: cells for cells, lines in second_opinion.tables(data)}
        for _, own, _, _, now in adopted.tables(page):
            assert shown(now) == wanted[own.region]
            assert second[now.line] == wanted[own.region]


def test_rendering_again_changes_nothing(adopted: Adopted) -> None:
    kernels = kernels_of(adopted.adoption, adopted.records)
    for page, data in adopted.rendered.items():
        assert document.splice(data, layout.page(adopted.layouts[page], kernels), page) == data


def louder(record: Record) -> Record:
    """The row with every measured figure other than it was, and a user more."""

    def times(value: float | None, factor: float) -> float | None:
        return None if value is None else value * factor if value else 3.1e-5

    speed = record.performance
    changed = msgspec.structs.replace(
        record,
        mean_rel_L1=times(record.mean_rel_L1, 1.7),
        max_abs=times(record.max_abs, 1.7),
        max_rel=times(record.max_rel, 1.7),
        used_by=[*record.used_by, Use(model="Foo-1B", site="Q proj")],
    )
    if speed is None:
        return changed
    return msgspec.structs.replace(
        changed,
        performance=msgspec.structs.replace(
            speed,
            latency_us=speed.latency_us * 1.7,
            gflops=times(speed.gflops, 1.7),
            gbps=times(speed.gbps, 1.7),
        ),
    )


def test_a_figure_that_changes_changes_its_cell_whatever_its_wording(adopted: Adopted) -> None:
    rendered = taken_over(
        adopted.adoption, [louder(one) for one in adopted.records], adopted.marked
    )
    compared = 0
    for page in rendered:
        later = tables_of(rendered[page])
        for (_, own, region, _, now), other in zip(
            adopted.tables(page), document.regions(rendered[page]), strict=True
        ):
            [then] = [one for one in later if other.start_line < one.line < other.end_line]
            assert region.name == other.name
            figures = [
                at
                for at, column in enumerate(own.columns)
                if any(one.name in FIGURES for one in places(column.cell))
            ]
            for before, after in zip(now.rows, then.rows, strict=True):
                for at in figures:
                    if any(char.isdigit() for char in before[at].partition("(")[0]):
                        assert before[at] != after[at], (page, own.region, before)
                        compared += 1
    assert compared > 900


def test_a_user_who_is_added_is_shown_beside_the_wording(adopted: Adopted) -> None:
    rendered = taken_over(
        adopted.adoption, [louder(one) for one in adopted.records], adopted.marked
    )
    for page in rendered:
        for before, after in zip(
            document.regions(adopted.rendered[page]), document.regions(rendered[page]), strict=True
        ):
            own = next(one for one in adopted.layouts[page].tables if one.region == after.name)
            if not any("{used_by}" in column.cell for column in own.columns):
                continue
            for line in after.text.decode().split("\n")[3:]:
                assert not line or "Foo-1B Q proj" in line
            assert "Foo-1B" not in before.text.decode()


def test_a_layout_is_canonical_and_names_its_page(adopted: Adopted) -> None:
    for path, data in adopted.marked.layouts.items():
        found = canonical.decode(data, Layout)
        assert canonical.encode(found) == data
        assert file_of(found.page) == path
