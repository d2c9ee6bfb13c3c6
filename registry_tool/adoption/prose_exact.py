"""Rows that a sentence calls bit-identical to their reference, whose record has an error.

Read only where the sentence names a model, whose rows it then speaks of, or all of the kernel's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from registry_tool.adoption.prose_found import Contradiction, PageText, flat
from registry_tool.adoption.prose_rows import Known
from registry_tool.adoption.prose_scope import Scopes
from registry_tool.adoption.prose_text import Sentence
from registry_tool.tables.columns import error_text

_FIELD = "mean_rel_L1"
_EXACT = re.compile(
    r"bit-identical(?:\s*\(\s*(?P<zero>0(?:\.0+)?)\s*\))?"
    r"(?:\s+or\s*(?:≤|<=)\s*(?P<most>\d+(?:\.\d+)?(?:e-?\d+)?))?"
    r"(?:\s+to\s+(?:the|its|an?)\s+(?:\w+\s+)?ref\w*)?",
    re.I,
)
_SITES = re.compile(
    r"(?:(?P<before>[A-Z][\w/-]*)\s+)?projections?(?:\s*\((?P<inside>[A-Z][^()]*)\))?"
)
_SITE = re.compile(r"(?<![A-Za-z])(?:Gate|Up|Down|LM-?head|Q|K|V|O)(?![a-z])")
_SOME = re.compile(r"\b(?:some|several|most|many|mostly|nearly|except|but|lit)\b", re.I)
_PHASE = re.compile(r"\b(decode|prefill)\b", re.I)
_NAMED = 3


def find(path: str, page: PageText, sentence: Sentence, scopes: Scopes) -> Iterator[Contradiction]:
    """Claims of exactness that rows of the model, or of the kernel, contradict."""
    kernel = scopes.kernel_of_page(path, page.text, sentence)
    if kernel is None:
        return
    for match in _EXACT.finditer(sentence.text):
        if "ref" not in match[0] and match["zero"] is None:
            continue
        clause = re.split(r"[;:]", sentence.text[: match.start()])[-1]
        if _SOME.search(clause):
            continue
        rows = [
            row
            for row in _meant(kernel, clause, sentence, scopes)
            if row.values.get(_FIELD) and row.values[_FIELD][0].low > float(match["most"] or 0.0)
        ]
        if rows:
            yield _made(page, sentence, match, kernel, rows)


def _meant(kernel: str, clause: str, sentence: Sentence, scopes: Scopes) -> list[Known]:
    """The rows of the model that the clause, or the start of its paragraph, names."""
    lead = re.split(r"(?<=\.)\s", sentence.block)[0]
    model = scopes.model_in(clause) or scopes.model_in(lead)
    sites = _SITES.search(clause)
    if model is None or sites is None:
        return []
    phase = _PHASE.search(clause)
    listed = f"{sites['before'] or ''} {sites['inside'] or ''}"
    words = set(_SITE.findall(listed))
    found = []
    for row in scopes.rows_of(kernel):
        of_model = [use.site for use in row.record.used_by if use.model.lower() == model.lower()]
        if phase is not None:
            said = [site for site in of_model if _PHASE.search(site)]
            of_model = [s for s in of_model if s not in said or phase[1].lower() in s.lower()]
        parts = [set(_SITE.findall(site)) for site in of_model if "proj" in site]
        if any(one & words if words else True for one in parts):
            found.append(row)
    return found


def _made(
    page: PageText,
    sentence: Sentence,
    match: re.Match[str],
    kernel: str,
    rows: Sequence[Known],
) -> Contradiction:
    told = ", ".join(
        f"{row.name} ({error_text(row.values[_FIELD][0].high)})" for row in rows[:_NAMED]
    )
    more = len(rows) - _NAMED
    group = "most" if match["most"] else "zero" if match["zero"] else 0
    return Contradiction(
        place=page.place(sentence, match.start(group), match.end(group)),
        kind="exact",
        kernel=kernel,
        field=_FIELD,
        message=f"{match[0]!r}: {told}{f' and {more} more' if more > 0 else ''} "
        f"{'have' if len(rows) > 1 else 'has'} an error",
        rows=tuple(row.name for row in rows[:_NAMED]),
        sentence=flat(sentence),
    )
