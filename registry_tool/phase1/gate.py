"""The Phase 1 gate of a model: four criteria for every kernel x shape that it needs.

Nothing is run and nothing printed. Whether a row may stand is what the rules say of it, so that
this gate and the one at the commit never differ.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import UNSET

from registry_tool.errors import RegistryError
from registry_tool.phase1 import folder
from registry_tool.phase1.evidence import Stored, files_of, verdicts_of
from registry_tool.planning import plan
from registry_tool.planning.covers import NeedKey, covering
from registry_tool.planning.plan import Wanted
from registry_tool.planning.search import best, blocking_constraints
from registry_tool.records import kernel
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.model import Model
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec, Target
from registry_tool.rules import context as contexts
from registry_tool.rules.finding import Finding
from registry_tool.rules.judging import judge_row
from registry_tool.rules.views import Context
from registry_tool.rules.waivers import apply
from registry_tool.store.registry import Registry

Name = Literal["signal", "correctness", "tiles", "row"]
CRITERIA: tuple[Name, ...] = ("signal", "correctness", "tiles", "row")
DIAGNOSIS = "make diagnosis"
_EMULATION = "emulation"
_NO_ROW = "there is no row"
_TIME = len("20260101T000000Z")
# Which criterion a complaint of the rules is about, by the group of its number; else the row.
_GROUPS: Mapping[str, Name] = {"KR1": "correctness", "KR2": "tiles"}


@dataclass(frozen=True)
class Problem:
    """Why a criterion does not hold, and what to type next."""

    criterion: Name
    reason: str
    next: str


@dataclass(frozen=True)
class NeedState:
    """One need with what is known of it.

    ``row`` is the row that meets it, or the one that is there and does not; it is a block's row
    if ``block`` is its spec. ``cited`` is the verdict that the row stands on, ``verdicts`` every
    verdict on the need, oldest first; ``failing`` is the newest run that did not pass: of all, if
    no row proves the need, else of the row's own recipe, if it came after what the row stands on.
    ``obstacles`` say why no configuration is legal.
    """

    wanted: Wanted
    target: str
    source: str
    problems: tuple[Problem, ...]
    row: RowId | None = None
    record: Record | None = None
    block: KernelSpec | None = None
    cited: Stored | None = None
    verdicts: tuple[Stored, ...] = ()
    failing: Stored | None = None
    obstacles: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def kernel(self) -> str:
        """Page name of the kernel."""
        return self.wanted.spec.kernel

    @property
    def shape(self) -> str:
        """The shape as people write it."""
        return kernel.shape_text(self.wanted.spec, self.wanted.shape)

    @property
    def sites(self) -> tuple[str, ...]:
        """The call sites that have the need, with their phase."""
        return tuple(use.site for use in self.wanted.uses)

    @property
    def passed(self) -> bool:
        """Whether all four criteria hold."""
        return not self.problems

    def holds(self, criterion: Name) -> bool:
        """Whether one criterion holds."""
        return all(problem.criterion != criterion for problem in self.problems)

    @property
    def flaky(self) -> bool:
        """Whether the row's pass came only after the same recipe had not passed."""
        if self.record is None:
            return False
        stated = self.record.verdict.flaky is not UNSET
        return stated or (self.cited is not None and self.cited.verdict.is_flaky)


@dataclass(frozen=True)
class Gate:
    """The needs of a model on a target; ``emulated`` says that no hardware ran anything."""

    model: Model
    target: str
    emulated: bool
    needs: tuple[NeedState, ...]

    @property
    def met(self) -> int:
        """How many needs hold all criteria."""
        return sum(need.passed for need in self.needs)

    @property
    def passed(self) -> bool:
        """Whether all criteria hold for every need; a model without needs proves nothing."""
        return bool(self.needs) and self.met == len(self.needs)

    @property
    def verdicts(self) -> list[Stored]:
        """Every verdict on the needs, each once."""
        found = {one.path: one for need in self.needs for one in need.verdicts}
        return list(found.values())


