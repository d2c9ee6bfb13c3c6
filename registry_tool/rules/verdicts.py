"""KR101-KR110: every row stands on a passing, unedited verdict of its own, held to the page."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from registry_tool.records.keys import key_of
from registry_tool.records.verdict import Verdict
from registry_tool.rules.changes import (
    artifact_changed,
    loose_at_row,
    loose_file,
    loosened,
)
from registry_tool.rules.evidence import (
    contradictions,
    devices,
    emulation_marks,
    other_command,
)
from registry_tool.rules.gate import (
    gate_as_tight,
    inside_band,
    log_unedited,
    same_numbers,
    sees_zeros,
)
from registry_tool.rules.model import Complaint, Rule
from registry_tool.rules.views import RowView, VerdictView

_ARTIFACT = "/verdict/artifact"


def _artifact_there(row: RowView) -> Iterator[Complaint]:
    if row.verdict is None:
        path = row.record.verdict.artifact
        if not row.exists(path):
            yield Complaint(f"the verdict {path} is not there", _ARTIFACT)
        elif path.startswith(f"{row.verdict_folder}/"):
            yield Complaint(f"{path} cannot be read as a verdict", _ARTIFACT)


def _artifact_of_this_row(row: RowView) -> Iterator[Complaint]:
    record = row.record
    path = record.verdict.artifact
    if row.verdict is None:
        if not path.startswith(f"{row.verdict_folder}/"):
            yield Complaint(
                f"{path} is not in the folder of this row's verdicts, {row.verdict_folder}/",
                _ARTIFACT,
            )
        return
    subject = row.verdict.verdict.subject
    for name in ("kernel", "target", "shape", "variant", "precision", "tile", "herd"):
        ours, theirs = getattr(record, name), getattr(subject, name)
        if ours != theirs:
            yield Complaint(
                f"the verdict is about the {name} {_show(theirs)}, the row says {_show(ours)}",
                f"/{name}",
            )


def _artifact_in_its_folder(view: VerdictView) -> Iterator[Complaint]:
    verdict, subject, spec = view.verdict, view.verdict.subject, view.spec
    claimed, here = f"{subject.target}/{subject.kernel}", view.row.rpartition("/")[0]
    if spec is not None and list(subject.shape) == spec.dims:
        claimed = f"{claimed}/{key_of(spec.dims, subject.shape, subject.variant)}"
        here = view.row
    if claimed != here:
        yield Complaint(
            f"the verdict is about {claimed}, and stands in the folder of {view.row}", "/subject"
        )
    if verdict.run_id != view.run_id:
        yield Complaint(f"the run is called {verdict.run_id}, not as the file", "/run_id")
    words = other_command(view)
    if words is not None:
        yield Complaint(f"its command ran something else: {words}", "/attempts")
    for name in devices(view.log or b""):
        if name != subject.target and view.context.target(name) is not None:
            yield Complaint(f"its log is of the target {name}, not {subject.target}", "/attempts")


def _passed(row: RowView) -> Iterator[Complaint]:
    link = row.record.verdict
    if row.verdict is not None and _is_import(row, row.verdict.verdict):
        reason = row.verdict.verdict.reason or "no reason"
        yield Complaint(
            f"the row was imported, and no run of it is known here: {link.status} ({reason})",
            "/verdict/status",
        )
        return
    if link.status != "pass":
        yield Complaint(
            f"the row stands on a verdict with the status {link.status!r}", "/verdict/status"
        )
    if row.verdict is None:
        return
    verdict = row.verdict.verdict
    path = row.verdict.path
    if verdict.status != "pass":
        yield Complaint(
            f"the verdict says {verdict.status!r}: {verdict.reason or 'no reason'}",
            "/status",
            path=path,
        )
    elif row.spec is not None:
        for pointer, words in contradictions(row.verdict):
            yield Complaint(f"the verdict calls itself a pass, but {words}", pointer, path=path)
    # Neither the other configurations of a sweep nor a canary, which asks the device whether it
    # works, say anything of this row.
    same = [
        later
        for later in row.newer
        if (later.subject.tile, later.subject.herd) == (row.record.tile, row.record.herd)
        and later.canary is UNSET
    ]
    newest = max(same, key=lambda verdict: verdict.run_id, default=None)
    if newest is not None and newest.status != "pass":
        yield Complaint(
            f"the newest run of this row, {newest.run_id}, did not pass ({newest.status}: "
            f"{newest.reason or 'no reason'})",
            _ARTIFACT,
            severity="warning",
        )


def _is_import(row: RowView, verdict: Verdict) -> bool:
    """Whether row and verdict agree that it is an import, and that it claims no pass."""
    link = row.record.verdict
    kinds, statuses = {link.kind, verdict.kind}, {link.status, verdict.status}
    return kinds == {"imported"} and len(statuses) == 1 and "pass" not in statuses


def _evidence_of_hardware(view: VerdictView) -> Iterator[Complaint]:
    target = view.context.target(view.verdict.subject.target)
    if target is None or target.kind != "hardware":
        return
    name = view.verdict.subject.target
    for pointer, words in emulation_marks(view):
        yield Complaint(f"{name} is hardware, and this run was emulated: {words}", pointer)
    if view.verdict.kind == "imported" and view.verdict.status == "pass":
        yield Complaint(f"{name} is hardware, and this pass was imported, not measured", "/kind")


def _kind_fits_target(row: RowView) -> Iterator[Complaint]:
    record, target = row.record, row.target
    if target is None:
        return
    if record.verdict.kind == "diagnosis":
        why = None
        if target.kind != "hardware":
            why = "is emulated, where no model is diagnosed"
        elif row.spec is not None and record.target in row.spec.harness:
            why = f"has a harness for {record.kernel}: nothing less is taken there"
        if why is not None:
            words = f"the row stands on the diagnosis of a model, and {record.target} {why}"
            yield Complaint(words, "/verdict/kind")
    if target.kind == "hardware":
        if record.verdict.kind == "imported" and record.verdict.status == "pass":
            yield Complaint(
                f"{record.target} is hardware, and the row's pass is imported, not measured",
                "/verdict/kind",
            )
    elif record.performance is not None:
        yield Complaint(
            f"{record.target} is emulated, where no speed can be measured", "/performance"
        )


def _show(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={size}" for name, size in value.items()) or "none"
    if isinstance(value, list):
        return "×".join(map(str, value))
    return repr(value)


RULES = (
    Rule(
        id="KR101",
        title="no verdict",
        summary="A row cites a verdict that is not there, or cannot be read.",
        rationale="A row is a claim; the verdict of a gated run is what proves it. Rows are never "
        "written by hand.",
        fix="VERIFY --force writes row and verdict together; git add the verdict if it exists",
        on_row=_artifact_there,
    ),
    Rule(
        id="KR102",
        title="verdict of something else",
        summary="The verdict is about another kernel, shape, variant, tile, herd or target, or "
        "stands in another row's folder.",
        rationale="A run proves what was run and nothing beside it: another tile may corrupt "
        "silently, another shape may not be covered.",
        fix="VERIFY --force",
        on_row=_artifact_of_this_row,
        on_verdict=_artifact_in_its_folder,
    ),
    Rule(
        id="KR103",
        title="verdict is no pass",
        summary="The cited run did not pass, or its verdict contradicts its own pass: exit status, "
        "time limit, injected fault, missing outputs, wrong element counts.",
        rationale="Only a run whose every signal agrees makes a row; failing verdicts are kept as "
        "evidence, without one.",
        fix="VERIFY --force, or registry-tool retire ROW",
        waivable="imported",
        owed=True,
        on_row=_passed,
    ),
    Rule(
        id="KR104",
        title="loose tolerance",
        summary="The run was compared with a larger rtol or atol than the kernel's page allows.",
        rationale="A looser gate proves less. No waiver and no changed tolerance makes a failing "
        "run pass.",
        fix="VERIFY --force, with the harness's own tolerances",
        owed=True,
        on_row=gate_as_tight,
    ),
    Rule(
        id="KR105",
        title="numbers disagree",
        summary="Row, verdict and log do not say the same: a figure, a digest, or a log that does "
        "not read back to the verdict.",
        rationale="The three are written by one run. Where they differ, one of them was edited.",
        fix="git checkout HEAD -- FILE takes the edit back; a new figure needs a new run: "
        "VERIFY --force",
        on_row=same_numbers,
        on_verdict=log_unedited,
    ),
    Rule(
        id="KR106",
        title="evidence changed",
        summary="A verdict or log was edited after it was committed, or deleted while a row cites "
        "it.",
        rationale="Verdicts are append-only: what was proved on a day stays what was proved then. "
        "A new run writes a new verdict beside the old one.",
        fix="git checkout HEAD -- FILE",
        on_change=artifact_changed,
    ),
    Rule(
        id="KR107",
        title="not measured on hardware",
        summary="An emulated (by command, device or log) or imported verdict is offered for a "
        "hardware target, a speed for an "
        "emulated one, or the diagnosis of a model for a kernel that has a harness.",
        rationale="Emulation proves numerics and nothing about hardware; an import proves only "
        "that somebody wrote it down; the diagnosis of a model compares layers, and covers only "
        "what no harness runs alone.",
        fix="registry-tool verify --target TARGET on the device itself",
        on_row=_kind_fits_target,
        on_verdict=_evidence_of_hardware,
    ),
    Rule(
        id="KR108",
        title="outside the band",
        summary="mean_rel_L1 lies outside what the kernel's datapath can give, on either side; or "
        "the run was judged by a wider band than the page's, which only warns where the change did "
        "not bring the run itself.",
        rationale="Each datapath has its own rounding, and so its own error. Too good is as "
        "impossible as too bad: it means another path ran, or another number was written.",
        fix="look at the log; VERIFY --force",
        owed=True,
        on_row=inside_band,
    ),
    Rule(
        id="KR109",
        title="blind gate",
        summary="An output of zeros would pass the tolerances, and the page has no band to notice "
        "it.",
        rationale="Where the reference is smaller than atol, the element-wise test passes whatever "
        "the kernel writes.",
        fix="give the kernel's page a band (kernels/KERNEL.yaml), or a smaller atol",
        owed=True,
        on_row=sees_zeros,
    ),
    Rule(
        id="KR110",
        title="loosened rules",
        summary="A page or registry.yaml (a rule lowered, a limit raised, fewer timing runs) "
        "allows more than before in the change that needs it, an override of a built-in page "
        "allows more than the built-in one, or registry.yaml lowers what no row may waive.",
        rationale="Whoever may change the measure together with the measured can pass anything. "
        "An override may only tighten; a page of the registry's own is loosened in a change of "
        "its own, which a reviewer can see.",
        fix="take the edit back; an override of a built-in page is never loosened, a page of the "
        "registry's own only in a commit of its own, with the reason",
        on_file=loose_file,
        on_row=loose_at_row,
        on_change=loosened,
    ),
)
