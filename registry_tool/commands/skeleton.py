"""The files of a new registry, as text: policy, git attributes, ignored names."""

from __future__ import annotations

from registry_tool.merging import drivers

POLICY_TEXT = """\
# yaml-language-server: $schema=schemas/registry-1.schema.json
# The targets of this registry: the first one is shown in the pages, the JSON files and the shim.
schema_version: 1
targets:
  npu2-emu:
    kind: emulated          # numerics only: it never stands in for hardware
    lock: {path: /tmp/registry-tool-npu2-emu.lock, limit_s: 1800}
    run_limit_s: 1800
    jobs: 2                 # runs side by side with `verify --jobs 2`
  npu2:
    kind: hardware
    lock: {path: /tmp/mlir-air-npu.lock, limit_s: 1800}
    harness_root: null      # the folder programming_examples/ of the harness tree; then: doctor
    harness_lock: npu.lock  # what the harnesses lock themselves, below TMPDIR: never lock.path
    compile_limit_s: 600    # compile-only runs, without the lock
    run_limit_s: 1800
    timing_runs: 3          # a row's speed is their median
    jobs: 1
signing: "off"            # optional, required: see docs/trust.md
"""

ATTRIBUTES = (
    """\
# Captured streams are evidence: no tool may change a byte of them.
verdicts/** -text -whitespace
signers/** -text -whitespace
records/** text eol=lf
models/** text eol=lf
schemas/** text eol=lf
baseline.json text eol=lf
"""
    + drivers.ATTRIBUTES
)

IGNORE = """\
# Verdict logs and signatures are evidence, whatever else ignores *.log or *.sig.
!verdicts/**/*.log
!verdicts/**/*.err
!verdicts/**/*.sig
.*.tmp
__pycache__/
"""