def assess(registry: Registry, model: Model, target: str, today: str) -> Gate:
    """Every need of ``model`` on ``target``; waivers hold on the day ``today`` (YYYY-MM-DD).

    Raises RegistryError or InputError for a model, record or verdict that cannot be read.
    """
    _check_shapes(registry, model)
    wants = plan.of_models(registry, [model])
    backed = plan.backed_rows(registry, target)
    blocks = covering(registry.specs, backed)
    rows = [row for wanted in wants for row in _rows_of(target, wanted)]
    verdicts = verdicts_of(registry, [*rows, *blocks.values()])
    context, _ = contexts.read(registry.snapshot)
    assert context is not None  # the registry was loaded with its policy
    gate = _Gate(registry, model, target, today, backed, blocks, verdicts, context)
    emulated = registry.target(target).kind != "hardware"
    return Gate(model, target, emulated, tuple(gate.judge(wanted) for wanted in wants))


def _check_shapes(registry: Registry, model: Model) -> None:
    for need in model.needs:
        if need.kernel not in registry.specs:
            raise RegistryError(
                f"the need of {need.phase} {need.site} is of {need.kernel}, which has no page here",
                path=f"models/{model.model}.json",
                fix=f"write kernels/{need.kernel}.yaml, or save the model anew",
            )
        problem = kernel.check_shape(registry.spec(need.kernel), need.shape)
        if problem is not None:
            raise RegistryError(
                f"the need of {need.phase} {need.site} does not fit its kernel: {problem}",
                path=f"models/{model.model}.json",
                fix="registry-tool verify --config CONFIG --model NAME --force writes it anew",
            )


def _rows_of(target: str, wanted: Wanted) -> list[RowId]:
    spec = wanted.spec
    return [
        row_id(target, spec.kernel, spec.dims, wanted.shape, variant) for variant in wanted.variants
    ]


@dataclass(frozen=True)
class _Standing:
    """A row that may meet a need, with what the rules say of it."""

    row: RowId
    record: Record
    block: KernelSpec | None
    findings: Sequence[Finding]
    backed: bool

    def about(self, criterion: Name) -> list[Finding]:
        return [
            finding
            for finding in self.findings
            if finding.severity == "error" and _GROUPS.get(finding.rule[:3], "row") == criterion
        ]

    @property
    def is_correct(self) -> bool:
        return self.backed and not self.about("correctness")


