"""What a stored run says about itself: its logs, its contradictions, the marks of an emulation.

The only place of the gate that calls the verifier.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET

from registry_tool.records.spec import HarnessRun, KernelSpec
from registry_tool.records.verdict import Attempt, Output, StoredLog, Verdict
from registry_tool.rules.views import VerdictView

_DEVICES = (rb"Detected NPU device: *(\S+)", rb"Target device from AIR_TARGET_DEVICE: *(\S+)")
_EMULATED_LINE = rb"(?m)^Emulated target .*$"
_REFERENCE_LINE = rb"(?m)^\[reference\] Output .*$"
_EMULATOR = "registry_tool.emulator"


def disagreements(view: VerdictView) -> list[str]:
    """How the log of the deciding run differs from what the verdict says was printed."""
    attempts = view.verdict.attempts
    if not attempts or not view.elements or view.verdict.kind == "imported":
        return []
    if view.verdict.kind == "diagnosis":
        return _layers_disagree(view)
    log, err = (view.files[stored.name] for stored in (attempts[-1].log, attempts[-1].err))
    if _reads_back_plainly(view.verdict, log, err, view.elements):
        return []
    # Imported here: most checks of most registries need no more than the line above.
    from registry_tool.verifier.readback import read_back

    timings = [
        (view.files[run.log.name], view.files[run.err.name]) for run in view.verdict.profile or ()
    ]
    return read_back(view.verdict, log, err, view.elements, timings, _is_stateful(view))


def _is_stateful(view: VerdictView) -> bool:
    """Whether timing spoils the outputs, so that a timing run may end as a failure."""
    harness = None if view.spec is None else view.spec.harness.get(view.verdict.subject.target)
    return harness is not None and harness.stateful


def _layers_disagree(view: VerdictView) -> list[str]:
    """The same for the layers of a diagnosis, which prints a pass whatever it finds."""
    from registry_tool.verifier.logs.harness_log import parse
    from registry_tool.verifier.logs.judge import judge
    from registry_tool.verifier.logs.request import Request

    run, verdict = view.verdict.attempts[-1], view.verdict
    layers = None if verdict.layers is UNSET else verdict.layers
    wanted = Request(mode="diagnosis", target=verdict.subject.target, layers=layers)
    errors = parse(view.files[run.err.name])
    facts = parse(view.files[run.log.name])
    judgement = judge(facts, run.exit_status, run.timed_out, wanted, errors)
    if judgement.status == verdict.status:
        return []
    why = f" ({judgement.reason})" if judgement.reason else ""
    return [f"the log reads as {judgement.status}{why}, the verdict says {verdict.status}"]


_N = rb"([0-9]+(?:\.[0-9]+)?(?:e[+-][0-9]+)?)"
_OUTPUT = re.compile(
    rb"\[precision\] Output ([0-9]+) \(([0-9]+) elements\): mean_rel_L1=" + _N
    + rb" \| rel_err max=" + _N + rb" \| abs_err max=" + _N + rb" \| rtol=" + _N + rb" atol=" + _N
    + rb"\n\[reference\] Output \1: zero_share=" + _N + rb"\n"
)  # fmt: skip


# Word for word what the emulated harness prints: anything else in the line may speak against it.
_FIRST = b"Emulated target %s: numerics of the kernels in NumPy, not a device run.\n"


def _reads_back_plainly(verdict: Verdict, log: bytes, err: bytes, elements: Sequence[int]) -> bool:
    """Whether this is a plain emulated pass that says just what the verdict does.

    Most logs are, and `read_back` takes ten times as long to come to the same; whatever is not
    plain to see is left to it.
    """
    run, gate, target = verdict.attempts[-1], verdict.gate, verdict.subject.target
    first, start = _FIRST % target.encode(), f"Detected NPU device: {target}\n".encode()
    at = len(first)
    if (
        err
        or verdict.status != "pass"
        or run.exit_status != 0
        or run.timed_out
        or verdict.performance is not None
        or not log.startswith(first)
        or not log.startswith(start, at)
    ):
        return False
    at += len(start)
    shares: list[float] = []
    for output, wanted in zip(verdict.outputs, elements, strict=False):
        match = _OUTPUT.match(log, at)
        if match is None:
            return False
        index, count, *figures = match.groups()
        mean, max_rel, max_abs, rtol, atol, share = map(float, figures)
        said = (output.index, output.elements, output.mean_rel_L1, output.max_rel, output.max_abs)
        if (
            said != (int(index), int(count), mean, max_rel, max_abs)
            or (output.rtol, output.atol) != (rtol, atol)
            or output.index != len(shares)
            or output.elements != wanted
            or not (rtol <= gate.rtol and atol <= gate.atol and mean < _HOPELESS)
            or not (gate.band is None or gate.band.low <= mean <= gate.band.high)
        ):
            return False
        shares.append(share)
        at = match.end()
    return (
        len(shares) == len(elements) == len(verdict.outputs)
        and min(shares) == gate.zero_share
        and log[at:] == b"PASS!\n"
    )


# The judge calls more than this no result at all.
_HOPELESS = 0.5


def expected_run_id(view: VerdictView) -> str:
    """The run id that the content of the verdict gives."""
    verdict = view.verdict
    # What is digested has zeros where the run id stands now, in its file names too.
    started = verdict.attempts[0].started if verdict.attempts else ""
    unnamed = view.data.replace(verdict.run_id.encode(), _NO_RUN_ID)
    moment = started.replace("-", "").replace(":", "")
    name = f"{moment}-{hashlib.sha256(unnamed).hexdigest()[:8]}"
    if name == verdict.run_id or not verdict.attempts:
        return verdict.run_id
    from registry_tool.verifier import artifact

    return artifact.run_id(verdict)


_NO_RUN_ID = b"00000000T000000Z-00000000"


def other_command(view: VerdictView) -> str | None:
    """What the command of a run lacks of the verdict's subject, or None."""
    subject, spec = view.verdict.subject, view.spec
    if not view.verdict.attempts or spec is None:
        return None
    command = " ".join([*view.verdict.attempts[-1].command, ""])
    if _EMULATOR not in command:
        return _other_hardware_command(view, spec)
    wanted = [f" {_EMULATOR} {' '.join([subject.kernel, *_pairs(subject.shape)])} "]
    wanted += [f" --variant {subject.variant} "] if subject.variant else []
    wanted += [f" --tile {','.join(_pairs(subject.tile))} "] if subject.tile else []
    wanted += [f" --herd {'x'.join(map(str, subject.herd))} "]
    for words in wanted:
        if words not in command:
            return f"{words.strip()!r} is not in it"
    own = re.search(_OWN_EMULATOR, command) if ".py:" in command else None
    if own is not None and own[1] != f"kernels/{spec.emulator}":
        return f"it runs {own[1]}, the kernel's page names {spec.emulator}"
    return None


