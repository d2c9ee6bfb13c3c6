"""Judging one row, one file, one path: pure functions of bytes and context.

A judgement of a row reads its record, its folder of verdicts, and the context, and nothing else;
that is why it may be remembered for as long as these are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import DecodeError, Struct

from registry_tool.records import canonical, kernel
from registry_tool.records.baseline import PATH as BASELINE
from registry_tool.records.baseline import Baseline
from registry_tool.records.expressions import ExpressionError
from registry_tool.records.fields import Part
from registry_tool.records.layout import Layout
from registry_tool.records.model import Model
from registry_tool.records.record import Record
from registry_tool.records.schema import schema_for
from registry_tool.records.verdict import Subject, Verdict
from registry_tool.rules.catalog import BY_ID, RULES
from registry_tool.rules.finding import Finding
from registry_tool.rules.layout import PathKind, kind_of, row_of
from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import (
    BaselineView,
    Context,
    FileView,
    FolderView,
    PageView,
    PathView,
    RowView,
    VerdictView,
    fits,
)
from registry_tool.rules.waivers import Standing

if TYPE_CHECKING:
    from registry_tool.records.explain import Problem
    from registry_tool.signing.judge import Signed

_ON_BASELINE = [(rule, rule.on_baseline) for rule in RULES if rule.on_baseline]
_ON_FILE = [(rule, rule.on_file) for rule in RULES if rule.on_file]
_ON_PATH = [(rule, rule.on_path) for rule in RULES if rule.on_path]
_ON_PAGE = [(rule, rule.on_page) for rule in RULES if rule.on_page]
_ON_FOLDER = [(rule, rule.on_folder) for rule in RULES if rule.on_folder]
_ON_ROW = [(rule, rule.on_row) for rule in RULES if rule.on_row]
_ON_VERDICT = [(rule, rule.on_verdict) for rule in RULES if rule.on_verdict]

View = TypeVar("View")

_TYPES: Mapping[PathKind, type[Part]] = {
    "record": Record,
    "verdict": Verdict,
    "model": Model,
    "layout": Layout,
    "baseline": Baseline,
}


class Judged(Struct):
    """What the judgement of a row found; ``record`` if it could be decoded and fits its kernel.

    ``imported`` are the digests of record and artifact of a row that stands on an import.
    """

    findings: list[Finding] = []
    waivers: list[Standing] = []
    record: Record | None = None
    imported: list[str] | None = None


class Site(Struct, frozen=True):
    """Where complaints are placed, and what stands in their fixes for FILE, ROW and VERIFY."""

    path: str
    row: str | None = None
    files: Mapping[str, bytes] = {}
    subject: Record | Subject | None = None


def place(rule: Rule, complaint: Complaint, site: Site) -> Finding:
    """The finding of a complaint: its defaults filled in, its line found in the file."""
    path = complaint.path or site.path
    line = complaint.line
    if line is None:
        from registry_tool.records.explain import line_of

        line = line_of(site.files[path], complaint.pointer) if path in site.files else 1
    words = {"FILE": path, "ROW": site.row or "ROW", "VERIFY": _verify(site.subject)}
    fix = re.sub(_PLACEHOLDER, lambda match: words[match[0]], complaint.fix or rule.fix)
    return Finding(
        rule=rule.id,
        severity=complaint.severity or rule.severity,
        path=path,
        line=line,
        pointer=complaint.pointer,
        record=complaint.record or site.row,
        message=complaint.message,
        fix=fix,
    )


_PLACEHOLDER = r"\b(?:FILE|ROW|VERIFY)\b"


def complain(rule: str, complaint: Complaint, path: str) -> Finding:
    """The finding of a complaint about a file, made outside of a rule's own checks."""
    return place(BY_ID[rule], complaint, Site(path))


def judge_path(path: PathView) -> list[Finding]:
    """Findings about where something stands."""
    return list(_complaints(_ON_PATH, path, Site(path.path, row_of(path.path))))


def judge_file(file: FileView, row: str | None = None) -> list[Finding]:
    """Findings about the form of a file."""
    return list(_complaints(_ON_FILE, file, Site(file.path, row, {file.path: file.data})))


def judge_baseline(view: BaselineView) -> list[Finding]:
    """Findings about what the baseline says beside the imported rows."""
    return list(_complaints(_ON_BASELINE, view, Site(BASELINE)))


def judge_page(page: PageView) -> list[Finding]:
    """Findings about a generated file."""
    return list(_complaints(_ON_PAGE, page, Site(page.path)))


def _complaints(
    checks: Iterable[tuple[Rule, Callable[[View], Iterable[Complaint]]]], view: View, site: Site
) -> Iterator[Finding]:
    for rule, check in checks:
        for complaint in check(view):
            yield place(rule, complaint, site)


def read_file(path: str, data: bytes) -> FileView:
    """A file of the registry as a view; JSON that can be decoded is, whatever its formatting."""
    kind = kind_of(path)
    type_ = _TYPES.get(kind)
    if type_ is None:
        return FileView(path, kind, data, ())
    value, problems = _decode(data, type_)
    return FileView(path, kind, data, problems, value)


def _decode(data: bytes, type_: type[canonical.T]) -> tuple[canonical.T | None, Sequence[Problem]]:
    try:
        return canonical.decode(data, type_), ()
    except (ValueError, RecursionError):
        # Imported here: nothing needs it in a registry that is in order.
        from registry_tool.records.explain import explain

        problems = explain(data, type_, schema_for(type_))
    if all(problem.kind == "formatting" for problem in problems):
        try:
            return canonical.decode_lenient(data.removeprefix(b"\xef\xbb\xbf"), type_), problems
        except DecodeError:
            pass
    return None, problems


