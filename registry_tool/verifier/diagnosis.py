"""What covers a kernel that no harness runs alone: the diagnosis of a model that uses it.

`make diagnosis` compares every layer with a reference, and prints a pass whatever it finds; its
table of cosines is read and judged here. One run of a model serves all its kernels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import UNSET

from registry_tool import __version__
from registry_tool.errors import HarnessError
from registry_tool.planning.plan import Task
from registry_tool.planning.tiling import Candidate
from registry_tool.records import kernel
from registry_tool.records.keys import RowId, row_id
from registry_tool.records.verdict import Gate, Subject, Verdict
from registry_tool.store.registry import Registry
from registry_tool.verifier import artifact
from registry_tool.verifier.attempt import Announce, Run, start
from registry_tool.verifier.diagnose import causes
from registry_tool.verifier.hardware import Place, make_step
from registry_tool.verifier.logs.harness_log import read_log
from registry_tool.verifier.logs.judge import Judgement, judge
from registry_tool.verifier.logs.request import Request
from registry_tool.verifier.machine import environment
from registry_tool.verifier.machine.environment import Surroundings
from registry_tool.verifier.machine.tree import sources_of
from registry_tool.verifier.process import Finished
from registry_tool.verifier.runner import Outcome, write_outcome
from registry_tool.verifier.streams import Stream

PROVENANCE = "planned, not measured: a diagnosis runs the model's own build of the kernel"
"""Where tile and herd of a row come from that stands on a diagnosis."""
_REPORT = re.compile(rb"^\[verify\] Report: +(\S+)[ \t]*\r?$", re.MULTILINE)
_NO_ELEMENTS = "a diagnosis compares layers, not elements"


class Diagnosis:
    """The diagnoses of a target's models, each run at most once."""

    def __init__(
        self,
        registry: Registry,
        target: str,
        place: Place,
        layers: Mapping[str, int],
        announce: Announce,
        is_sound: Callable[[], bool],
        surroundings: Surroundings | None = None,
    ) -> None:
        self._registry = registry
        self._target = target
        self._place = place
        self._layers = layers
        self._announce = announce
        self._is_sound = is_sound
        self._surroundings = surroundings
        self._is_suspect = False
        self._runs: dict[str, list[Run]] = {}

    def outcome(self, task: Task, candidate: Candidate) -> tuple[RowId, Outcome, dict[str, str]]:
        """Row, outcome and provenance for ``task``, from the first of its models that is there.

        Raises HarnessError if there is none, LockBusyError if the lock stays busy.
        """
        spec, shape = task.wanted.spec, task.wanted.shape
        row = row_id(self._target, spec.kernel, spec.dims, shape, candidate.variant)
        model = self._model(task)
        folder = self._registry.root / row.verdict_folder
        folder.mkdir(parents=True, exist_ok=True)
        runs = self._runs.get(model)
        if runs is None:
            runs = self._runs[model] = self._run(model, folder)
        verdict = self._verdict(task, candidate, model, runs)
        last = runs[-1]
        outcome = write_outcome(
            verdict,
            runs,
            self._registry.root,
            row.verdict_folder,
            causes(last.out.facts, last.judgement, last.err.facts),
            self._is_suspect,
        )
        return row, outcome, {"tile": PROVENANCE, "herd": PROVENANCE}

    def _model(self, task: Task) -> str:
        names = list(dict.fromkeys(use.model for use in task.wanted.uses)) or [
            model.model
            for model in self._registry.models()
            if any(need.kernel == task.wanted.spec.kernel for need in model.needs)
        ]
        for name in names:
            if self._folder(name).is_dir():
                return name
        kernel_name = task.wanted.spec.kernel
        if not names:
            raise HarnessError(
                f"{kernel_name} has no harness for {self._target}, and no model is known to use it "
                "that could be diagnosed"
            )
        raise HarnessError(
            f"{kernel_name} has no harness for {self._target}, and there is no folder of "
            f"{' or '.join(names)} below harness_root to diagnose "
            f"(targets.{self._target}.model_folders in registry.yaml)"
        )

    def _folder(self, model: str) -> Path:
        return Path(self._place.root) / self._folder_name(model)

    def _folder_name(self, model: str) -> str:
        return self._registry.target(self._target).model_folders.get(model, model)

    def _run(self, model: str, folder: Path) -> list[Run]:
        """The diagnosis of ``model``, with a retry."""
        target = self._registry.target(self._target)
        words = {"model": self._folder_name(model)}
        step = make_step(target.diagnosis, self._place, words, f"the diagnosis of {model}")
        request = Request(target=self._target, mode="diagnosis", layers=self._layers.get(model))

        def judging(finished: Finished, out: Stream, err: Stream) -> Judgement:
            return judge(out.facts, finished.exit_status, finished.timed_out, request, err.facts)

        def more(finished: Finished, out: Path) -> None:
            _append_report(out, step.cwd, finished.started.timestamp())

        runs: list[Run] = []
        while not runs or (runs[-1].judgement.status != "pass" and len(runs) < 2):
            self._announce(f"running the diagnosis of {model}")
            runs.append(start(target, "gated", step, folder, judging, self._announce, more=more))
            if runs[-1].judgement.status == "timeout" and not self._is_sound():
                self._is_suspect = True
                break
        return runs

    def _verdict(self, task: Task, candidate: Candidate, model: str, runs: list[Run]) -> Verdict:
        spec, shape = task.wanted.spec, task.wanted.shape
        last, target = runs[-1], self._registry.target(self._target)
        variant = candidate.variant
        precision = None if variant is None else spec.variants[variant].precision
        tolerance = kernel.tolerance(spec, precision)
        reason = last.judgement.reason
        verdict = Verdict(
            run_id=artifact.NO_RUN_ID,
            kind="diagnosis",
            subject=Subject(
                kernel=spec.kernel,
                target=self._target,
                shape=dict(shape),
                variant=candidate.variant,
                precision=precision,
                tile=dict(candidate.tile),
                herd=list(candidate.herd),
            ),
            status=last.judgement.status,
            reason=None if reason is None else artifact.one_line(reason),
            gate=Gate(
                rtol=tolerance.rtol,
                atol=tolerance.atol,
                band=None,
                band_reason=_NO_ELEMENTS,
                zero_share=None,
                zero_share_reason=_NO_ELEMENTS,
            ),
            outputs=[],
            attempts=[
                artifact.stored(run, None if run is last else run.judgement.reason) for run in runs
            ],
            profile=None,
            performance=None,
            environment=environment.gather(target, last.out.facts, self._surroundings),
            sources=sources_of(Path(self._place.root), [self._folder_name(model)]),
            tool_version=__version__,
            layers=self._layers.get(model, UNSET),
        )
        return artifact.named(verdict)


def _append_report(out: Path, cwd: Path, started: float) -> None:
    """Add the reports that the run wrote to what it printed: the table of layers is in them.

    One that is older than the run, or lies outside its folder, is not of this run.
    """
    if read_log(out).layers:
        return
    with out.open("ab") as file:
        for name in _reports(out):
            path = (cwd / name).resolve()
            try:
                fresh = path.stat().st_mtime >= started - 2.0  # coarse clocks of file systems
                if not path.is_relative_to(cwd.resolve()) or not fresh:
                    continue
                file.write(f"\n----- {name} -----\n".encode() + path.read_bytes())
            except OSError:
                continue


def _reports(out: Path) -> Iterator[str]:
    for match in _REPORT.finditer(out.read_bytes()):
        yield match[1].decode("utf-8", "backslashreplace")
