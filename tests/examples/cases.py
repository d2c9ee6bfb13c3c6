"""A good and a bad example registry for each rule; `test_rules` runs them through the command.

Both start from one registry that is in order (`World`). The good one comes close to what its rule
refuses and is accepted; the bad one, made of it, is refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import shutil
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from registry_tool.planning.search import search
from registry_tool.records import canonical, catalog
from registry_tool.records.record import Record
from registry_tool.records.verdict import Band
from tests.baseline import samples
from tests.examples.build import GEMM, SMALL, Row, log_text, make_row, sealed, speed_text
from tests.examples.example import Example
from tests.signing import keyring
from tests.signing.keyring import SshKey
from tests.signing.world import line, sign, trust

PAGE = f"details/{GEMM}.md"
JSON = f"details/{GEMM}.json"
NPU_JSON = f"details/npu2/{GEMM}.json"
NEW = {"M": 4096, "K": 1024, "N": 1024}
NOTES = '"notes": []'


@dataclasses.dataclass
class World:
    """A committed registry in order: two emulated rows, and one shape measured by two methods."""

    at: Example
    row: Row
    other: Row
    fast: Row
    slow: Row


Step = Callable[[World], None]


class Case(NamedTuple):
    """What is done for the good example, and then to make a bad one of it.

    ``words`` follow `check`; ``says`` stands in the message of the finding.
    """

    rule: str
    good: Step
    bad: Step
    says: str
    words: tuple[str, ...] = ()


def nothing(world: World) -> None:
    """The registry as it is."""


def render(world: World) -> None:
    world.at.render()


def note(world: World) -> None:
    """A remark on a row: what people own may change."""
    world.at.edit(world.row.id.record_path, NOTES, '"notes": [\n    "a remark"\n  ]')
    world.at.render()


def edit(name: str, old: str, new: str) -> Step:
    return lambda world: world.at.edit(name, old, new)


def edit_row(old: str, new: str) -> Step:
    return lambda world: world.at.edit(world.row.id.record_path, old, new)


def edit_fast(old: str, new: str) -> Step:
    return lambda world: world.at.edit(world.fast.id.record_path, old, new)


def write(name: str, text: str) -> Step:
    return lambda world: world.at.write({name: text})


def void(_: object) -> None:
    return None


def replaced(which: str, change: Callable[[Row], Row]) -> Step:
    """Another row in the place of one, as a careful forger would write it."""

    def step(world: World) -> None:
        put(world.at, change(getattr(world, which)))

    return step


def from_sources(sources: dict[str, str]) -> Callable[[Row], Row]:
    """The row as if other files had run."""

    def change(row: Row) -> Row:
        return sealed(dataclasses.replace(row, verdict=replace(row.verdict, sources=sources)))

    return change


def put(example: Example, row: Row, record: Record | None = None) -> None:
    folder = example.path(row.id.verdict_folder)
    if folder.exists():
        shutil.rmtree(folder)
    example.write(row.files())
    if record is not None:
        example.write({row.id.record_path: canonical.encode(record)})
    example.render()


def forged(**changes: Any) -> Callable[[Row], Row]:
    """Other fields of a verdict, its log printed anew and every digest recomputed."""

    def change(row: Row) -> Row:
        verdict = replace(row.verdict, **changes)
        log = log_text(verdict, verdict.subject.target != "npu2")
        return sealed(dataclasses.replace(row, verdict=verdict, log=log))

    return change


def with_output(**changes: Any) -> Callable[[Row], Row]:
    return lambda row: forged(outputs=[replace(row.verdict.outputs[0], **changes)])(row)


def with_gate(**changes: Any) -> Callable[[Row], Row]:
    return lambda row: forged(gate=replace(row.verdict.gate, **changes))(row)


def with_run(**changes: Any) -> Callable[[Row], Row]:
    def change(row: Row) -> Row:
        run = replace(row.verdict.attempts[-1], **changes)
        verdict = replace(row.verdict, attempts=[run])
        return sealed(dataclasses.replace(row, verdict=verdict))

    return change


def sped_up(**changes: Any) -> Callable[[Row], Row]:
    """Another speed, in row, verdict and logs alike."""

    def change(row: Row) -> Row:
        assert row.verdict.performance is not None
        speed = replace(row.verdict.performance, **changes)
        verdict = replace(row.verdict, performance=speed)
        text = f"Detected NPU device: npu2\n{speed_text(speed)}\n".encode()
        timings = (text,) * len(row.timings)
        log = log_text(verdict, False)
        return sealed(dataclasses.replace(row, verdict=verdict, log=log, timings=timings))

    return change


def cut_timings(row: Row) -> Row:
    assert row.verdict.profile is not None
    assert row.verdict.performance is not None
    verdict = replace(
        row.verdict,
        profile=row.verdict.profile[:1],
        performance=replace(row.verdict.performance, spread=None),
    )
    return sealed(dataclasses.replace(row, verdict=verdict, timings=row.timings[:1]))


def failed(row: Row, started: str, **changes: Any) -> Row:
    """The same run, an element of which was wrong."""
    run = replace(row.verdict.attempts[-1], status="fail", exit_status=255, started=started)
    verdict = replace(
        row.verdict, status="fail", reason="one element", attempts=[run], profile=None,
        performance=None, **changes,
    )  # fmt: skip
    log = row.log.replace(b"PASS!", b"failed.")
    return sealed(dataclasses.replace(row, verdict=verdict, log=log, timings=()))


def earlier_failure(**changes: Any) -> Step:
    def step(world: World) -> None:
        world.at.write(failed(world.row, "2025-12-31T00:00:00Z", **changes).evidence())

    return step


def failing_row(world: World) -> None:
    """A row that cites a verdict of a run that failed."""
    mine = failed(world.row, world.row.verdict.attempts[0].started)
    passed = dataclasses.replace(mine, verdict=replace(mine.verdict, status="pass", reason=None))
    digest = hashlib.sha256(canonical.encode(mine.verdict)).hexdigest()
    link = replace(passed.record.verdict, status="fail", sha256=digest)
    shutil.rmtree(world.at.path(mine.id.verdict_folder))
    world.at.write(mine.evidence())
    world.at.write({mine.id.record_path: canonical.encode(replace(passed.record, verdict=link))})
    world.at.render()


def added(*rows: Row) -> Step:
    return lambda world: (world.at.add(*rows), world.at.render())[1]


def new_row(**changes: Any) -> Row:
    return make_row(catalog.built_in()[GEMM], NEW, "drain", **changes)


def without_verdict(world: World) -> None:
    mine = new_row()
    world.at.path(mine.artifact).unlink()


def copied_verdict(world: World) -> None:
    link = replace(world.row.record.verdict, artifact=world.other.artifact)
    record = replace(world.row.record, verdict=link)
    world.at.write({world.row.id.record_path: canonical.encode(record)})
    world.at.render()


def small_herd(*notes: str) -> Step:
    def step(world: World) -> None:
        page = catalog.built_in()[GEMM]
        found = next(one for one in search(page, SMALL, "drain") if list(one.herd) == [4, 4])
        mine = make_row(page, SMALL, "drain", tile=found.tile, herd=found.herd)
        put(world.at, dataclasses.replace(mine, notes=notes))

    return step


def illegal_tile(world: World) -> None:
    tile = {"tile_m": 64, "tile_k_l2": 256, "tile_k_l1": 48, "tile_n": 128}
    page = catalog.built_in()[GEMM]
    put(world.at, make_row(page, SMALL, "drain", tile=tile, herd=[8, 4]))


def adopted(world: World) -> None:
    samples.adopt(world.at, *samples.rows())
    world.at.commit("Adopt")


def changed_debt(world: World) -> None:
    mine, _ = samples.rows()
    world.at.edit(mine.id.record_path, '"max_abs": 0.000824', '"max_abs": 0.000624')
    world.at.render()


def grown_debt(world: World) -> None:
    third = samples.imported(
        make_row(catalog.built_in()[GEMM], {"M": 1024, "K": 1024, "N": 1024}, "drain")
    )
    samples.adopt(world.at, *samples.rows(), third)


def override(text: str) -> Step:
    return write(f"kernels/{GEMM}.yaml", f"schema_version: 1\nkernel: {GEMM}\n{text}")


TIGHT = "tolerances:\n  high: {rtol: 0.016, atol: 0.0015}\n  low: {rtol: 0.01, atol: 0.004}\n"
LOOSE = "tolerances:\n  high: {rtol: 0.1, atol: 0.0015}\n  low: {rtol: 0.016, atol: 0.004}\n"
OTHER_ORDER = "preference:\n  - {when: null, order: [fused-cast, drain, direct]}\n"

BLIND = """\
schema_version: 1
kernel: Copy
title: Copy
summary: Copies N elements.
source: this example
dims: [N]
shape_text: "{N}"
bound: memory
metric: gbps
tile: {}
herd:
  herd_x: {label: x, choices: [8]}
