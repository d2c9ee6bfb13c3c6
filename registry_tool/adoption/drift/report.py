"""The drift report as a Markdown page; for programs it is `Finding.as_json`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from registry_tool.adoption.drift.finding import Finding
from registry_tool.adoption.drift.kinds import KINDS
from registry_tool.adoption.model import Adoption
from registry_tool.tables.cells import escape, row

_HEAD = ("Where", "Row", "Found", "Expected", "Sure", "What")
# A side that names this many places is shortened on the page; the JSON has them all.
_PLACES = 6
_CELL = 160


def as_page(adoption: Adoption, findings: Sequence[Finding], base: str = "") -> bytes:
    """The report to read: kinds with their counts, then each kind's findings.

    Places link to their lines below ``base``, a path or address that ends in ``/``, relative to
    where the page will stand.
    """
    by_kind: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_kind[finding.kind].append(finding)
    lines = [
        "# Drift report",
        "",
        f"{_many(len(findings), 'finding')} on {_many(len(adoption.rows), 'row')}. Confidence is "
        "how sure it is that a maintainer would agree: high is certain from the files alone.",
        "",
        *_summary(by_kind),
    ]
    for kind, meaning in KINDS.items():
        if kind in by_kind:
            lines += ["", f"## {kind} ({len(by_kind[kind])})", "", meaning, ""]
            lines += _table(by_kind[kind], base)
    return ("\n".join(lines) + "\n").encode()


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _summary(by_kind: dict[str, list[Finding]]) -> list[str]:
    lines = [row(["Kind", "Findings", "High", "Medium", "Low"]), "|---|---:|---:|---:|---:|"]
    for kind in KINDS:
        found = by_kind.get(kind)
        if found:
            sure = Counter(finding.confidence for finding in found)
            name = f"[{escape(kind)}](#{kind}-{len(found)})"
            numbers = (len(found), sure["high"], sure["medium"], sure["low"])
            lines.append(row([name, *map(str, numbers)]))
    return lines


def _table(findings: Iterable[Finding], base: str) -> list[str]:
    lines = [row([*_HEAD]), "|" + "---|" * len(_HEAD)]
    lines += [
        row(
            [
                _places(finding.where, base),
                escape(finding.record or ""),
                escape(_short(finding.found)),
                escape(_short(finding.expected)),
                finding.confidence,
                escape(_short(finding.message, 2 * _CELL)),
            ]
        )
        for finding in findings
    ]
    return lines


def _places(where: Sequence[str], base: str) -> str:
    shown = [_link(one, base) for one in where[:_PLACES]]
    more = len(where) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more else [])])


def _link(where: str, base: str) -> str:
    """A link to the line, as GitHub counts them."""
    file, _, line = where.rpartition(":")
    target = quote(f"{base}{file}", safe="/.:~-_")
    # `plain=1` shows a Markdown file's source, which is what lines are counted in.
    plain = "?plain=1" if file.endswith(".md") else ""
    return f"[{escape(where)}]({target}{plain}#L{line})"


def _short(text: str, limit: int = _CELL) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
