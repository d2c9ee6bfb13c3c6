"""The tables of an existing registry's pages, each with what it is about; no claim is made here.

What a table is about is decided by the headings above it and by its header cells. Whatever GitHub
would not show as its author meant is either put right here and marked, or refused with file and
line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from registry_tool.adoption import cells, columns
from registry_tool.adoption.columns import Words
from registry_tool.adoption.model import Column, Table, TableKind, TableRow
from registry_tool.adoption.pages import DELIMITER, Heading, Page, bare
from registry_tool.errors import InputError
from registry_tool.records.spec import KernelSpec
from registry_tool.tables.read import TableRead, read_tables, split_row

_DETAILS_LINK = re.compile(r"details/([A-Za-z0-9._-]+?)\.md")
_TESTED = re.compile(
    r"\b(?:tested|verified|supported|measured)\b.*\bshapes?\b|\bshapes\b\s*$", re.I
)
_RESULT = re.compile(r"results?\b", re.I)
_SWEPT = re.compile(r"tile|herd|cols|rows", re.I)
_METRIC = re.compile(r"metric\b", re.I)
_KNOB = re.compile(r"(?:knob|param(?:eter)?|tunable)s?", re.I)
_CODE = re.compile(r"(`+)(.+?)(?<!`)\1(?!`)")
_MEASURED = {"latency_us", "gflops", "gbps", "mean_rel_L1", "max_abs", "max_rel", "correlation"}
_WORDY = {"used_by", "notes", "status", "derived", None}


@dataclass(frozen=True)
class Context:
    """What pages are read with: specs, titles that a person explained, kernels to leave out."""

    specs: Mapping[str, KernelSpec]
    given: Mapping[str, str]
    without: Collection[str] = ()

    def family(self, name: str) -> list[str]:
        """The kernels that a page may be about: its own, or all of a family (``GEMM_bf16``)."""
        if name in self.specs:
            return [name]
        return [kernel for kernel in self.specs if kernel.startswith(f"{name}_")]


@dataclass(frozen=True)
class Unknown:
    """A column that nobody knows, and where its header stands."""

    path: Path
    line: int
    kernel: str
    title: str


class UnknownColumnsError(InputError):
    """Every unknown column of a page or of several: a person explains them in one go."""

    def __init__(self, places: Sequence[Unknown]) -> None:
        self.places = tuple(places)
        first = self.places[0]
        titles = dict.fromkeys(one.title for one in self.places)
        options = " ".join(f"--column {title!r}=notes" for title in titles)
        keeps = "keeps its cells" if len(titles) == 1 else "keep their cells"
        message = f"the column {first.title!r} is not known in a table of {first.kernel}"
        if len(self.places) > 1:
            listed = "\n".join(
                f"  {one.path}:{one.line}: {one.title!r} in a table of {one.kernel}"
                for one in self.places
            )
            message = f"{len(self.places)} columns are not known:\n{listed}"
        super().__init__(
            message,
            path=first.path,
            line=first.line,
            fix=f"{options} {keeps} as notes; or rename it (columns: docs/adopting.md)",
        )


def tables(page: Page, name: str | None, context: Context) -> list[Table]:
    """Every table of a page; ``name`` is that of a details page, None for the index.

    Raises InputError for a table of tested shapes that cannot be read without guessing.
    """
    read = read_tables(page.data, str(page.path))
    _check_all_are_tables(page, read)
    found: list[Table] = []
    unknown: list[Unknown] = []
    for one in read:
        try:
            table = _table(page, one, name, context)
        except UnknownColumnsError as error:
            unknown += error.places
            continue
        _check_single(page, table, found)
        found.append(table)
    if unknown:
        raise UnknownColumnsError(unknown)
    if name is not None and not any(one.kind in ("shapes", "pivot") for one in found):
        last = page.lines[-1][0]
        raise page.error(
            f"the page of {name} has no table of tested shapes: it is truncated, or its table "
            "is written in a form that is not known",
            last,
            f"see docs/adopting.md, or leave the kernel out with --without {name}",
        )
    return found


def _check_all_are_tables(page: Page, read: Sequence[TableRead]) -> None:
    """A delimiter row that heads no table: GitHub shows these lines as text."""
    heads = {table.line for table in read}
    for (number, line), (below, delimiter) in zip(page.lines, page.lines[1:], strict=False):
        if not DELIMITER.fullmatch(delimiter) or below != number + 1 or number in heads:
            continue
        if "|" not in line:
            continue
        has, wants = len(split_row(line)), len(split_row(delimiter))
        raise page.error(
            f"the header has {has} cells and the line below it {wants}: GitHub shows no table",
            number,
            "write the missing header cell, or take the column out below",
        )
    _check_no_loose_rows(page, read)


def _check_no_loose_rows(page: Page, read: Sequence[TableRead]) -> None:
    """Lines that look like rows and belong to no table: its header or the line below is missing."""
    known = {line for table in read for line in (table.line, table.line + 1, *table.row_lines)}
    before = 0
    for number, line in page.lines:
        if number in known or not line.lstrip(" >").startswith("|"):
            continue
        if before == number - 1:
            raise page.error(
                "these lines look like a table, and GitHub shows none: a header, or the line "
                "|---|---| below it, is missing",
                before,
                "write the missing line",
            )
        before = number


def _check_single(page: Page, table: Table, before: Sequence[Table]) -> None:
    """Two tables of tested shapes under one heading: which one counts cannot be told."""
    if table.kind not in ("shapes", "pivot"):
        return
    for other in before:
        same = (other.kind, other.kernel, other.variant, other.heading_line) == (
            table.kind,
            table.kernel,
            table.variant,
            table.heading_line,
        )
        # A paragraph that starts in bold right above a table is its heading as well.
        own = page.lead(table.line)
        if own.startswith("**") and own != page.lead(other.line):
            continue
        if same:
            raise page.error(
                f"a second table of tested shapes under the heading {table.heading!r} (the first "
                f"is at line {other.line})",
                table.line,
                "make one table of them, or give each a heading of its own",
            )


def _table(page: Page, read: TableRead, name: str | None, context: Context) -> Table:
    trail = page.trail(read.line)
    heading = trail[-1] if trail else Heading(0, 1, "")
    specs = context.specs
    is_left_out = False
    if name is None:
        kernel, is_left_out = _kernel_of_section(page, read, heading, context)
    else:
        kernel = _of_family(context.family(name), trail, page.lead(read.line), specs)
    words = Words(specs[kernel], context.given) if kernel is not None else None
    roles = _roles(read.header, words)
    kind = "other" if is_left_out else _kind(page, read, roles, trail, kernel, specs)
    variant = None
    if kind == "shapes" and words is not None:
        variant = _variant(page, read, roles, trail, words)
    rows = _rows(page, read, roles, kind)
    return Table(
        file=page.name,
        place=page.place,
        line=read.line,
        kind=kind,
        kernel=kernel,
        variant=variant,
        heading=heading.text,
        heading_line=heading.line,
        lead=bare(page.lead(read.line)),
        columns=roles,
        rows=tuple(rows),
    )


def _roles(header: Sequence[str], words: Words | None) -> tuple[Column, ...]:
    if words is None:
        return tuple(Column(index, title, None) for index, title in enumerate(header))
    return columns.read(header, words)


def _kernel_of_section(
    page: Page, read: TableRead, heading: Heading, context: Context
) -> tuple[str | None, bool]:
    """The kernel of a table in the index, by the details page that its section names.

    Also whether that is a kernel to leave out.
    """
    section = page.section(read.line)
    named = dict.fromkeys(_DETAILS_LINK.findall(section))
    known = list(dict.fromkeys(one for name in named for one in context.family(name)))
    if any(name in context.without for name in named) and not known:
        return None, True
    if len(named) == 1 and known:
        return _of_family(known, [heading], section, context.specs), False
    if known or not named:
        return _closest(heading.text, known or list(context.specs)), False
    if _TESTED.search(heading.text):
        first = next(iter(named))
        raise page.error(
            f"no kernel is called {first!r}",
            heading.line,
            f"write kernels/{first}.yaml (docs/guide.md says how), or leave it out with "
            f"--without {first}",
        )
    return None, False


def _of_family(
    kernels: Sequence[str],
    trail: Sequence[Heading],
    lead: str,
    specs: Mapping[str, KernelSpec],
) -> str | None:
    """Which kernel of a family a table is about: by the end of its name, or by its methods.

    ``f32 out`` in a heading is the end of GEMM_bf16_in_fp32_out.
    """
    if len(kernels) <= 1:
        return kernels[0] if kernels else None
    common = _common_start(kernels)
    for text in [*(heading.text for heading in reversed(trail)), lead]:
        said = "_".join(re.findall(r"[a-z0-9]+", text.lower().replace("f32", "fp32")))
        fits = [one for one in kernels if one.removeprefix(common).lower() in said]
        if len(fits) == 1:
            return fits[0]
    for text in [*(heading.text for heading in reversed(trail)), bare(lead)]:
        fits = [one for one in kernels if Words(specs[one]).variants_in(text)]
        if len(fits) == 1:
            return fits[0]
    return None


def _common_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    length = next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other),
        len(first),
    )
    return first[:length]


def _closest(heading: str, kernels: Sequence[str]) -> str | None:
    """The one kernel all of whose words are in a heading such as ``GEMM (f32 out)``."""
    words = set(re.findall(r"[a-z0-9]+", heading.lower().replace("f32", "fp32")))
    fits = []
    for kernel in kernels:
        parts = set(re.findall(r"[A-Za-z][a-z0-9]*|[0-9]+", kernel))
        low = {part.lower() for part in re.split(r"[_\W]+", kernel)} - {"in", "bf16"}
        if low <= words or {"".join(sorted(parts)).lower()} <= words:
            fits.append(kernel)
    return fits[0] if len(fits) == 1 else None


def _kind(
    page: Page,
    read: TableRead,
    roles: Sequence[Column],
    trail: Sequence[Heading],
    kernel: str | None,
    specs: Mapping[str, KernelSpec],
) -> TableKind:
    titles = [title.strip() for title in read.header]
    if page.place == "index" and "kernel" in (title.lower() for title in titles[:1]):
        return "overview"
    if kernel is None:
        if trail and any(_TESTED.search(heading.text) for heading in trail):
            raise page.error(
                f"which kernel is the table under {trail[-1].text!r} about?",
                read.line,
                "name its page (details/KERNEL.md) in the text above the table",
            )
        return "other"
    if _METRIC.match(titles[0]):
        return "accuracy"
    if _KNOB.fullmatch(titles[0]):
        return "parameters"
    found = {column.role for column in roles}
    dims = [name for column in roles if column.role == "shape" for name in column.names]
    has_values = bool(found & (_MEASURED | {"status"}))
    is_tested = any(_TESTED.search(heading.text) for heading in trail)
    if has_values and set(dims) == set(specs[kernel].dims):
        _check_columns(page, read, roles, kernel)
        # A generated table may be empty; one of people's making was cut off.
        if not read.rows and b"registry:begin" not in page.data:
            raise page.error(
                "the table has a header and no row: the page is truncated, or the rows stand apart",
                read.line,
                "fetch the whole file again, or take the table out",
            )
        return "pivot" if any(column.variants for column in roles) else "shapes"
    if not (is_tested and dims) and _is_sweep(roles, titles):
        return "sweep"
    if is_tested and (dims or len(found & (_MEASURED | {"status"})) > 1):
        missing = [name for name in specs[kernel].dims if name not in dims]
        raise page.error(
            f"a table of tested shapes of {kernel} without a column for {', '.join(missing)}: a "
            "header cell is missing or not known",
            read.line,
            f"head the column with {' or '.join(missing)}, or say --column 'TITLE=shape'",
        )
    return "other"


def _is_sweep(roles: Sequence[Column], titles: Sequence[str]) -> bool:
    first = roles[0].role in ("config", "shape") or _SWEPT.match(titles[0]) is not None
    measured = any(column.role in _MEASURED for column in roles)
    result = any(_RESULT.match(title) for title in titles)
    settings = any(column.role == "config" for column in roles)
    return first and (measured or result or (roles[0].role == "shape" and settings))


def _check_columns(page: Page, read: TableRead, roles: Sequence[Column], kernel: str) -> None:
    unknown = [column for column in roles if column.role is None]
    for column in unknown:
        if not column.title.strip():
            raise page.error(
                f"column {column.index + 1} of the table has no heading",
                read.line,
                "write the header cell",
            )
    if unknown:
        places = [Unknown(page.path, read.line, kernel, column.title) for column in unknown]
        raise UnknownColumnsError(places)
    seen: dict[object, Column] = {}
    for column in roles:
        key = (column.role, column.names, column.variants)
        if column.role in ("notes", "derived"):
            continue
        if key in seen:
            raise page.error(
                f"the columns {seen[key].title!r} and {column.title!r} say the same thing",
                read.line,
                f"--column {column.title!r}=notes keeps the second one as notes",
            )
        seen[key] = column


def _variant(
    page: Page,
    read: TableRead,
    roles: Sequence[Column],
    trail: Sequence[Heading],
    words: Words,
) -> str | None:
    """The variant that the heading of a table names; None where a column does, or there are none.

    A tier names the variant if it has only one.
    """
    if not words.spec.variants or any(column.role == "variant" for column in roles):
        return None
    for text in [*(heading.text for heading in reversed(trail)), bare(page.lead(read.line))]:
        found = words.variants_in(text)
        after = re.search(r"--(?:method|codegen)[ =]+([\w-]+)", text)
        if after and after[1] in words.spec.variants:
            return after[1]
        if len(found) == 1:
            return found[0]
        tiers = [tier for tier in words.tiers if re.search(rf"\b{tier}[- ]prec", text, re.I)]
        if not found and len(tiers) == 1 and len(words.of_tier(tiers[0])) == 1:
            return words.of_tier(tiers[0])[0]
    raise page.error(
        f"the headings above this table name no method of {words.spec.kernel}",
        read.line,
        f"name one of {', '.join(words.spec.variants)} in the heading, or add a column Method",
    )


def _rows(
    page: Page, read: TableRead, roles: Sequence[Column], kind: TableKind
) -> Iterator[TableRow]:
    texts = dict(page.lines)
    matters = kind in ("shapes", "pivot", "accuracy", "sweep")
    if kind in ("shapes", "pivot") and len(read.row_lines) > 1:
        _check_header(page, read, texts)
    for line, shown, sources in zip(read.row_lines, read.rows, read.sources, strict=True):
        raw = split_row(texts[line]) if line in texts else list(sources)
        row = TableRow(line, tuple(sources), tuple(shown))
        if matters and len(raw) < len(roles):
            raise page.error(
                f"the row has {len(raw)} cells and the header {len(roles)}: it breaks off, or a "
                "pipe is missing",
                line,
                "complete the row",
            )
        if len(raw) > len(roles):
            meant = _meant(texts[line], roles)
            if meant is None and kind in ("shapes", "pivot"):
                raise page.error(
                    f"the row has {len(raw)} cells and the header {len(roles)}: a bare | in a "
                    "cell, or a missing header cell",
                    line,
                    "write the pipe as \\|, or add the header cell",
                )
            row = _shifted(line, raw, meant or raw[: len(roles)], tuple(shown), len(roles))
        yield row


def _check_header(page: Page, read: TableRead, texts: Mapping[int, str]) -> None:
    """Where every row has the same surplus, it is the header that lacks a cell."""
    widths = {len(split_row(texts[line])) for line in read.row_lines if line in texts}
    width = len(read.header)
    if len(widths) == 1 and (only := widths.pop()) > width:
        raise page.error(
            f"the header has {width} cells and every row {only}",
            read.line,
            "write the missing header cell, here and in the line below",
        )


def _shifted(
    line: int, raw: Sequence[str], meant: Sequence[str], shown: tuple[str, ...], width: int
) -> TableRow:
    cells_ = tuple(re.sub(r"\*\*|`", "", source) for source in meant)
    return TableRow(line, tuple(meant), cells_, shown, tuple(raw[width:]))


def _meant(line: str, roles: Sequence[Column]) -> list[str] | None:
    """The cells that the author of a row with too many pipes meant, or None.

    A pipe inside a code span is no border; else the surplus is in the one column of words that
    leaves every other cell in its kind.
    """
    hidden = _CODE.sub(lambda match: match[0].replace("|", "\0"), line)
    found = [cell.replace("\0", "|") for cell in split_row(hidden)]
    surplus = len(found) - len(roles)
    if surplus == 0:
        return found
    if surplus < 0:
        return None
    fits = []
    for column in roles:
        if column.role not in _WORDY:
            continue
        at = column.index
        joined = "|".join(found[at : at + surplus + 1])
        cells_ = [*found[:at], joined, *found[at + surplus + 1 :]]
        if all(_fits(cell, role) for cell, role in zip(cells_, roles, strict=True)):
            fits.append(cells_)
    return fits[0] if len(fits) == 1 else None


def _fits(cell: str, column: Column) -> bool:
    text = re.sub(r"\*\*|`", "", cell)
    if column.role == "status":
        return cells.is_nothing(text) or bool(re.match(r"\s*[^\w\s]", text))
    if column.role in _WORDY or column.role in ("layout", "variant", "tier"):
        return True
    unit = re.search(r"\d\s*([A-Za-zµμ]+(?:/[A-Za-z]+)?)\s*$", text)
    found = cells.unit_of(unit[1]) if unit else None
    if found is not None and found[0] != column.role:
        return False
    return cells.is_nothing(text) or bool(re.search(r"\d", text)) or not re.search(r"\w", text)