def _other_hardware_command(view: VerdictView, spec: KernelSpec) -> str | None:
    """What the commands of a hardware run lack: every size that its page hands to the harness.

    Sizes are sought as numbers, wherever they stand: a page may come to call its flags otherwise.
    """
    verdict = view.verdict
    harness = spec.harness.get(verdict.subject.target)
    target = view.context.target(verdict.subject.target)
    if verdict.kind != "harness" or harness is None or target is None or target.kind != "hardware":
        return None
    gated = [] if verdict.attempts[-1].step is not UNSET else [verdict.attempts[-1]]
    compiled = [] if verdict.compile is UNSET else [verdict.compile]
    for template, runs in (
        (harness.correctness, gated),
        (harness.timing, verdict.profile or []),
        (harness.compile, compiled),
    ):
        for run in runs:
            words = _lacks(run, template, verdict, spec)
            if words is not None:
                return words
    return None


def _lacks(
    run: Attempt, template: HarnessRun | None, verdict: Verdict, spec: KernelSpec
) -> str | None:
    if template is None:
        return None
    subject, asked = verdict.subject, " ".join(template.command)
    herd = dict(zip(spec.herd, subject.herd, strict=False))
    said = " ".join(run.command)
    for name, size in {**subject.shape, **subject.tile, **herd}.items():
        if f"{{{name}}}" in asked and not re.search(rf"(?<!\d){size}(?!\d)", said):
            return f"{name}={size} is not in it"
    takes_variant = "{variant}" in asked or ("{method}" in asked and subject.precision != "low")
    if takes_variant and subject.variant is not None and subject.variant not in said:
        return f"the variant {subject.variant} is not in it"
    if "{peano}" in asked and "$PEANO_INSTALL_DIR" not in said:
        return "PEANO_INSTALL_DIR is not in it"
    return None


_OWN_EMULATOR = r"(\S+\.py:\S+)"


def _pairs(sizes: Mapping[str, int]) -> list[str]:
    return [f"{name}={size}" for name, size in sizes.items()]


def stored_wrong(stored: StoredLog, data: bytes) -> str | None:
    """Why ``data`` is not the stream that the verdict names, or None."""
    if stored.excerpt_sha256 is not None:
        from registry_tool.verifier.streams import STORED_WHOLE

        if stored.size <= STORED_WHOLE:
            return f"only an excerpt is stored of {stored.size} bytes, which would fit"
    wanted = stored.excerpt_sha256 or stored.sha256
    found = hashlib.sha256(data).hexdigest()
    if found != wanted:
        return f"its SHA-256 is {found[:12]}…, the verdict says {wanted[:12]}…"
    if stored.excerpt_sha256 is None and len(data) != stored.size:
        return f"it has {len(data)} bytes, the verdict says {stored.size}"
    return None


