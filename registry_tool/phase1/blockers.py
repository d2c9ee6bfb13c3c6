"""What still stands in a model's way after its retry: the failing run, likely causes, the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from msgspec import UNSET

from registry_tool.phase1.evidence import Stored
from registry_tool.phase1.gate import Gate, NeedState
from registry_tool.records import kernel
from registry_tool.records.spec import KernelSpec
from registry_tool.store.registry import Registry
from registry_tool.verifier.diagnose import Cause, Setup, causes
from registry_tool.verifier.logs.harness_log import parse
from registry_tool.verifier.logs.judge import judge
from registry_tool.verifier.logs.request import Request


@dataclass(frozen=True)
class Blocker:
    """A need that failed, or that nothing can run; ``log`` is relative to the registry's root.

    ``attempts`` is 0 where no configuration is legal: then there is neither verdict nor log.
    ``log`` is None, and there are no causes, where the log is not there any more.
    """

    need: NeedState
    status: str
    reason: str
    attempts: int
    causes: tuple[Cause, ...]
    verdict: str | None
    log: str | None


def blockers(registry: Registry, gate: Gate) -> list[Blocker]:
    """The blockers of ``gate``; needs that were not run yet are none."""
    return list(_blockers(registry, gate))


def _blockers(registry: Registry, gate: Gate) -> Iterator[Blocker]:
    for need in gate.needs:
        if need.failing is not None:
            yield _failed(registry, need, need.failing)
        elif need.obstacles:
            reason = f"no legal tile and herd: {'; '.join(need.obstacles)}"
            yield Blocker(need, "impossible", reason, 0, (), None, None)


def _failed(registry: Registry, need: NeedState, failing: Stored) -> Blocker:
    log, err = failing.log_path, failing.err_path
    found: tuple[Cause, ...] = ()
    oids = registry.snapshot.oids
    if log is None or err is None or log not in oids or err not in oids:
        log = None
    else:
        read = registry.snapshot.read_many([log, err])
        spec = registry.spec(failing.verdict.subject.kernel)  # of the block, if its row failed
        found = _causes(spec, failing, read[log], read[err])
    return Blocker(
        need=need,
        status=failing.verdict.status,
        reason=failing.verdict.reason or "no reason given",
        attempts=len(failing.verdict.attempts),
        causes=found,
        verdict=failing.path,
        log=log,
    )


def _causes(spec: KernelSpec, failing: Stored, log: bytes, err: bytes) -> tuple[Cause, ...]:
    """What the stored log suggests, read again as it was judged."""
    verdict = failing.verdict
    run, gate, subject = verdict.attempts[-1], verdict.gate, verdict.subject
    facts, errors = parse(log), parse(err)
    elements = kernel.output_elements(spec, subject.shape)
    request = Request(
        elements=tuple(elements),
        outputs=len(elements),
        rtol=gate.rtol,
        atol=gate.atol,
        target=subject.target,
        band=gate.band,
        mode="diagnosis" if verdict.kind == "diagnosis" else "harness",
        layers=None if verdict.layers is UNSET else verdict.layers,
    )
    judgement = judge(facts, run.exit_status, run.timed_out, request, errors)
    # The verdict stays what it was, whatever a later version of the judge would say.
    told = replace(judgement, status=verdict.status, reason=verdict.reason)
    setup = Setup(
        spec=spec,
        shape=subject.shape,
        variant=subject.variant,
        # A diagnosis runs the model's own build: what was planned says nothing about it.
        tile={} if verdict.kind == "diagnosis" else subject.tile,
        herd=() if verdict.kind == "diagnosis" else tuple(subject.herd),
        step="run" if run.step is UNSET else run.step,
    )
    return causes(facts, told, errors, setup)
