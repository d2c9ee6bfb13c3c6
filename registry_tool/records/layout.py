"""How a page of people's making shows its rows, as a typed object: columns, lines, wording.

One file per page, layouts/<page>.json. It holds what is a matter of the page and of no record: the
headings, the order of the lines, how figures are written, and what a person said in one table.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from registry_tool.records.fields import Line, Name, Part

_Schema = Literal["../schemas/layout-1.schema.json", "../../schemas/layout-1.schema.json"]
_SCHEMA: _Schema = "../schemas/layout-1.schema.json"

Template = Annotated[
    str,
    Meta(
        max_length=20000,
        pattern=r"^[^\x00-\x08\x0a-\x1f\x7f]*(?![\s\S])",
        description="Markdown of a cell; `{field}` or `{field:format}` stands for a value of the "
        "row, `{variant.field}` for one of another row of the line, `{{` for a brace.",
    ),
]
Value = str | int | float | None
Bold = Literal["column", "siblings", "line"]


class CellLayout(Part, frozen=True):
    """A cell that is not written as its column is."""

    text: Template
    of: Annotated[
        dict[str, Value],
        Meta(
            description="What the text was written for: field to value. When a row says otherwise, "
            "the cell is written as its column is."
        ),
    ] = field(default_factory=dict)
    used_by: Annotated[
        list[Line] | UnsetType,
        Meta(
            description="The users (`model site`) that the text names. Later ones are added to it; "
            "when one of these is gone, the cell is written as its column is."
        ),
    ] = UNSET
    notes: Annotated[
        list[Line] | UnsetType,
        Meta(description="The notes that the text stands for, as with `used_by`."),
    ] = UNSET


class LineLayout(Part, frozen=True):
    """One line of a table."""

    row: Annotated[
        Line | None,
        Meta(
            description="What it shows: a row (`2048x512+drain`), the rows of a shape (`2048x512`) "
            "or a kernel; null for a line of words, which shows none."
        ),
    ]
    cells: Annotated[
        dict[str, CellLayout],
        Meta(description="Cells with a wording of their own, by the column's heading."),
    ] = field(default_factory=dict)


class ColumnLayout(Part, frozen=True, kw_only=True):
    """One column of a table."""

    title: Annotated[Template, Meta(description="Heading, as Markdown.")]
    cell: Annotated[Template, Meta(description="How its cells are written.")]
    rule: Annotated[
        str,
        Meta(
            pattern=r"^:?-+:?(?![\s\S])",
            description="Its part of the line below the headings, which gives the alignment.",
        ),
    ] = "---"
    bold: Annotated[
        Bold | None,
        Meta(
            description="Which figures are bold: the best of the `column`; the best among the "
            "variants of one shape and tier (`siblings`), where there are several; or the one of "
            "the `line` that a lookup answers. null: as the cells say."
        ),
    ] = None
    measures: Annotated[
        list[str],
        Meta(
            description="The measured values that the column is there for, e.g. `drain.gflops`: "
            "its template has to show them, and no other figure may stand in their place."
        ),
    ] = field(default_factory=list)


class TableLayout(Part, frozen=True):
    """One generated region: which rows, in which order, in which columns."""

    region: Annotated[Name, Meta(description="Name in the region's begin marker.")]
    lines_of: Annotated[
        Literal["row", "shape", "kernel"],
        Meta(description="What one line shows: a row, all rows of a shape, or a kernel's best."),
    ]
    kernel: Annotated[Name | None, Meta(description="Kernel page; null where lines are kernels.")]
    variants: Annotated[
        list[Name], Meta(description="Variants that the table is about; empty for all.")
    ]
    new_lines: Annotated[
        bool,
        Meta(description="Whether rows that no line names are added, in the order of the kernel."),
    ]
    columns: Annotated[list[ColumnLayout], Meta(min_length=1, description="Columns, in order.")]
    lines: Annotated[list[LineLayout], Meta(description="Lines that keep their order.")]


class Layout(Part, frozen=True, kw_only=True):
    """One page with tables in columns of its own."""

    schema: Annotated[_Schema, Meta(description="Where editors find this file's JSON Schema.")] = (
        field(name="$schema", default=_SCHEMA)
    )
    schema_version: Annotated[
        Literal[1], Meta(description="Version of the layout format; migrations start from it.")
    ] = 1
    page: Annotated[Line, Meta(description="Path of the page, e.g. `details/GEMV_bf16.md`.")]
    tables: Annotated[list[TableLayout], Meta(min_length=1, description="Its regions, in order.")]
