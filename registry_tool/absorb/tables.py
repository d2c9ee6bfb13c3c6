"""Every table that a registry's pages should show, from its rows and the pages' layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from registry_tool.absorb import layouts
from registry_tool.absorb.expected import NAME, Column, ExpectedRow, ExpectedTable
from registry_tool.records.keys import RowId
from registry_tool.records.spec import KernelSpec
from registry_tool.store.registry import Registry
from registry_tool.tables import columns, render
from registry_tool.tables.layout import Kernel
from registry_tool.tables.layout_files import layouts_of, sign_of
from registry_tool.tables.rows import Row


def tables(registry: Registry, made: Mapping[RowId, Row]) -> list[ExpectedTable]:
    """The tables of all pages, from the rows of all records; the index comes last."""
    found: list[ExpectedTable] = []
    own = layouts_of(registry)
    names = {id(one): name for name, one in made.items()}
    kernels: dict[str, Kernel] = {}
    summaries = []
    for target, spec, in_order in render.by_page(registry, made):
        path = render.page_path(registry, target, spec.kernel, "md")
        kernel = Kernel(spec, in_order)
        if path in own:
            sign = sign_of(registry.snapshot, path)
            found += layouts.tables(own[path], {spec.kernel: kernel}, names, target, sign)
        else:
            found.append(_plain(registry, path, target, spec, [names[id(one)] for one in in_order]))
        if target == registry.first_target:
            kernels[spec.kernel] = kernel
        summaries.append(render.summary(registry, target, spec, in_order))
    if render.INDEX in own:
        sign = sign_of(registry.snapshot, render.INDEX)
        index = layouts.tables(own[render.INDEX], kernels, names, registry.first_target, sign)
        return [*found, *index]
    return [*found, _index(summaries)]


def _plain(
    registry: Registry, path: str, target: str, spec: KernelSpec, rows: Sequence[RowId]
) -> ExpectedTable:
    kind = registry.target(target).kind
    return ExpectedTable(
        path=path,
        region=render.SHAPES_REGION,
        target=target,
        spec=spec,
        columns=[Column(one.title, one.cell, one.argument) for one in spec.columns],
        rows=[
            ExpectedRow((row,), columns.texts(spec, kind, registry.records[row])) for row in rows
        ],
    )


def _index(summaries: Sequence[render.Summary]) -> ExpectedTable:
    # A line of the index is that of a kernel on a target: its first two columns.
    cells = (NAME, NAME, *["computed"] * (len(render.INDEX_TITLES) - 2))
    titles = [Column(*pair) for pair in zip(render.INDEX_TITLES, cells, strict=True)]
    rows = [ExpectedRow((), one.texts) for one in summaries]
    return ExpectedTable(render.INDEX, render.INDEX_REGION, None, None, titles, rows)
