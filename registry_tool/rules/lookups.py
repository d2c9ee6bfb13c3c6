"""KR401 and KR402: a `best` that is one, and answers that change only where a row did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from registry_tool.rules.finding import Severity
from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import AlteredView, ChangeView, PageView
from registry_tool.tables import answers
from registry_tool.tables.render import WholeFile

Document: TypeAlias = dict[str, Any]
_Wrong: TypeAlias = tuple[str, str | None, Severity]

_UNVERIFIED = b'"verified"'


def _best(page: PageView) -> Iterator[Complaint]:
    made, data = page.generated, page.existing
    if data is None or not isinstance(made, WholeFile) or not page.path.startswith("details/"):
        return
    # What rows render to is right by construction, but for rows that nobody verified.
    if data == made.data and _UNVERIFIED not in data:
        return
    try:
        document, wanted = msgspec.json.decode(data), msgspec.json.decode(made.data)
        backed = {_shape(wanted, entry): entry["methods"] for entry in wanted["shapes"]}
        kernel = page.path.rpartition("/")[2].removesuffix(".json")
        for at, entry in enumerate(document["shapes"]):
            shape = _shape(wanted, entry)
            row = f"{wanted['target']}/{kernel}/{'x'.join(map(str, shape))}"
            for words, method, severity in _wrong(wanted, entry, backed.get(shape, {})):
                sizes = " ".join(f"{dim}={entry[dim]}" for dim in wanted["dims"])
                yield Complaint(
                    f"{sizes}: {words}",
                    f"/shapes/{at}/best",
                    line=_line(data, f"/shapes/{at}/best"),
                    severity=severity,
                    record=f"{row}+{method}" if method in wanted["variants"] else row,
                )
    except (AttributeError, KeyError, TypeError, ValueError):
        return  # not in the form of such a file: KR301 says that it is not what the rows say


def _wrong(wanted: Document, entry: Document, methods: Mapping[str, Document]) -> Iterator[_Wrong]:
    """What is wrong with the `best` of a shape: words, the method that it names, how bad."""
    best = entry.get("best") or {}
    tiers: dict[str, dict[str, Document]] = {}
    for name, method in methods.items():
        tiers.setdefault(method["tier"], {})[name] = method
    for tier, named in best.items():
        if tier not in tiers:
            yield (
                f"best of tier {tier} is {named!r}, and no row of that tier is there",
                None,
                "error",
            )
    for tier, alike in tiers.items():
        passing = [name for name, method in alike.items() if method.get("verified", True)]
        named = best.get(tier)
        of_tier = f"best of tier {tier}" if tier != "any" else "best"
        if named is None:
            if passing:
                yield f"no {of_tier}, though {', '.join(passing)} passed", None, "error"
        elif named not in alike:
            there = "of another tier" if named in methods else "of no row that passed"
            yield f"{of_tier} is {named!r}, which is {there}", None, "error"
        elif named not in passing:
            yield from _unverified(of_tier, named, alike[named], passing)
        else:
            speed = alike[named].get(wanted["metric"]) or 0.0
            for name in passing:
                other = alike[name].get(wanted["metric"]) or 0.0
                if other > speed:
                    words = f"{of_tier} is {named!r} with {speed:g}, and {name!r} has {other:g}"
                    yield words, named, "error"


def _unverified(of_tier: str, named: str, method: Document, passing: list[str]) -> Iterator[_Wrong]:
    if passing:
        words = f"{of_tier} is {named!r}, which is imported, and {', '.join(passing)} passed"
        yield words, named, "error"
    held = [name for name in ("inherited", "failing") if name in method.get("caveats", ())]
    if held:
        # Lookups say so too, and the import of the row is judged by itself.
        yield (
            f"{of_tier} is {named!r}, an imported row that is {' and '.join(held)}",
            named,
            "warning",
        )


def _shape(wanted: Document, entry: Document) -> tuple[int, ...]:
    return tuple([entry[dim] for dim in wanted["dims"]])


def _line(data: bytes, pointer: str) -> int:
    from registry_tool.records.explain import line_of

    return line_of(data, pointer)


def _altered(view: ChangeView) -> Iterator[Complaint]:
    by_file: dict[tuple[str, bool], list[AlteredView]] = {}
    for one in view.altered_answers():
        by_file.setdefault((one.path, one.was_consistent), []).append(one)
    for (path, was_consistent), found in by_file.items():
        count = (
            "1 lookup answer differs"
            if len(found) == 1
            else (f"{len(found)} lookup answers differ")
        )
        lead = f"{count} from the base, though no record of theirs changed"
        if not was_consistent:
            lead += " (the base's file was not what this tool makes of its rows)"
        said = "; ".join(map(_said, found))
        yield Complaint(
            f"{lead}: {said}",
            path=path,
            line=1,
            severity="error" if was_consistent else "warning",
        )


def _said(one: AlteredView) -> str:
    change = one.change
    sizes = " ".join(f"{dim}={size}" for dim, size in change.shape.items())
    asked = f"{change.asked}{' without a target' if one.of_default else ''}"
    before = answers.said(change.before, change.after)
    return f"{sizes} {asked}: {before} -> {answers.said(change.after, change.before)}"


RULES = (
    Rule(
        id="KR401",
        title="best is not the best",
        summary="`best` of details/KERNEL.json is missing, names no row that passed, or a row that "
        "is slower than another of its tier, or an imported row where one passed. One that is an "
        "imported row with inherited or failing figures only warns, and is owed where "
        "baseline.json holds the row.",
        rationale="`best` is what builders get without asking further. What nobody proved, or "
        "what is slower than what was proved, must not answer for the registry.",
        fix="registry-tool render (and git add FILE); for an imported row, registry-tool verify",
        owed=True,
        on_page=_best,
    ),
    Rule(
        id="KR402",
        title="answer changed without a row",
        summary="A lookup answers otherwise than in the base, and no record of its shape changed: "
        "a kernel's page, registry.yaml, the shim or another version of the tool did it. Where "
        "the base's file was not what its rows render to, it only warns.",
        rationale="Builders follow lookups. A change that moves them must be seen as one, answer "
        "by answer, not hide in an edit of a page or an upgrade.",
        fix="look at each answer; if they are meant, set `rules: {KR402: warning}` in "
        "registry.yaml in a change before this one",
        by_policy=True,
        on_change=_altered,
    ),
)
