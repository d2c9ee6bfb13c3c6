"""KR301-KR306: generated pages say what the rows say, and nobody wrote into them by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import PageView
from registry_tool.tables import document, inline
from registry_tool.tables.document import Region, TableError
from registry_tool.tables.render import MarkedPage, Page, WholeFile

_RENDER = "registry-tool render"


def page_view(
    path: str, existing: bytes | None, generated: Page, key_columns: Sequence[int] = (0,)
) -> PageView:
    """The view of a generated file; its regions are looked for once."""
    regions: list[Region] = []
    if existing is not None and isinstance(generated, MarkedPage):
        # Broken markers are KR303's affair.
        with contextlib.suppress(TableError):
            regions = document.regions(existing)
    return PageView(path, existing, generated, regions, key_columns)


def _stale(page: PageView) -> Iterator[Complaint]:
    if page.existing is None:
        yield Complaint("this generated file is not there")
    elif isinstance(page.generated, WholeFile):
        wanted = page.generated.on(page.existing, page.path)
        if wanted != page.existing:
            line, words = _difference(page.existing, wanted)
            yield Complaint(f"it is not what the rows render to: {words}", line=line)
    elif isinstance(page.generated, MarkedPage):
        for region in page.regions:
            wanted = page.generated.regions.get(region.name, region.text)
            if region.text != wanted and not region.edited:
                line, words = _difference(region.text, wanted)
                yield Complaint(
                    f"region {region.name!r} is not what the rows render to: {words}",
                    line=region.start_line + line,
                )


def _edited(page: PageView) -> Iterator[Complaint]:
    for region in page.regions:
        assert isinstance(page.generated, MarkedPage)
        wanted = page.generated.regions.get(region.name)
        if region.edited and region.text != wanted:
            line, words = _difference(region.text, wanted or b"")
            yield Complaint(
                f"region {region.name!r} was edited by hand, and it is generated: {words}",
                line=region.start_line + line,
            )
        elif region.edited:
            yield Complaint(
                f"the end marker of region {region.name!r} does not carry its checksum",
                line=region.end_line,
            )


def _broken(page: PageView) -> Iterator[Complaint]:
    if page.existing is None or not isinstance(page.generated, MarkedPage):
        return
    if [region.name for region in page.regions] != list(page.generated.regions):
        try:
            document.splice(page.existing, page.generated.regions, page.path)
        except TableError as error:
            yield Complaint(error.message, line=error.line, fix=error.fix)


def _stale_value(page: PageView) -> Iterator[Complaint]:
    checked, _ = _values(page)
    for one in checked:
        assert page.existing is not None
        found = page.existing[one.marked.start : one.marked.stop]
        if one.wanted is not None and found != one.wanted:
            yield Complaint(
                f"the figure {found.decode('utf-8', 'replace')!r} in prose is not what the rows "
                f"say: `{one.marked.words}` is {one.wanted.decode()!r}",
                line=one.marked.line,
            )


def _broken_value(page: PageView) -> Iterator[Complaint]:
    _, problems = _values(page)
    for problem in problems:
        yield Complaint(problem.message, line=problem.line, fix=problem.fix)


def _values(page: PageView) -> tuple[list[inline.Checked], list[inline.Problem]]:
    """The values in the prose of a page, and what is wrong with those that cannot be made."""
    made = page.generated
    if page.existing is None or isinstance(made, WholeFile) or made.values is None:
        return [], []
    if not inline.mentions(page.existing):
        return [], []
    home = inline.home_of(page.path, made.values.specs, made.values.targets)
    try:
        return inline.check(page.existing, made.values, home, page.path)
    except TableError:  # broken region markers: KR303 has said so
        return [], []


def _shown_twice(page: PageView) -> Iterator[Complaint]:
    for region in page.regions:
        assert isinstance(page.generated, MarkedPage)
        if region.text == page.generated.regions.get(region.name):
            continue
        first: dict[tuple[bytes, ...], int] = {}
        for number, line in enumerate(region.text.split(b"\n"), region.start_line + 1):
            key = _identity(line, page.key_columns)
            if key is None:
                continue
            if key in first:
                shown = " ".join(cell.decode("utf-8", "replace") for cell in key)
                yield Complaint(
                    f"the row {shown} is here a second time; the first is on line {first[key]}",
                    line=number,
                )
            else:
                first[key] = number


def _identity(line: bytes, columns: Sequence[int]) -> tuple[bytes, ...] | None:
    """The cells of a table line that say which row it shows, spelling aside."""
    if not line.startswith(b"|"):
        return None
    cells = line.replace(b"\\|", b"\0").strip().strip(b"|").split(b"|")
    try:
        return tuple(cells[at].strip().lower() for at in columns)
    except IndexError:
        return None


def _difference(found: bytes, wanted: bytes) -> tuple[int, str]:
    """The number of the first line that differs, and how."""
    ours, theirs = found.split(b"\n"), wanted.split(b"\n")
    at = next(
        (at for at, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
        min(len(ours), len(theirs)),
    )
    return at + 1, _words(_line(ours, at), _line(theirs, at))


def _line(lines: Sequence[bytes], at: int) -> str | None:
    return lines[at].decode("utf-8", "replace").strip() if at < len(lines) else None


def _words(found: str | None, expected: str | None) -> str:
    """How two lines differ, around the first character that does."""
    if found is None or expected is None:
        which = "ends here" if found is None else "should end here"
        return f"it {which}, at {_cut(found or expected or '', 0)!r}"
    first = next(
        (at for at, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b),
        min(len(found), len(expected)),
    )
    return f"found {_cut(found, first)!r}, expected {_cut(expected, first)!r}"


def _cut(text: str, at: int) -> str:
    start, end = max(0, at - _BEFORE), at + _AFTER
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


_BEFORE, _AFTER = 30, 50


RULES = (
    Rule(
        id="KR301",
        title="stale table",
        summary="A generated page, JSON file or shim is missing, or not what the rows render to.",
        rationale="Consumers read the tables, not the records; a table that lags behind shows "
        "figures that no row has any more.",
        fix=f"mend the rows first, if any is named above; then {_RENDER} (and git add FILE)",
        on_page=_stale,
    ),
    Rule(
        id="KR302",
        title="hand-edited region",
        summary="A generated region was edited by hand.",
        rationale="The next render would drop the edit, and until then the page shows what no "
        "verdict proves.",
        fix="registry-tool absorb carries Used by and Notes into the row and names what it cannot "
        "take; registry-tool render --force drops the edit",
        on_page=_edited,
    ),
    Rule(
        id="KR303",
        title="broken markers",
        summary="A page's `registry:begin` and `registry:end` markers are missing, doubled, nested "
        "or crossed.",
        rationale="Without its markers nobody knows which text is generated, so nothing is "
        "written and nothing is compared.",
        fix="restore the markers: git checkout HEAD -- FILE",
        on_page=_broken,
    ),
    Rule(
        id="KR304",
        title="row shown twice",
        summary="A generated region shows one row in two lines.",
        rationale="A second line for a row can only have been put there by hand, and readers "
        "take the better figure.",
        fix=_RENDER,
        on_page=_shown_twice,
    ),
    Rule(
        id="KR305",
        title="stale value in prose",
        summary="A figure in prose between `registry:value` comments is not what the rows say.",
        rationale="A figure in a sentence is read like one in a table, and nobody looks for it "
        "when a row is measured again.",
        fix=f"{_RENDER} (and git add FILE)",
        on_page=_stale_value,
    ),
    Rule(
        id="KR306",
        title="value in prose cannot be made",
        summary="The comments around a figure in prose are unbalanced, nested or crossed, say no "
        "selection, or select no row.",
        rationale="A figure that is marked as generated and is not is trusted for nothing.",
        fix="correct the comment; docs/guide.md, Figures in prose, has its words",
        on_page=_broken_value,
    ),
)