def judge_row(
    row: str,
    files: Mapping[str, bytes],
    context: Context,
    exists: Callable[[str], bool],
) -> Judged:
    """Everything about a row: ``files`` are its record, if there is one, and its verdicts."""
    judged = Judged()
    folder = f"verdicts/{row}"
    cut = len(folder) + 1
    beside = {path[cut:]: data for path, data in files.items() if path.startswith("verdicts/")}
    try:
        views = _read_verdicts(row, beside, files, context, judged)
        if beside:
            unread = len(views) < sum(name.endswith(".json") for name in beside)
            view = FolderView(folder, list(beside), list(views.values()), unread)
            judged.findings += _complaints(_ON_FOLDER, view, Site(folder, row))
        for path, verdict in views.items():
            site = Site(path, row, files, verdict.verdict.subject)
            judged.findings += _complaints(_ON_VERDICT, verdict, site)
        if f"records/{row}.json" in files:
            _judge_record(row, files, views, context, exists, judged)
    except ExpressionError as error:
        rule, path = BY_ID["KR004"], f"kernels/{row.split('/')[1]}.yaml"
        complaint = Complaint(f"its expressions cannot be applied to {row}: {error}", line=1)
        judged.findings.append(place(rule, complaint, Site(path, row)))
        judged.record = None
    return judged


def _read_verdicts(
    row: str,
    beside: Mapping[str, bytes],
    files: Mapping[str, bytes],
    context: Context,
    judged: Judged,
) -> dict[str, VerdictView]:
    """The verdicts of a row's folder that can be read, by path."""
    views = {}
    signatures = [name for name in beside if name.endswith(".sig")]
    for name, data in beside.items():
        if not name.endswith(".json"):
            continue
        path = f"verdicts/{row}/{name}"
        verdict, problems = _decode(data, Verdict)
        if problems:
            judged.findings += judge_file(FileView(path, "verdict", data, problems, verdict), row)
        if verdict is None:
            continue
        spec = context.specs.get(verdict.subject.kernel)
        shape = verdict.subject.shape
        known = spec is not None and list(shape) == spec.dims
        elements = kernel.output_elements(spec, shape) if spec is not None and known else ()
        signed = _signed(path, data, verdict, signatures, beside, context) if signatures else ()
        views[path] = VerdictView(
            path, row, name[:-5], data, verdict, context, beside, spec, elements, signed
        )
    return views


def _signed(
    path: str,
    data: bytes,
    verdict: Verdict,
    names: Sequence[str],
    beside: Mapping[str, bytes],
    context: Context,
) -> Sequence[Signed]:
    """The signatures of a verdict, judged; none where nobody looks at them."""
    target = verdict.subject.target
    trust, added, verified = context.trust, context.added, context.verified
    if trust is None or added is None or verified is None or trust.level(target) == "off":
        return ()
    # Imported here: most registries sign nothing.
    from registry_tool.signing.judge import Subject as Signable
    from registry_tool.signing.judge import judge_all

    found = {name: beside[name] for name in names}
    signable = Signable(path, data, verdict.run_id, target)
    return judge_all(signable, found, trust, added, verified.holds)


def _judge_record(
    row: str,
    files: Mapping[str, bytes],
    views: Mapping[str, VerdictView],
    context: Context,
    exists: Callable[[str], bool],
    judged: Judged,
) -> None:
    path = f"records/{row}.json"
    data = files[path]
    record, problems = _decode(data, Record)
    if problems:
        judged.findings += judge_file(FileView(path, "record", data, problems, record), row)
    if record is None:
        return
    cited = views.get(record.verdict.artifact)
    newer: Sequence[Verdict] = ()
    beside: Sequence[Verdict] = ()
    if cited is not None and len(views) > 1:
        ran = cited.verdict.run_id
        beside = [view.verdict for view in views.values() if view is not cited]
        newer = [verdict for verdict in beside if verdict.run_id > ran]
    spec, target = context.specs.get(record.kernel), context.target(record.target)
    if spec is not None and not fits(spec, record):
        spec = None
    view = RowView(path, row, record, context, spec, target, cited, newer, exists, beside)
    judged.findings += _complaints(_ON_ROW, view, Site(path, row, files, record))
    if record.verdict.kind == "imported":
        judged.imported = _digests(record, cited)
    if record.waivers:
        judged.waivers = list(_standing(record, path, row, data))
    if spec is not None and target is not None:
        judged.record = record


def _digests(record: Record, cited: VerdictView | None) -> list[str] | None:
    # Imported here: most registries hold no import.
    from registry_tool.baseline import digests

    if not digests.is_debt(record):
        return None
    return [digests.of_record(record), "" if cited is None else cited.sha256]


def _verify(what: Record | Subject | None) -> str:
    """The command that runs a row again."""
    if what is None:
        return "registry-tool verify"
    shape = ",".join(f"{dim}={size}" for dim, size in what.shape.items())
    variant = f" --variant {what.variant}" if what.variant else ""
    return (
        f"registry-tool verify --target {what.target} --kernel {what.kernel} --shape {shape}"
        f"{variant}"
    )


def _standing(record: Record, path: str, name: str, data: bytes) -> Iterator[Standing]:
    from registry_tool.records.explain import line_of

    for index, waiver in enumerate(record.waivers):
        rule = BY_ID.get(waiver.rule)
        yield Standing(
            number=index,
            rule=waiver.rule,
            expires=waiver.expires,
            line=line_of(data, f"/waivers/{index}"),
            path=path,
            row=name,
            kind=record.verdict.kind,
            waivable=rule.waivable if rule else None,
        )