default_herd: [8]
tiles_target: 8
variants: {}
preference: []
constraints: []
known_bad: []
tolerances:
  any: {rtol: 1.6e-2, atol: 1.0e-1}
band: []
work: {flops: null, bytes: 4 * N}
outputs:
  - {name: y, elements: N}
order: [N]
columns:
  - {title: N, cell: shape}
  - {title: Status, cell: status}
emulator: elementwise:copy
"""


def own_kernel(share: float) -> Step:
    """A kernel of the registry's own, with a row whose gate zeros would fail by ``share``."""

    def step(world: World) -> None:
        world.at.write({"kernels/Copy.yaml": BLIND})
        mine = make_row(catalog.parse_spec(BLIND.encode(), "kernels/Copy.yaml", {}), {"N": 1024})
        put(world.at, with_gate(zero_share=share)(mine))

    return step


def cell_twice(world: World) -> None:
    """The line of a row a second time, below a checksum that fits."""
    from tests.rules.test_tables import resealed

    lines = world.at.path(PAGE).read_text().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if line.startswith("| 2048×1024×1024"))
    world.at.write({PAGE: "".join([*lines[: at + 1], lines[at], *lines[at + 1 :]])})
    resealed(world.at)


def value(words: str, text: str) -> Step:
    marked = f"<!-- registry:value {words} -->{text}<!-- /registry:value -->"
    return write("README.md", f"# Mine\n\nAll {marked} rows.\n")


