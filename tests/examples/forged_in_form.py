"""Forgeries of form, of policy and of time: what stands where, what is hidden, in which commit."""

from __future__ import annotations

import dataclasses
import hashlib
import shutil

from msgspec.structs import replace

from registry_tool.planning.search import search
from registry_tool.records import canonical, catalog
from registry_tool.records.record import Waiver
from registry_tool.records.verdict import Verdict
from registry_tool.verifier.artifact import run_id
from tests.baseline import samples
from tests.examples import cases
from tests.examples.build import GEMM, SMALL, Row, make_row, sealed
from tests.examples.example import POLICY
from tests.examples.forging import NEW, Forgery, Scene, fabricated
from tests.signing.world import line, sign

ANOTHER = "    lock: {path: /tmp/registry-tool-example-x.lock, limit_s: 60}\n"


def _vouched(scene: Scene, row: Row) -> None:
    """Put ``row``; somebody who may sign does, so that its signature is no matter here."""
    scene.put(row)
    if scene.is_signed:
        sign(scene.at, scene.alice, row)


def _target(scene: Scene, name: str, words: str = "") -> None:
    """A further, emulated target, after the others."""
    said = f"  {name}:\n    kind: emulated\n{words}{ANOTHER}"
    at = "npu.lock, limit_s: 60}\n"
    scene.at.edit("registry.yaml", at, f"{at}{said}")


def verdict_of_another_target(scene: Scene) -> None:
    for path, data in scene.row.evidence().items():
        scene.at.write({path.replace("npu2-emu", "npu2"): data})
    artifact = scene.row.artifact.replace("npu2-emu", "npu2")
    if scene.is_signed:
        genuine = scene.at.path(f"{scene.row.artifact}.sig").read_bytes()
        scene.at.write({f"{artifact}.sig": genuine})
    link = replace(scene.row.record.verdict, artifact=artifact)
    record = replace(scene.row.record, target="npu2", verdict=link)
    path = scene.row.id.record_path.replace("npu2-emu", "npu2")
    scene.at.write({path: canonical.encode(record)})
    scene.at.render()


def target_in_capitals(scene: Scene) -> None:
    _target(scene, "NPU2-EMU")
    _vouched(scene, make_row(catalog.built_in()[GEMM], NEW, "drain", "NPU2-EMU"))


def unsigned_target(scene: Scene) -> None:
    _target(scene, "npu2-lab", '    signing: "off"\n')
    scene.put(make_row(catalog.built_in()[GEMM], NEW, "drain", "npu2-lab"))


def excluded_signer(scene: Scene) -> None:
    """The line of the key excludes the only one whom it names."""
    scene.trust(f"alice@example.org,!alice@* {scene.alice.public}")


def revoked_keys_emptied(scene: Scene) -> None:
    both = line("alice", scene.alice), line("mallory", scene.mallory)
    scene.trust(*both, revoked=scene.mallory.public)
    scene.commit()
    scene.at.write({"signers/revoked_keys": ""})
    scene.put(fabricated())
    sign(scene.at, scene.mallory, fabricated())


def signed_in_another_registry(scene: Scene) -> None:
    """A genuine run that alice signed elsewhere, brought here with its signature."""
    _vouched(scene, fabricated())


def _with_log(scene: Scene, log: bytes) -> None:
    _vouched(scene, sealed(dataclasses.replace(fabricated(), log=log)))


def failing_run_above_the_passing_one(scene: Scene) -> None:
    log = fabricated().log
    _with_log(scene, log.replace(b"PASS!", b"FAIL! 3 elements differ") + log)


def failure_overwritten_on_the_terminal(scene: Scene) -> None:
    _with_log(scene, fabricated().log.replace(b"PASS!", b"FAIL! 3 elements differ\rPASS!"))


def middle_of_a_long_log_invented(scene: Scene) -> None:
    """Only head and tail of a long log are kept; the rest is a digest that nobody can check."""
    row = fabricated()
    kept = sealed(
        dataclasses.replace(row, log=row.log.replace(b"PASS!", b"[... left out ...]\nPASS!"))
    )
    run = kept.verdict.attempts[-1]
    log = replace(
        run.log, sha256="0" * 64, size=2 << 20, excerpt_sha256=hashlib.sha256(kept.log).hexdigest()
    )
    verdict: Verdict = replace(kept.verdict, attempts=[replace(run, log=log)])
    name = run_id(verdict)
    names = {
        "log": replace(log, name=f"{name}.log"),
        "err": replace(run.err, name=f"{name}.err"),
    }
    verdict = replace(verdict, run_id=name, attempts=[replace(run, **names)])
    scene.put(dataclasses.replace(kept, verdict=verdict))


