"""What is found only by looking beyond the files: today's sources, or a second run.

These rules have no check here: `rules.moved` and `recompute` make their findings, where the policy
or the command line asks for them.
"""

from __future__ import annotations

from registry_tool.rules.model import Rule

RULES = (
    Rule(
        id="KR131",
        title="stale evidence",
        summary="The harness, the kernel's sources or the toolchain have moved since the run that "
        "a row stands on. Asked for by the policy (`rules: {KR131: error}` or `warning`).",
        rationale="A row says what was true of the code that ran; of other code nobody knows.",
        fix="registry-tool verify --stale",
        severity="warning",
        waivable="always",
    ),
    Rule(
        id="KR132",
        title="another result",
        summary="A second run of an emulated verdict gives another status, other counts or other "
        "figures; or what a CPU can derive of a hardware verdict is not what it says. Looked for "
        "by `check --recompute`.",
        rationale="A forged figure can be made to fit its log and every digest; it cannot be made "
        "to come out again.",
        fix="VERIFY --force",
    ),
)
