"""What a page says of its kernel among all kernels: the cleanest, the highest bandwidth.

Only a rank that all figures of another kernel contradict is reported, so a kernel with some
cleaner and some less clean rows takes no rank away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from registry_tool.adoption.prose_found import Contradiction, PageText, flat
from registry_tool.adoption.prose_rows import Known
from registry_tool.adoption.prose_scope import Scopes
from registry_tool.adoption.prose_text import Sentence
from registry_tool.tables.columns import error_text, speed_text

_RANKS = {"": 1, "second": 2, "third": 3, "fourth": 4}
_CLEAN = r"cleanest|most accurate|most precise|lowest(?: error)?|smallest error"
_FAST = r"(?:highest|greatest|best)(?: measured)? (?:bandwidth|throughput)|fastest"
_CLAIM = re.compile(
    rf"\b(?P<rank>(?:second|third|fourth)[- ])?(?:(?P<clean>{_CLEAN})|(?P<fast>{_FAST}))\b"
    rf"(?P<between>[^.;:()]{{0,24}}?)\bin (?:the|this) registry\b",
    re.I,
)
# "the cleanest kernel" of a page about one kernel is a claim about all of them as well.
_KERNEL = re.compile(
    r"\bthe (?P<rank>(?:second|third|fourth)[- ])?"
    r"(?:(?P<clean>cleanest|most accurate)|(?P<fast>fastest)) kernel\b"
    r"(?! in (?:the|this) registry)",
    re.I,
)
_AMONG = re.compile(r"\b(?:among|near|one of)\s+(?:the\s+)?\W*\Z", re.I)


def find(path: str, page: PageText, sentence: Sentence, scopes: Scopes) -> Iterator[Contradiction]:
    """The ranks of a sentence that another kernel's rows contradict."""
    kernel = scopes.kernel_of_page(path, page.text, sentence)
    if kernel is None:
        return
    for pattern in (_CLAIM, _KERNEL):
        for match in pattern.finditer(sentence.text):
            if _AMONG.search(sentence.text[: match.start()]):
                continue
            rank = _RANKS[(match["rank"] or "").lower().rstrip("- ")]
            field = "mean_rel_L1" if match["clean"] else "throughput"
            before = _before(kernel, field, scopes)
            if len(before) < rank:
                continue
            yield _made(page, sentence, match, kernel, field, before, scopes)


def _before(kernel: str, field: str, scopes: Scopes) -> list[str]:
    """The kernels that surely come before: cleaner in every row, or faster in the best one."""
    own = _ends(scopes.rows_of(kernel), field)
    if own is None:
        return []
    metric = scopes.spec_of(kernel).metric
    found = []
    for other in scopes.kernels():
        theirs = _ends(scopes.rows_of(other), field)
        if other == kernel or theirs is None:
            continue
        if field == "mean_rel_L1":
            is_before = theirs[1] < own[0]
        else:
            is_before = scopes.spec_of(other).metric == metric and theirs[1] > own[1]
        if is_before:
            found.append(other)
    return found


def _ends(rows: Sequence[Known], field: str) -> tuple[float, float] | None:
    spans = [row.values[field][0] for row in rows if row.values.get(field)]
    if not spans:
        return None
    return min(one.low for one in spans), max(one.high for one in spans)


def _made(
    page: PageText,
    sentence: Sentence,
    match: re.Match[str],
    kernel: str,
    field: str,
    before: Sequence[str],
    scopes: Scopes,
) -> Contradiction:
    group = "clean" if match["clean"] else "fast"
    start = match.start("rank") if match["rank"] else match.start(group)
    show = error_text if group == "clean" else speed_text
    which = 1 if group == "clean" else -1
    told = []
    for name in before:
        ends = _ends(scopes.rows_of(name), field)
        assert ends is not None
        told.append(f"{name} ({'at most' if which == 1 else 'up to'} {show(ends[1])})")
    return Contradiction(
        place=page.place(sentence, start, match.end(group)),
        kind="rank",
        kernel=kernel,
        field=field,
        message=f"{match.string[start : match.end(group)]!r} in {field}: before it come "
        f"{', '.join(told)}",
        rows=(),
        sentence=flat(sentence),
    )
