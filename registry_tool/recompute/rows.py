"""Which verdicts of a state are computed again, and what then differs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from registry_tool.errors import ToolError
from registry_tool.recompute import again, compare
from registry_tool.records import canonical, kernel
from registry_tool.records.keys import RowId, parse_record_path, parse_verdict_path
from registry_tool.records.spec import KernelSpec, Tolerance
from registry_tool.records.verdict import Verdict
from registry_tool.rules.catalog import BY_ID
from registry_tool.rules.finding import Finding
from registry_tool.rules.gate import ALL_ZERO, SEEN
from registry_tool.rules.judging import Site, place
from registry_tool.rules.model import Complaint
from registry_tool.store.extracted import own_emulators
from registry_tool.store.registry import Registry
from registry_tool.store.snapshot import Snapshot

RULE = "KR132"
_DECIDED = ("pass", "fail")
"""What the numbers decide; how else a run ended says something of a machine."""

Announce = Callable[[str], None]


@dataclass(frozen=True)
class Recomputed:
    """What was found, how many verdicts ran again or were derived again, and which were not."""

    findings: tuple[Finding, ...]
    emulated: int
    derived: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class _Piece:
    """One verdict to be computed again."""

    path: str
    row: RowId
    verdict: Verdict
    spec: KernelSpec
    data: bytes


def recompute(registry: Registry, paths: Iterable[str], announce: Announce) -> Recomputed:
    """Compute the verdicts at ``paths`` again, several side by side as their targets allow.

    Those that can't be read are left to the gate. Raises KeyError for a path that is not there.
    """
    pieces, left_out = _pieces(registry, sorted(paths))
    jobs = max((registry.target(piece.row.target).jobs for piece in pieces), default=1)
    stop = threading.Event()
    with own_emulators(registry.snapshot) as root:

        def one(piece: _Piece) -> list[Finding]:
            announce(f"{piece.row}: computing {piece.verdict.run_id} again")
            return _findings(registry, piece, root, stop)

        pool = ThreadPoolExecutor(jobs)
        try:
            found = [finding for some in pool.map(one, pieces) for finding in some]
        finally:
            # Ctrl-C reaches only the main thread; the runs of the others are asked to stop.
            stop.set()
            pool.shutdown(cancel_futures=True)
    emulated = sum(registry.target(piece.row.target).kind == "emulated" for piece in pieces)
    return Recomputed(tuple(found), emulated, len(pieces) - emulated, tuple(left_out))


def touched(snapshot: Snapshot, names: Iterable[str]) -> set[str]:
    """The verdicts that a change of the files ``names`` rests on.

    Each verdict that is new or changed itself, and the one that each new or changed row cites.
    """
    from registry_tool.records.record import Record

    found, records = set(), []
    for name in names:
        if name not in snapshot.oids:
            continue
        if name.endswith(".json") and parse_verdict_path(name) is not None:
            found.add(name)
        elif parse_record_path(name) is not None:
            records.append(name)
    for data in snapshot.read_many(records).values():
        try:
            found.add(canonical.decode_lenient(data, Record).verdict.artifact)
        except ValueError:
            continue  # the gate complains of it
    return {path for path in found if path in snapshot.oids}


def every(snapshot: Snapshot) -> set[str]:
    """The verdicts that any row cites."""
    return touched(snapshot, [path for path in snapshot.oids if path.startswith("records/")])


def _pieces(registry: Registry, paths: list[str]) -> tuple[list[_Piece], list[str]]:
    pieces, left_out = [], []
    contents = registry.snapshot.read_many(paths)
    for path in paths:
        place_ = parse_verdict_path(path)
        try:
            verdict = canonical.decode_lenient(contents[path], Verdict)
        except ValueError:
            continue
        spec = registry.specs.get(verdict.subject.kernel)
        if place_ is None or spec is None or place_.row.target not in registry.policy.targets:
            continue
        why = _left_out(verdict, spec)
        if why:
            left_out.append(f"{path}: {why}")
            continue
        pieces.append(_Piece(path, place_.row, verdict, spec, contents[path]))
    return pieces, left_out


def _left_out(verdict: Verdict, spec: KernelSpec) -> str | None:
    if verdict.kind != "harness":
        return f"a verdict of the kind {verdict.kind} holds no run of the kernel"
    if verdict.status not in _DECIDED:
        return f"its status is {verdict.status}: it says something of the machine"
    if spec.emulator is None:
        return f"{spec.kernel} is not emulated"
    return None


def _findings(
    registry: Registry, piece: _Piece, root: Path, stop: threading.Event
) -> list[Finding]:
    target = registry.target(piece.row.target)
    gate = piece.verdict.gate
    tolerance = Tolerance(rtol=gate.rtol, atol=gate.atol)
    try:
        found = again.run(piece.verdict.subject, piece.spec, target, tolerance, root, stop)
    except ToolError as error:
        return [_finding(piece, Complaint(f"it cannot be computed again: {error}"))]
    if found.status not in _DECIDED:
        words = f"it cannot be computed again here: {found.status} ({found.reason})"
        return [_finding(piece, Complaint(words, "/status"))]
    judged = _of_emulation if target.kind == "emulated" else _of_hardware
    return [_finding(piece, complaint) for complaint in judged(piece, found)]


def _of_emulation(piece: _Piece, found: again.Again) -> Iterator[Complaint]:
    verdict = piece.verdict
    if found.status != verdict.status:
        why = f" ({found.reason})" if found.reason else ""
        yield Complaint(
            f"the verdict says {verdict.status}, a second run {found.status}{why}", "/status"
        )
    for words in compare.differences(verdict.subject.kernel, verdict.outputs, found.outputs):
        yield Complaint(f"a second run disagrees: {words}", "/outputs")
    said, now = verdict.gate.zero_share, found.zero_share
    if said != now and (said is None or now is None or abs(said - now) > compare.SAME_DRAWS):
        yield Complaint(f"zero_share is {said} in the verdict, {now} now", "/gate/zero_share")


def _of_hardware(piece: _Piece, found: again.Again) -> Iterator[Complaint]:
    """What the emulation's reference says of a device's run: its own numbers are another matter."""
    verdict = piece.verdict
    said, now = verdict.gate.zero_share, found.zero_share
    if now is None:
        return
    if verdict.status == "pass" and now < SEEN and not _band_sees_zeros(piece):
        yield Complaint(
            f"an output of zeros would have passed on the device: it fails {now:.2%} of the "
            "elements, as computed here, and the page gives no band",
            "/gate/zero_share",
            fix="give the kernel's page a band (kernels/KERNEL.yaml), or a smaller atol",
        )
    if said is not None and abs(said - now) > compare.ZERO_SHARE:
        yield Complaint(
            f"zero_share is {said} in the verdict; inputs drawn like the harness's give {now}",
            "/gate/zero_share",
        )
    counts = [output.elements for output in verdict.outputs]
    expected = [output.elements for output in found.outputs]
    if verdict.status == "pass" and expected and counts != expected:
        yield Complaint(f"it compared {counts} elements; the shape has {expected}", "/outputs")


def _band_sees_zeros(piece: _Piece) -> bool:
    ran = piece.verdict.subject
    band = kernel.band(piece.spec, ran.shape, ran.variant, ran.tile, ran.herd)
    return band is not None and band.high < ALL_ZERO


def _finding(piece: _Piece, complaint: Complaint) -> Finding:
    site = Site(piece.path, str(piece.row), {piece.path: piece.data}, piece.verdict.subject)
    return place(BY_ID[RULE], complaint, site)