def contradictions(view: VerdictView) -> Iterator[tuple[str, str]]:
    """Pointer and words for everything in a verdict that its own `pass` cannot be true with."""
    verdict, elements = view.verdict, view.elements
    if verdict.reason is not None:
        yield "/reason", f"it gives a reason why it is none: {verdict.reason}"
    if verdict.kind == "imported":
        yield "/kind", "it was imported: nobody ran it"
        return
    if not verdict.attempts:
        yield "/attempts", "it names no run"
    yield from _roles(verdict)
    if verdict.attempts:
        yield from _run(verdict.attempts[-1], f"/attempts/{len(verdict.attempts) - 1}", "its run")
    if verdict.performance is not None:
        for at, run in enumerate(verdict.profile or ()):
            spoiled = _is_stateful(view)
            yield from _run(run, f"/profile/{at}", "its timing run", any_status=spoiled)
    if verdict.kind == "harness":
        yield from _outputs(verdict.outputs, elements)
    elif verdict.outputs:
        yield "/outputs", "a diagnosis has no figures of outputs"


def _roles(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """What a verdict that passed cannot say of itself and its runs."""
    if verdict.canary is not UNSET:
        yield "/canary", "it only tried the device, and was not held to its timing runs"
    if verdict.places is not UNSET:
        yield "/places", "it says that the configuration does not place"
    if not verdict.attempts:
        return
    last = verdict.attempts[-1]
    if last.step is not UNSET:
        yield f"/attempts/{len(verdict.attempts) - 1}/step", f"its deciding run was a {last.step}"
    for at, run in enumerate(verdict.profile or ()):
        if run.step != "timing":
            yield f"/profile/{at}/step", "a run of its profile was no timing run"
        if run.started < last.started:
            yield f"/profile/{at}/started", "a timing run started before the gated one"
    if verdict.compile is not UNSET and verdict.compile.step != "compile":
        yield "/compile/step", "its compile-only run was none"
    around = verdict.environment
    for name in ("host", "device", "driver", "firmware", "power_mode", "platform_profile"):
        fact = getattr(around, name)
        if fact.value is None and fact.reason is None:
            yield f"/environment/{name}", f"it says neither {name} nor why it is unknown"


def _run(
    run: Attempt, pointer: str, name: str, any_status: bool = False
) -> Iterator[tuple[str, str]]:
    if run.timed_out:
        yield f"{pointer}/timed_out", f"{name} was ended by the time limit"
    if run.exit_status != 0 and not any_status:
        yield f"{pointer}/exit_status", f"{name} ended with status {run.exit_status}"
    if run.status != "pass":
        yield f"{pointer}/status", f"{name} proved only {run.status!r}"
    if "--inject" in " ".join(run.command):
        yield f"{pointer}/command", f"{name} was made with an injected fault"


def _outputs(outputs: list[Output], elements: Sequence[int]) -> Iterator[tuple[str, str]]:
    indices = sorted(output.index for output in outputs)
    if indices != list(range(len(elements))):
        found = ", ".join(map(str, indices)) or "none"
        yield "/outputs", f"it has the outputs {found}; the kernel writes {len(elements)}"
        return
    for at, output in enumerate(outputs):
        if output.elements != elements[output.index]:
            yield (
                f"/outputs/{at}/elements",
                f"{output.elements} elements of output {output.index} were compared, "
                f"of {elements[output.index]}",
            )
        if None in (output.mean_rel_L1, output.max_abs, output.max_rel):
            yield f"/outputs/{at}", f"output {output.index} has a figure that is not finite"


def worst(verdict: Verdict) -> Output | None:
    """The output that a record's figures are those of."""
    return max(verdict.outputs, key=_badness, default=None)


def _badness(output: Output) -> tuple[float, float]:
    if output.mean_rel_L1 is None or output.max_abs is None:
        return math.inf, math.inf
    return output.mean_rel_L1, output.max_abs


def emulation_marks(view: VerdictView) -> Iterator[tuple[str, str]]:
    """Pointer and words for everything that says that no hardware ran this."""
    verdict = view.verdict
    for at, run in enumerate(verdict.attempts):
        if any(_EMULATOR in word for word in run.command):
            yield f"/attempts/{at}/command", f"its command runs {_EMULATOR}"
            break
    device = verdict.environment.device.value
    if device is not None and device.endswith("-emu"):
        yield "/environment/device/value", f"its device is {device}"
    for pattern in (_EMULATED_LINE, _REFERENCE_LINE):
        line = re.search(pattern, view.log or b"")
        if line is not None:
            text = line[0].decode("utf-8", "replace").strip()
            why = ", which only the emulator prints" if pattern is _REFERENCE_LINE else ""
            yield "/attempts", f"its log says {text!r}{why}"


def devices(log: bytes) -> list[str]:
    """The names of devices that a log prints, each once."""
    found = [name for pattern in _DEVICES for name in re.findall(pattern, log)]
    return [name.decode("utf-8", "replace") for name in dict.fromkeys(found)]