def earlier_failure_not_told(scene: Scene) -> None:
    failed = cases.failed(fabricated(), "2025-12-31T00:00:00Z")
    scene.at.write(failed.evidence())
    scene.commit()
    scene.at.add(fabricated())
    scene.at.render()
    if scene.is_signed:
        sign(scene.at, scene.alice, fabricated())


def _failing_run(scene: Scene) -> None:
    scene.at.write(cases.failed(fabricated(), "2025-12-31T00:00:00Z").evidence())
    scene.commit()
    scene.at.git("tag", "-f", "start")


def earlier_failure_deleted_with_the_pass(scene: Scene) -> None:
    _failing_run(scene)
    _vouched(scene, fabricated())


def earlier_failure_deleted_first(scene: Scene) -> None:
    _failing_run(scene)
    shutil.rmtree(scene.at.path(fabricated().id.verdict_folder))
    scene.commit()
    _vouched(scene, fabricated())


def timing_log_edited(scene: Scene) -> None:
    row = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")
    _vouched(scene, row)
    log = next(scene.at.path(row.id.verdict_folder).glob("*.t1.log"))
    log.write_bytes(row.timings[0].replace(b"868.4", b"768.4"))


def link_for_a_verdict(scene: Scene) -> None:
    path = scene.at.path(scene.row.artifact)
    path.rename(scene.at.path("elsewhere.json"))
    path.symlink_to("../../../../elsewhere.json")


def submodule_for_the_verdicts(scene: Scene) -> None:
    folder = scene.at.path("verdicts")
    scene.at.git("rm", "-rq", "--cached", "verdicts")
    scene.at.git("init", "-q", cwd=folder)
    scene.at.git("add", "-A", cwd=folder)
    scene.at.git("commit", "-qm", "Elsewhere", cwd=folder)


def record_under_another_key(scene: Scene) -> None:
    path = scene.at.path(scene.row.id.record_path)
    path.rename(path.with_name(path.name.replace("2048x1024", "4096x1024")))
    scene.at.render()


def import_with_a_waiver(scene: Scene) -> None:
    waiver = Waiver(
        rule="KR103", reason="from a page", by="me", date="2026-01-01", expires="2099-01-01"
    )
    row = samples.imported(make_row(catalog.built_in()[GEMM], NEW, "drain"))
    scene.put(dataclasses.replace(row, waivers=(waiver,)))


def import_beside_a_baseline(scene: Scene) -> None:
    row = samples.imported(make_row(catalog.built_in()[GEMM], NEW, "drain"))
    scene.put(row)
    scene.commit()
    samples.adopt(scene.at, row)


def _small_herd(**words: object) -> Row:
    page = catalog.built_in()[GEMM]
    found = next(one for one in search(page, NEW, "drain") if list(one.herd) == [4, 4])
    row = make_row(page, NEW, "drain", tile=found.tile, herd=found.herd)
    return dataclasses.replace(row, **words)  # type: ignore[arg-type]


def waiver_with_the_row_that_needs_it(scene: Scene) -> None:
    waiver = Waiver(rule="KR202", reason="x", by="me", date="2026-01-01", expires="2099-01-01")
    _vouched(scene, _small_herd(waivers=(waiver,)))


def rule_lowered_first(scene: Scene) -> None:
    scene.at.edit("registry.yaml", "targets:", "rules: {KR202: off}\ntargets:")
    scene.commit()
    _vouched(scene, _small_herd())


def limit_raised_first(scene: Scene) -> None:
    kind = "    kind: hardware\n"
    scene.at.edit("registry.yaml", kind, f"{kind}    limits: {{gflops: 1.0e+9}}\n")
    scene.commit()
    row = make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")
    _vouched(scene, cases.sped_up(latency_us=50.0, gflops=85899.3)(row))


def fewer_timing_runs_first(scene: Scene) -> None:
    kind = "    kind: hardware\n"
    scene.at.edit("registry.yaml", kind, f"{kind}    timing_runs: 1\n")
    scene.commit()
    _vouched(scene, cases.cut_timings(make_row(catalog.built_in()[GEMM], SMALL, "drain", "npu2")))


def signing_turned_off_first(scene: Scene) -> None:
    scene.at.write({"registry.yaml": POLICY})
    scene.commit()
    scene.put(fabricated())


def own_page_that_allows_anything(scene: Scene) -> None:
    page = cases.BLIND.replace("summary: Copies", "summary: Really copies")
    scene.at.write({"kernels/Copy.yaml": page})
    row = make_row(catalog.parse_spec(page.encode(), "kernels/Copy.yaml", {}), {"N": 1024})
    _vouched(scene, row)


def lookup_of_an_unknown_target(scene: Scene) -> None:
    data = scene.at.path(f"details/{GEMM}.json").read_bytes()
    scene.at.write({f"details/npu3/{GEMM}.json": data})


def table_beside_the_generated_ones(scene: Scene) -> None:
    scene.at.write({"details/Others.md": "| Shape | Status |\n|---|---|\n| 9×9 | ✅ |\n"})