def other_method(world: World) -> None:
    mine = make_row(catalog.built_in()[GEMM], SMALL, "fused-cast", second=9)
    world.at.add(mine)
    world.at.render()
    world.at.commit("Verify the other method")


def other_preference(world: World) -> None:
    override(OTHER_ORDER)(world)
    world.at.render()


def unmerged(world: World) -> None:
    world.at.git("checkout", "-q", "-b", "theirs")
    world.at.edit(world.row.id.record_path, NOTES, '"notes": [\n    "theirs"\n  ]')
    world.at.render()
    world.at.commit()
    world.at.git("checkout", "-q", "main")
    note(world)
    world.at.commit()
    assert world.at.try_git("merge", "theirs").returncode != 0


def relabelled_log(emulated: Row, measured: Row) -> Row:
    """An emulated run under the target and the command of a device, without its first line."""
    log = emulated.log.split(b"\n", 1)[1].replace(b"npu2-emu", b"npu2")
    gate = replace(measured.verdict.gate, zero_share=0.957, zero_share_reason=None)
    verdict = replace(
        measured.verdict, gate=gate, outputs=emulated.verdict.outputs, performance=None,
        profile=None,
    )  # fmt: skip
    return sealed(dataclasses.replace(measured, verdict=verdict, log=log, timings=()))


def relabelled(world: World) -> None:
    put(world.at, relabelled_log(world.row, world.fast))


def bad_commit(world: World) -> None:
    edit_row('"max_abs": 0.000824', '"max_abs": 0.000124')(world)
    render(world)
    world.at.commit("Improve")
    edit_row('"max_abs": 0.000124', '"max_abs": 0.000824')(world)
    render(world)
    world.at.commit("Take it back")


def good_commit(world: World) -> None:
    world.at.git("tag", "start")
    note(world)
    world.at.commit("Say more")


def slower_best(world: World) -> None:
    """The slower method as `best`, in what consumers read."""
    world.at.edit(NPU_JSON, '"high": "drain"', '"high": "fused-cast"')


