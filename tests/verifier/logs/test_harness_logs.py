"""Every log of the reference material gives the status and the figures beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from registry_tool.verifier.diagnose import causes
from registry_tool.verifier.logs.harness_log import parse
from registry_tool.verifier.logs.judge import judge
from registry_tool.verifier.logs.request import Request
from tests.shared_data import SHARED, shared

FOLDER = "harness_logs"
CASES = sorted(path.stem for path in (SHARED / FOLDER).glob("*.txt")) or ["absent"]
# Words of the causes that the expectations give in words of their own.
WORDS = {
    "02": "edge of atol",
    "03": "NaN",
    "10": "pyxrt",
    "17": "k_split",
    "18": "buffer descriptors",
    "19": "tile_m",
    "20": "timed out",
    "21": "herd_n = 1",
    "22": "tile_k_l2",
    "23": "N % (tile_n * herd_n)",
    "33": "all-zero",
    "34": "lock",
    "35": "device generation",
}


@pytest.mark.parametrize("case", CASES)
def test_the_log_gives_what_is_expected(case: str) -> None:
    folder = shared(FOLDER)
    asked = json.loads(Path(folder, f"{case}.expected.json").read_bytes())
    requested, process, expected = asked["requested"], asked["process"], asked["expected"]
    elements = requested.get("elements")
    request = Request(
        elements=None if elements is None else (elements,),
        outputs=requested.get("outputs"),
        rtol=requested.get("rtol"),
        atol=requested.get("atol"),
        target=requested.get("target"),
        mode="diagnosis" if requested.get("mode") == "diagnosis" else "harness",
    )
    facts = parse(Path(folder, f"{case}.txt").read_bytes())
    judgement = judge(facts, process["exit_code"], process["timed_out"], request)

    assert judgement.status == expected["status"]
    assert (judgement.reason is None) == (judgement.status == "pass")
    if "outputs" in expected:
        read = {
            output.index: (
                output.elements,
                output.mean_rel_L1,
                output.max_rel,
                output.max_abs,
                output.rtol,
                output.atol,
            )
            for output in judgement.outputs
        }
        assert read == {o["index"]: tuple(list(o.values())[1:]) for o in expected["outputs"]}
    if "headline_mean_rel_L1" in expected:
        assert judgement.worst is not None
        assert judgement.worst.mean_rel_L1 == expected["headline_mean_rel_L1"]
    if "latency_us" in expected:
        assert judgement.latency_us == expected["latency_us"]
    if "throughput_gflops" in expected:
        assert judgement.gflops == expected["throughput_gflops"]
    if "mismatches" in expected:
        assert [found.count for found in facts.mismatches] == [expected["mismatches"]]
    if "cliff_layer" in expected:
        assert f"layer {expected['cliff_layer']} " in (judgement.reason or "")
    found = causes(facts, judgement)
    assert bool(found) == (judgement.status != "pass")
    if case[:2] in WORDS:
        text = " ".join(f"{cause.symptom} {cause.likely} {cause.look_at}" for cause in found)
        assert WORDS[case[:2]] in text


@pytest.mark.parametrize("case", CASES)
def test_without_an_exit_status_nothing_passes(case: str) -> None:
    facts = parse(Path(shared(FOLDER), f"{case}.txt").read_bytes())
    assert judge(facts, None, False, Request()).status != "pass"