@dataclass(frozen=True)
class _Gate:
    """What the judgement of every need reads."""

    registry: Registry
    model: Model
    target: str
    today: str
    backed: Mapping[RowId, Record]
    blocks: Mapping[NeedKey, RowId]
    verdicts: Mapping[RowId, Sequence[Stored]]
    context: Context

    def judge(self, wanted: Wanted) -> NeedState:
        rows = _rows_of(self.target, wanted)
        own = [one for row in rows for one in self.verdicts[row]]
        found = self._standing(wanted, rows)
        if found is None:
            return self._without_row(wanted, own)
        cited = next(
            (
                one
                for one in self.verdicts.get(found.row, ())
                if one.path == found.record.verdict.artifact
            ),
            None,
        )
        source, problems = self._signal(wanted, found)
        problems += self._of_row(wanted, found, cited)
        failing = None if found.is_correct else _failing(own)
        since = _failed_since(self.verdicts.get(found.row, ()), found.record, cited)
        if since is not None:
            failing = since
            verdict = since.verdict
            reason = (
                f"the newest run of its tile and herd did not pass: {verdict.status}: "
                f"{verdict.reason} ({verdict.run_id})"
            )
            problems.append(Problem("correctness", reason, self._again(found)))
        verdicts = own if found.block is None else [*own, *self.verdicts[found.row]]
        return NeedState(
            wanted=wanted,
            target=self.target,
            source=source,
            problems=tuple(problems),
            row=found.row,
            record=found.record,
            block=found.block,
            cited=cited,
            verdicts=tuple(verdicts),
            failing=failing,
            remarks=tuple(f.message for f in found.findings if f.severity == "warning"),
        )

    def _standing(self, wanted: Wanted, rows: Iterable[RowId]) -> _Standing | None:
        """The first row that proves the need, in variant order, then a block's; else any row."""
        first: _Standing | None = None
        for row in rows:
            if row in self.registry.record_paths:
                found = self._look(row, None)
                if found.is_correct:
                    return found
                first = first or found
        row_of_block = self.blocks.get((wanted.spec.kernel, tuple(wanted.shape.values())))
        if row_of_block is not None:
            found = self._look(row_of_block, self.registry.spec(row_of_block.kernel))
            if found.is_correct:
                return found
            first = first or found
        return first

    def _look(self, row: RowId, block: KernelSpec | None) -> _Standing:
        files = files_of(self.registry, row)
        oids = self.registry.snapshot.oids
        judged = judge_row(str(row), files, self.context, oids.__contains__)
        findings = apply(judged.findings, judged.waivers, self.today)
        return _Standing(row, self.registry.records[row], block, findings, row in self.backed)

    def _without_row(self, wanted: Wanted, own: Sequence[Stored]) -> NeedState:
        source, problems = self._signal(wanted, None)
        again = self._verify(wanted)
        failing = _failing(own)
        obstacles = _obstacles(wanted) if failing is None else ()
        if failing is not None:
            verdict = failing.verdict
            reason = f"the last run did not pass: {verdict.status}: {verdict.reason}"
        elif obstacles:
            reason = f"no legal tile and herd: {'; '.join(obstacles)}"
        elif own:
            reason = "a run passed, and no row was written of it"
        else:
            reason = "not run yet"
        problems += [
            Problem("correctness", reason, again),
            Problem("tiles", _NO_ROW, again),
            Problem("row", _NO_ROW, again),
        ]
        return NeedState(
            wanted=wanted,
            target=self.target,
            source=source,
            problems=tuple(problems),
            verdicts=tuple(own),
            failing=failing,
            obstacles=obstacles,
        )

    def _signal(self, wanted: Wanted, found: _Standing | None) -> tuple[str, list[Problem]]:
        """Where the proof comes from, or would; and why there is none, where there is none."""
        spec, target = wanted.spec, self.registry.target(self.target)
        if found is not None and found.block is not None:
            inner, problems = self._source(found.block, target, found.record)
            shape = kernel.shape_text(found.block, found.record.shape)
            return f"block {found.block.kernel} {shape} ({inner})", self._worded(wanted, problems)
        source, reason = self._source(spec, target, found.record if found else None)
        return source, self._worded(wanted, reason)

    def _source(
        self, spec: KernelSpec, target: Target, record: Record | None
    ) -> tuple[str, str | None]:
        if target.kind != "hardware":
            if spec.emulator is not None:
                return _EMULATION, None
            return "none", f"{spec.kernel} has no emulator"
        harness = spec.harness.get(self.target)
        kind = record.verdict.kind if record is not None else None
        if kind == "imported":
            return "imported", None if harness else f"no harness for {self.target}"
        if harness is not None:
            # A diagnosis never stands in for a harness: the rules refuse such a row.
            return f"harness {harness.correctness.folder}", None
        if kind == "diagnosis" or folder.diagnosis_folder(target, self.model.model) is not None:
            return DIAGNOSIS, None
        return "none", (
            f"{spec.kernel} has no harness for {self.target}, and the model has no folder in the "
            f"harness tree for `{DIAGNOSIS}`"
        )

    def _worded(self, wanted: Wanted, reason: str | None) -> list[Problem]:
        if reason is None:
            return []
        if self.registry.target(self.target).kind == "hardware":
            return [Problem("signal", reason, f"registry-tool doctor --target {self.target}")]
        name = f"give kernels/{wanted.spec.kernel}.yaml an emulator"
        return [Problem("signal", reason, f"{name}, then: {self._verify(wanted)}")]

    def _of_row(self, wanted: Wanted, found: _Standing, cited: Stored | None) -> Iterator[Problem]:
        said = False
        for criterion in CRITERIA:
            for finding in found.about(criterion):
                said = said or criterion == "correctness"
                yield Problem(criterion, f"{finding.rule}: {finding.message}", finding.fix)
        if not found.backed and not said:
            reason = "the verdict that the row stands on is not there as it was written"
            yield Problem("correctness", reason, self._again(found))
        record, model = found.record, self.model.model
        newest = _newest_pass(self.verdicts.get(found.row, ()), record)
        if newest is not None and (cited is None or newest.verdict.run_id > cited.verdict.run_id):
            reason = f"a newer run of its tile and herd passed too: {newest.verdict.run_id}"
            yield Problem("row", reason, self._again(found))
        if all(use.model != model for use in record.used_by):
            yield Problem(
                "row", f"used_by of {found.row} does not list {model}", self._verify(wanted)
            )

    def _again(self, found: _Standing) -> str:
        """The command that runs one row anew; its used_by is kept."""
        record = found.record
        shape = ",".join(f"{dim}={size}" for dim, size in record.shape.items())
        words = ["--kernel", record.kernel, "--shape", shape, "--target", self.target]
        words += ["--variant", record.variant] if record.variant else []
        return shlex.join(["registry-tool", "verify", *words, "--force"])

    def _verify(self, wanted: Wanted) -> str:
        words = ["--model", self.model.model, "--kernel", wanted.spec.kernel]
        return shlex.join(["registry-tool", "verify", *words, "--target", self.target])


