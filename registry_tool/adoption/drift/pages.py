"""Pages that a list of pages leaves out: the overview of the index, and the folder's README."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from registry_tool.adoption.drift.finding import Confidence, Finding, Side
from registry_tool.adoption.model import Adoption
from registry_tool.records.spec import KernelSpec

README = "README.md"
_LINK = re.compile(r"\]\((?:\./)?details/([A-Za-z0-9._-]+)\.md")


def find(adoption: Adoption, specs: Mapping[str, KernelSpec]) -> Iterator[Finding]:
    """List by list."""
    pages = [
        source.kernel
        for source in adoption.sources
        if source.place == "details" and source.kernel is not None
    ]
    for where, names, confidence in (*_overviews(adoption), *_readme(adoption)):
        for kernel in pages:
            if kernel not in names:
                yield Finding(
                    kind="page-missing",
                    sides=(Side(where, "—"), Side(f"details/{kernel}.md:1", kernel)),
                    record=None,
                    found="—",
                    expected=kernel,
                    confidence=confidence,
                    message=f"details/{kernel}.md is not in the list of pages at {where}",
                )


def _overviews(adoption: Adoption) -> Iterator[tuple[str, set[str], Confidence]]:
    for table in adoption.tables:
        if table.kind == "overview":
            text = "\n".join(source for row in table.rows for source in row.sources)
            if names := set(_LINK.findall(text)):
                yield f"{table.file}:{table.line}", names, "high"


def _readme(adoption: Adoption) -> Iterator[tuple[str, set[str], Confidence]]:
    """The README holds no rows, so `read` leaves it alone; what it links to is all we look at."""
    path = adoption.folder / README
    if not path.is_file():
        return
    text = path.read_bytes().decode("utf-8", "replace")
    links = list(_LINK.finditer(text))
    names = {link[1] for link in links}
    # Two links are a list; one may be a remark.
    if len(names) > 1:
        yield f"{README}:{text.count(chr(10), 0, links[0].start()) + 1}", names, "medium"
