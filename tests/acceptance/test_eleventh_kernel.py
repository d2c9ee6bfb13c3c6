"""Adding a kernel touches its YAML and an emulator function, both in the registry's own folder."""

from __future__ import annotations

import json

from tests.acceptance.world import World

SPEC = """\
schema_version: 1
kernel: Softmax_bf16
title: Softmax (BF16)
summary: Row-wise softmax over N, one bf16 rounding at the end.
source: this registry
dims: [M, N]
shape_text: "{M}×{N}"
bound: memory
metric: gbps
tile: {}
herd:
  herd_x: {label: x, choices: [8, 4, 2, 1]}
default_herd: [8]
tiles_target: 8
variants: {}
preference: []
constraints:
  - {id: rows, when: null, holds: M % herd_x == 0, kind: hard, reason: each column owns whole rows}
known_bad: []
tolerances:
  any: {rtol: 1.6e-2, atol: 1.0e-3}
band:
  - {when: null, low: "1.0e-3", high: "6.0e-3", source: truncation to bf16}
work: {flops: null, bytes: 4 * M * N}
outputs:
  - {name: y, elements: M * N}
order: [M, N]
columns:
  - {title: M×N, cell: shape}
  - {title: herd, cell: herd}
  - {title: tiles, cell: tiles}
  - {title: bandwidth, cell: performance}
  - {title: mean_rel_L1, cell: mean_rel_L1}
  - {title: Status, cell: status}
emulator: Softmax_bf16.py:softmax
"""

EMULATOR = '''\
"""Softmax as a device without a rounding mode would leave it: one truncation to bf16."""

from collections.abc import Iterator

import numpy as np

from registry_tool.emulator.case import Block, Case


def softmax(case: Case) -> Iterator[Block]:
    x = np.random.default_rng(0).standard_normal((case.shape["M"], case.shape["N"]), np.float32)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    y = (e / e.sum(axis=1, keepdims=True)).astype(np.float32)
    out = (y.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    yield Block(out=out, ref=y)
'''


def add_kernel(world: World) -> None:
    folder = world.registry / "kernels"
    folder.mkdir(exist_ok=True)
    (folder / "Softmax_bf16.yaml").write_text(SPEC)
    (folder / "Softmax_bf16.py").write_text(EMULATOR)
    world.git("add", "kernels")


def test_a_registry_adds_a_kernel_with_a_yaml_and_a_function(hooked: World) -> None:
    add_kernel(hooked)
    hooked.ok("verify", "--kernel", "Softmax_bf16", "--shape", "M=64,N=256")
    done = hooked.commit("-m", "Add softmax")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = hooked.records()
    assert json.loads(path.read_bytes())["kernel"] == "Softmax_bf16"
    assert "64×256" in (hooked.registry / "details/Softmax_bf16.md").read_text()
    assert "Softmax" in (hooked.registry / "supported_kernels.md").read_text()
    found = hooked.json("lookup", "Softmax_bf16", "M=64", "N=256")
    assert found["emulated"] is True
    assert hooked.json("emulate", "Softmax_bf16", "M=64", "N=256")["status"] == "pass"


def test_the_rules_hold_for_it_too(hooked: World) -> None:
    add_kernel(hooked)
    hooked.ok("verify", "--kernel", "Softmax_bf16", "--shape", "M=64,N=256")
    (path,) = hooked.records()
    path.write_text(path.read_text().replace('"mean_rel_L1": 0.00', '"mean_rel_L1": 0.000'))
    hooked.git("add", ".")
    findings = hooked.json("check", "--staged", status=1)["findings"]
    assert "KR105" in {finding["rule"] for finding in findings}


def test_a_broken_spec_names_its_line(world: World) -> None:
    folder = world.registry / "kernels"
    folder.mkdir()
    (folder / "Softmax_bf16.yaml").write_text(SPEC.replace("tiles_target: 8", "tiles_target: none"))
    done = world.tool("verify", "--kernel", "Softmax_bf16", "--shape", "M=64,N=256")
    assert done.returncode == 2
    assert "Softmax_bf16.yaml:14" in done.stderr