def _runs_of(verdicts: Sequence[Stored], record: Record) -> list[Stored]:
    """The runs of the row's own recipe, oldest first."""
    return [
        one
        for one in verdicts
        if one.verdict.subject.tile == record.tile and one.verdict.subject.herd == record.herd
    ]


def _newest_pass(verdicts: Sequence[Stored], record: Record) -> Stored | None:
    """The newest pass of the row's own recipe; a sweep keeps passes of others, which are slower."""
    passing = [one for one in _runs_of(verdicts, record) if one.verdict.status == "pass"]
    return passing[-1] if passing else None


def _failed_since(
    verdicts: Sequence[Stored], record: Record, cited: Stored | None
) -> Stored | None:
    """The newest run of the row's recipe that did not pass, if no pass came after it."""
    failed = [one for one in _runs_of(verdicts, record) if one.verdict.status != "pass"]
    newest = _newest_pass(verdicts, record)
    passes = [one for one in (cited, newest) if one is not None]
    return failed[-1] if failed and all(_is_after(failed[-1], one) for one in passes) else None


def _is_after(failed: Stored, passed: Stored) -> bool:
    """Whether ``failed`` was run after ``passed``; a run id tells the time to the second only."""
    one, other = failed.verdict.run_id[:_TIME], passed.verdict.run_id[:_TIME]
    # A pass counts the failures of its recipe before it.
    return one > other or (one == other and passed.verdict.earlier_failures is UNSET)


def _failing(verdicts: Sequence[Stored]) -> Stored | None:
    newest = max(verdicts, key=lambda one: one.verdict.run_id, default=None)
    return newest if newest is not None and newest.verdict.status != "pass" else None


def _obstacles(wanted: Wanted) -> tuple[str, ...]:
    """Why no variant has a legal configuration; empty if one has."""
    spec, shape = wanted.spec, wanted.shape
    if any(best(spec, shape, variant) is not None for variant in wanted.variants):
        return ()
    found = [
        f"{variant + ': ' if variant else ''}{text}"
        for variant in wanted.variants
        for text in blocking_constraints(spec, shape, variant)
    ]
    return tuple(dict.fromkeys(found))