def signed(level: str = "required") -> Step:
    """Alice may sign for every target, and signed all rows."""

    def step(world: World) -> None:
        alice = keyring.make(world.at.repo.parent, "alice")
        trust(world.at, line("alice", alice), level=level)
        sign(world.at, alice, *_rows(world))

    return step


def _rows(world: World) -> list[Row]:
    return [world.row, world.other, world.fast, world.slow]


def unsigned(world: World) -> None:
    world.at.path(f"{world.row.artifact}.sig").unlink()


def signature_of_another(world: World) -> None:
    data = world.at.path(f"{world.other.artifact}.sig").read_bytes()
    world.at.write({f"{world.row.artifact}.sig": data})


def signed_by_a_stranger(world: World) -> None:
    sign(world.at, keyring.make(world.at.repo.parent, "mallory"), world.row)


def trusting(options: str = "", revoked: str = "", roles: str = "") -> Step:
    """Alice signed; what is said of her key is this, ALICE standing for it."""

    def step(world: World) -> None:
        alice = SshKey(world.at.repo.parent / "alice")
        gone = revoked.replace("ALICE", alice.public)
        trust(world.at, line("alice", alice, options), revoked=gone, roles=roles)

    return step


CASES = (
    Case("KR001", nothing, edit_row("{", "{ not JSON"), "not JSON"),
    Case("KR002", nothing, edit_row(NOTES, f"{NOTES},\n  {NOTES}"), "'notes' stands twice"),
    Case("KR003", nothing, edit_row('"max_abs": 0.000824', '"max_abs": NaN'), "NaN"),
    Case("KR004", nothing, edit_row(NOTES, f'{NOTES},\n  "speed": 3'), "unknown key 'speed'"),
    Case("KR004", write("kernels/none.txt", "x\n"),
         edit("registry.yaml", "limit_s: 60", "limit_s: a"),
         "targets.npu2-emu.lock.limit_s: expected a whole number"),
    Case("KR005", note, lambda w: void(w.at.path(w.row.id.record_path).rename(
        w.at.path("records/npu2-emu/x.json"))), "only records/"),
    Case("KR006", note, edit_row('"used_by": []', '"used_by": [\n    {\n      "model": "Toy1B",\n'
         '      "site": "x"\n    }\n  ]'), "did you mean 'Toy-1B'"),
    Case("KR006", edit("registry.yaml", "targets:", "rules: {KR202: error}\ntargets:"),
         edit("registry.yaml", "KR202", "KR299"), "the rule 'KR299'"),
    Case("KR007", note,
         lambda w: w.at.write({PAGE: f"<<<<<<< HEAD\n{w.at.path(PAGE).read_text()}"}),
         "conflict marker"),
    Case("KR008", nothing, unmerged, "not finished", ("--staged",)),
    Case("KR009", nothing, edit_row(NOTES, '"notes":  []'), "not in canonical form"),
    Case("KR101", added(new_row()), without_verdict, "is not there"),
    Case("KR102", added(new_row()), copied_verdict, "not in the folder"),
    Case("KR103", earlier_failure(sources={"old.py": "0" * 64}), failing_row, "one element"),
    Case("KR104", note, replaced("row", with_gate(atol=0.01)),
         "atol=0.01"),
    Case("KR105", note, edit_row('"max_abs": 0.000824', '"max_abs": 0.000124'), "max_abs=0.000824"),
    Case("KR105", note, lambda w: w.at.edit(
        f"{w.row.id.verdict_folder}/{w.row.verdict.run_id}.log", "8.240e-04", "1.000e-04"),
         "SHA-256"),
    Case("KR106", note, lambda w: w.at.edit(w.row.artifact, '"seconds": 1.5', '"seconds": 0.5'),
         "edited after it was committed"),
    Case("KR107", note, relabelled, "[reference]"),
    Case("KR108", replaced("row", with_output(mean_rel_L1=9.6e-3)),
         replaced("row", with_output(mean_rel_L1=1e-4)), "too good"),
    Case("KR108", note,
         replaced("row", with_gate(band=Band(low=0.0, high=1.0))), "judged by the band 0 to 1"),
    Case("KR109", own_kernel(0.5), own_kernel(0.0), "zeros could pass"),
    Case("KR110", override(TIGHT), override(LOOSE), "rtol of the tier high"),
    Case("KR110", edit("registry.yaml", "targets:", "rules: {KR202: warning}\ntargets:"),
         small_herd(), "lowers KR202"),
    Case("KR110", edit("registry.yaml", "targets:", "rules: {KR202: off}\ntargets:"),
         edit("registry.yaml", "KR202", "KR105"), "cannot be lowered"),
    Case("KR111", adopted, changed_debt, "not as it was imported"),
    Case("KR112", adopted, grown_debt, "only ever shrinks"),
    Case("KR113", note, replaced("fast", cut_timings), "1 timing run"),
    Case("KR113", note, replaced("fast", forged(sources={})), "no file of the harness"),
    Case("KR114", replaced("row", with_run(seconds=0.001)), replaced("row", with_run(seconds=0.0)),
         "no time at all"),
    Case("KR114", note, lambda w: w.at.write(
        failed(w.row, "2999-01-01T00:00:00Z", sources={"x.py": "0" * 64}).evidence()),
         "still to come"),
    Case("KR115", earlier_failure(sources={"old.py": "0" * 64}), earlier_failure(),
         "a run of this very recipe"),
    Case("KR121", signed("optional"), lambda w: (unsigned(w), trusting()(w))[1], "no signature"),
    Case("KR121", signed(), unsigned, "no signature"),
    Case("KR122", signed(), signature_of_another, "not made over these bytes"),
    Case("KR123", signed(), signed_by_a_stranger, "not among the allowed signers"),
    Case("KR124", signed(), trusting('valid-before="20251231"'), "was valid until 2025-12-31"),
    Case("KR125", signed(), trusting(revoked="ALICE"), "is revoked"),
    Case("KR126", signed(), trusting(roles="{alice@example.org: [npu2-emu]}"),
         "may not sign for npu2"),
    Case("KR131", edit("registry.yaml", "targets:", "rules: {KR131: error}\ntargets:"),
         replaced("row", from_sources({"registry_tool/emulator/numerics.py": "0" * 64})),
         "changed since: registry_tool/emulator/numerics.py"),
    Case("KR132", nothing, note, "a second run disagrees", ("--recompute",)),
    Case("KR201", note, edit_row('"tiles_in_flight": 32', '"tiles_in_flight": 64'), "32 tiles"),
    Case("KR202", small_herd("8x4 hangs on driver 1.2"), small_herd(), "8×4"),
    Case("KR203", note, illegal_tile, "does not hold"),
    Case("KR301", note, edit_row('"a remark"', '"another"'), "not what the rows render to"),
    Case("KR302", write("README.md", "| 9×9 |\n"), edit(PAGE, "| 8×4 |", "| 9×9 |"),
         "edited by hand"),
    Case("KR303", note, lambda w: w.at.edit(PAGE, "<!-- registry:end", "<!-- registry:ending"),
         "marker"),
    Case("KR304", note, cell_twice, "a second time"),
    Case("KR305", value(f"count kernel={GEMM}", "2"), value(f"count kernel={GEMM}", "7"), "'7'"),
    Case("KR306", value(f"count kernel={GEMM}", "2"), value("guess", "7"), "guess"),
    Case("KR401", note, slower_best, "'drain' has"),
    Case("KR402", other_method, other_preference, "method=drain"),
    Case("KR501", replaced("fast", sped_up(gflops=5000.0)),
         replaced("fast", sped_up(gflops=5200.0)),
         "5.1% off"),
    Case("KR502", replaced("fast", sped_up(latency_us=100.0, gflops=42949.7)),
         replaced("fast", sped_up(latency_us=50.0, gflops=85899.3)), "more than npu2 can do"),
    Case("KR601", note,
         edit_fast('"provenance": {}', '"provenance": {\n    "tile": "by hand"\n  }'),
         "same run as before"),
    Case("KR602", good_commit, bad_commit, "(Improve): KR105", ("--range", "start..HEAD")),
)  # fmt: skip
