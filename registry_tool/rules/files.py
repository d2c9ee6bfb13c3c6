"""KR001-KR009: files that can be read, hold what their schema says, and stand where they should."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from registry_tool.records import kernel
from registry_tool.records.keys import key_of
from registry_tool.records.model import Model
from registry_tool.records.spec import Policy
from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.spelling import nearest
from registry_tool.rules.views import (
    Context,
    FileView,
    FolderView,
    PathView,
    RowView,
    VerdictView,
    logs_of,
)

if TYPE_CHECKING:
    from registry_tool.records.explain import ProblemKind

FMT = "registry-tool fmt"


def _problems(kind: ProblemKind) -> Callable[[FileView], Iterator[Complaint]]:
    """The check that hands on what the reader of the file found of one kind."""

    def check(file: FileView) -> Iterator[Complaint]:
        for problem in file.problems:
            if problem.kind == kind:
                yield Complaint(problem.message, problem.pointer, line=problem.line)

    return check


def _formatting(file: FileView) -> Iterator[Complaint]:
    # A verdict is evidence: nobody may rewrite it, fmt included.
    fix = "git checkout HEAD -- FILE" if file.path.startswith("verdicts/") else None
    for complaint in _problems("formatting")(file):
        yield complaint._replace(fix=fix)


def _schema(file: FileView) -> Iterator[Complaint]:
    for problem in file.problems:
        if problem.kind == "schema":
            newer = problem.pointer == "/schema_version"
            fix = "pip install --upgrade registry-tool" if newer else None
            yield Complaint(problem.message, problem.pointer, line=problem.line, fix=fix)


def _expected_path(path: PathView) -> Iterator[Complaint]:
    folder = path.path.partition("/")[0]
    if path.is_link and (path.kind != "other" or folder in ("records", "verdicts")):
        yield Complaint("a symbolic link or submodule stands where a file of the registry belongs")
    elif path.kind == "other" and folder in ("records", "verdicts") and not path.is_unmerged:
        wanted = {
            "records": "records/<target>/<Kernel>/<key>.json",
            "verdicts": "verdicts/<target>/<Kernel>/<key>/<run id>.json, .log, .err or .json.sig",
        }[folder]
        yield Complaint(f"not a file of the registry; below {folder}/ only {wanted} belong")


def _row_path(row: RowView) -> Iterator[Complaint]:
    record, spec = row.record, row.context.specs.get(row.record.kernel)
    key = row.name.rpartition("/")[2]
    if spec is not None and list(record.shape) == spec.dims:
        key = key_of(spec.dims, record.shape, record.variant)
    wanted = f"{record.target}/{record.kernel}/{key}"
    if wanted != row.name:
        yield Complaint(
            f"the fields say that this is the row {wanted}",
            fix=f"git mv {row.path} records/{wanted}.json, or take back the edit",
        )


def _stray_logs(folder: FolderView) -> Iterator[Complaint]:
    named = {log.name for view in folder.verdicts for log in logs_of(view.verdict)}
    for name in folder.names:
        if name.endswith((".log", ".err")) and name not in named and not folder.has_unread:
            yield Complaint(
                "no verdict names this log; an interrupted run may have left it",
                path=f"{folder.path}/{name}",
                fix="git rm it, unless its verdict belongs back: git checkout HEAD -- VERDICT",
                severity="warning",
            )


def _model_path(file: FileView) -> Iterator[Complaint]:
    if isinstance(file.value, Model) and file.path != f"models/{file.value.model}.json":
        yield Complaint(
            f"the model is called {file.value.model!r}, so its file is "
            f"models/{file.value.model}.json",
            "/model",
            fix="rename the file, or correct the model's name",
        )


def _row_names(row: RowView) -> Iterator[Complaint]:
    record, context = row.record, row.context
    if row.target is None:
        yield _unknown("target", record.target, "/target", context.policy.targets, "registry.yaml")
    spec = context.specs.get(record.kernel)
    if spec is None:
        yield _unknown("kernel", record.kernel, "/kernel", context.specs, "any kernel page")
    elif row.spec is None:
        yield from _misfits(row)
    else:
        tier = kernel.precision_of(spec, record.variant)
        if record.precision != tier:
            words = f"{record.variant or spec.kernel} has the precision tier {tier!r}"
            yield Complaint(f"{words}, not {record.precision!r}", "/precision")
        problem = kernel.check_shape(spec, record.shape)
        if problem:
            yield Complaint(problem, "/shape")
    for index, use in enumerate(record.used_by):
        if use.model not in context.models:
            yield _unknown_model(use.model, f"/used_by/{index}/model", context)
    for index, waiver in enumerate(record.waivers):
        if waiver.date > waiver.expires:
            yield Complaint(
                f"the waiver of {waiver.rule} ends before it begins", f"/waivers/{index}/expires"
            )


def _misfits(row: RowView) -> Iterator[Complaint]:
    record = row.record
    spec = row.context.specs[record.kernel]
    problem = kernel.check_shape(spec, record.shape)
    if problem:
        yield Complaint(problem, "/shape")
    if spec.variants and record.variant not in spec.variants:
        yield _unknown("variant", str(record.variant), "/variant", spec.variants, spec.kernel)
    if not spec.variants and record.variant is not None:
        yield Complaint(f"{spec.kernel} has no variants", "/variant")
    if list(record.tile) != list(spec.tile):
        names = ", ".join(spec.tile) or "none"
        yield Complaint(f"the tile knobs of {spec.kernel} are {names}, in this order", "/tile")
    if len(record.herd) != len(spec.herd):
        yield Complaint(f"the herd of {spec.kernel} is {'×'.join(spec.herd)}", "/herd")


def _policy_names(file: FileView) -> Iterator[Complaint]:
    if not isinstance(file.value, Policy):
        return
    from registry_tool.rules.severity import entries

    yield from _twins(file.value)
    for target, rule, _ in entries(file.value):
        if rule not in file.rules:
            from registry_tool.records.yaml_errors import line_of

            place = ["targets", target, "rules", rule] if target else ["rules", rule]
            yield _unknown("rule", rule, f"/{'/'.join(place)}", file.rules, "the gate's")._replace(
                line=line_of(file.data, place), fix="registry-tool explain   # lists the rules"
            )


def _twins(policy: Policy) -> Iterator[Complaint]:
    """Targets that differ in their case alone: one folder on many disks, one name to a reader."""
    seen: dict[str, str] = {}
    for name in policy.targets:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            yield Complaint(
                f"the targets {other!r} and {name!r} differ in upper and lower case alone",
                f"/targets/{name}",
                line=1,
                fix="give one of them another name",
            )


def _verdict_names(view: VerdictView) -> Iterator[Complaint]:
    subject, context = view.verdict.subject, view.context
    if context.target(subject.target) is None:
        names: Collection[str] = context.policy.targets
        yield _unknown("target", subject.target, "/subject/target", names, "registry.yaml")
    if view.spec is None:
        names = context.specs
        yield _unknown("kernel", subject.kernel, "/subject/kernel", names, "any kernel page")


def _unknown(what: str, name: str, pointer: str, known: Collection[str], where: str) -> Complaint:
    close = nearest(name, known)
    hint = f"; did you mean {close!r}?" if close else f"; known are {', '.join(known)}"
    return Complaint(f"the {what} {name!r} is not one of {where}{hint}", pointer)


def _unknown_model(name: str, pointer: str, context: Context) -> Complaint:
    close = nearest(name, context.models)
    if close:
        return Complaint(f"no model is called {name!r}; did you mean {close!r}?", pointer)
    return Complaint(
        f"models/{name}.json does not exist, so nothing says what {name!r} needs of this row",
        pointer,
        fix=f"registry-tool shapes CONFIG, registry-tool verify --config CONFIG --model {name}",
        severity="warning",
    )


# `=======` underlines a heading, so in Markdown only the other two tell.
_CONFLICT_IN_TEXT = re.compile(rb"^(?:<{7}|>{7}|\|{7}) .*$", re.M)


def _conflict(file: FileView) -> Iterator[Complaint]:
    yield from _problems("conflict")(file)
    if file.kind in ("page", "generated", "policy", "spec"):
        found = _CONFLICT_IN_TEXT.search(file.data)
        if found is not None:
            text = found[0].decode("utf-8", "replace").strip()
            yield Complaint(
                f"a conflict marker ({text}) was left in the file",
                line=file.data.count(b"\n", 0, found.start()) + 1,
            )


def _unmerged(path: PathView) -> Iterator[Complaint]:
    if path.is_unmerged:
        yield Complaint("the merge of this path is not finished")


RULES = (
    Rule(
        id="KR001",
        title="unreadable file",
        summary="A registry file is not UTF-8, not JSON or not YAML, or is missing where the "
        "registry cannot do without it.",
        rationale="What cannot be read cannot be judged, and must not pass because of that.",
        fix="correct the line, or take the last good version: git checkout HEAD -- FILE",
        on_file=_problems("unreadable"),
    ),
    Rule(
        id="KR002",
        title="duplicate key",
        summary="A JSON or YAML object has the same key twice.",
        rationale="Readers disagree about which of the two counts, so a file could show one value "
        "to a person and another to a program.",
        fix="keep one of the two",
        on_file=_problems("duplicate"),
    ),
    Rule(
        id="KR003",
        title="not a finite number",
        summary="A file holds NaN or Infinity.",
        rationale="No comparison with NaN holds, so a bound that is NaN refuses nothing; and JSON "
        "has neither.",
        fix="write the number, or null where the field allows it",
        on_file=_problems("not-finite"),
    ),
    Rule(
        id="KR004",
        title="schema",
        summary="A file does not hold what its schema says, or has a format version that this "
        "registry-tool does not know.",
        rationale="Every reader relies on the types, names and bounds in schemas/.",
        fix="correct the field; schemas/ describes each one",
        on_file=_schema,
    ),
    Rule(
        id="KR005",
        title="path and fields disagree",
        summary="A file stands elsewhere than its fields say, is a symbolic link, or does not "
        "belong below records/ or verdicts/ at all.",
        rationale="The path is the identity of a row: two files for one row, or a row under "
        "another's name, would be found by nobody.",
        fix="move or remove the file: git mv, git rm",
        on_path=_expected_path,
        on_file=_model_path,
        on_row=_row_path,
        on_folder=_stray_logs,
    ),
    Rule(
        id="KR006",
        title="unknown name",
        summary="A row names a kernel, target, variant, tier, dimension, tile knob or model that "
        "the registry does not know, or spells it differently; or registry.yaml names no rule.",
        rationale="A row under a misspelt name is never found, and no constraint is applied to it.",
        fix="correct the spelling",
        on_file=_policy_names,
        on_row=_row_names,
        on_verdict=_verdict_names,
    ),
    Rule(
        id="KR007",
        title="conflict marker",
        summary="A merge left `<<<<<<<`, `=======` or `>>>>>>>` in a file of the registry.",
        rationale="The file is two versions at once.",
        fix="take one side, then registry-tool render; for records: git checkout --ours -- FILE",
        on_file=_conflict,
    ),
    Rule(
        id="KR008",
        title="unmerged path",
        summary="The index still holds several sides of a path.",
        rationale="git has not decided what the commit would contain.",
        fix="resolve it: git checkout --ours -- FILE (or --theirs), then git add FILE",
        on_path=_unmerged,
    ),
    Rule(
        id="KR009",
        title="not canonical",
        summary="A JSON file is right but not written in the one canonical way: key order, "
        "two-space indent, shortest floats, final newline.",
        rationale="One content has one form, so that a diff shows only what changed and a digest "
        "stands for the content.",
        fix=FMT,
        on_file=_formatting,
    ),
)