def invented_origin(scene: Scene) -> None:
    """What a row says of figures that nobody measured is in no verdict."""
    row = fabricated()
    _vouched(scene, row)
    record = replace(row.record, provenance={"tile": "inherited from npu1"})
    scene.at.write({row.id.record_path: canonical.encode(record)})
    scene.at.render()


def rule_of_signatures_turned_off(scene: Scene) -> None:
    scene.at.edit("registry.yaml", "targets:", "rules: {KR121: off}\ntargets:")
    scene.put(fabricated())


def strangers_signature_beside(scene: Scene) -> None:
    sign(scene.at, scene.mallory, scene.row, suffix=".01234567")


def logs_as_text(scene: Scene) -> None:
    """Line ends on disk that are not those of the blob."""
    scene.at.write({".gitattributes": "verdicts/** text eol=crlf\n"})


FORGED_IN_FORM = [
    Forgery(
        verdict_of_another_target, "a verdict of another target, signature and all, copied",
        "KR102 KR113", "KR102 KR113",
    ),
    Forgery(target_in_capitals, "a target that differs in its case alone", "KR006", "KR006"),
    Forgery(unsigned_target, "a new target that needs no signatures, with a row", "-", "KR110"),
    Forgery(excluded_signer, "a signer whom his own line excludes", "-", "KR123"),
    Forgery(
        revoked_keys_emptied, "the revoked keys emptied, with a row that one of them signs", "-",
        "KR110",
    ),
    Forgery(
        signed_in_another_registry, "a run that was signed in another registry", "-", ""
    ),
    Forgery(
        failing_run_above_the_passing_one, "a failing and a passing run in one log", "KR105",
        "KR105",
    ),
    Forgery(
        failure_overwritten_on_the_terminal, "a failure that a carriage return overwrites",
        "KR105", "KR105",
    ),
    Forgery(
        middle_of_a_long_log_invented, "the middle of a log above 1 MiB invented", "", "KR121"
    ),
    Forgery(
        earlier_failure_not_told, "a failing run of the same recipe kept silent", "KR115", "KR115"
    ),
    Forgery(
        earlier_failure_deleted_with_the_pass, "the same, and deleted with the new row", "KR115",
        "KR115",
    ),
    Forgery(
        earlier_failure_deleted_first, "the same, and deleted in a commit before the row", "", ""
    ),
    Forgery(timing_log_edited, "the log of a timing run edited", "KR105", "KR105"),
    Forgery(
        link_for_a_verdict, "a symbolic link in place of a verdict", "KR005 KR101 KR106",
        "KR005 KR101 KR106",
    ),
    Forgery(
        submodule_for_the_verdicts, "a submodule in place of the verdicts", "KR005 KR101 KR106",
        "KR005 KR101 KR106",
    ),
    Forgery(record_under_another_key, "a record under another key", "KR005 KR102", "KR005 KR102"),
    Forgery(import_with_a_waiver, "an invented import, with a waiver", "", ""),
    Forgery(import_beside_a_baseline, "the same, entered in a baseline by hand", "KR112", "KR112"),
    Forgery(
        waiver_with_the_row_that_needs_it, "a row that needs a waiver, with the waiver", "", ""
    ),
    Forgery(rule_lowered_first, "a rule lowered in a commit of its own, then the row", "", ""),
    Forgery(limit_raised_first, "a limit raised in a commit of its own, then the row", "", ""),
    Forgery(
        fewer_timing_runs_first, "fewer timing runs in a commit of their own, then the row", "", ""
    ),
    Forgery(
        signing_turned_off_first, "signing turned off in a commit of its own, then the row", "-", ""
    ),
    Forgery(own_page_that_allows_anything, "a new page that allows anything, with a row", "", ""),
    Forgery(
        lookup_of_an_unknown_target, "JSON for lookups of a target that is none", "KR301", "KR301"
    ),
    Forgery(
        table_beside_the_generated_ones, "a table by hand beside the generated ones", "", ""
    ),
    Forgery(invented_origin, "an invented origin (provenance) in a new row", "", ""),
    Forgery(
        rule_of_signatures_turned_off, "KR121 turned off, with a row", "KR110", "KR110 KR121"
    ),
    Forgery(
        strangers_signature_beside, "a stranger's signature beside one that counts", "-", ""
    ),
    Forgery(logs_as_text, "the logs called text in `.gitattributes`", "", ""),
]  # fmt: skip

IN_TWO_COMMITS = {
    earlier_failure_deleted_first: "KR115",
    rule_lowered_first: "KR110",
    limit_raised_first: "KR110",
    fewer_timing_runs_first: "KR110",
    signing_turned_off_first: "KR110",
}
"""What neither commit shows by itself, and the rule that refuses both as one change."""
