"""Whether a harness knows the compile-only mode that its page names; not every tree does.

A Makefile that ignores the mode would run on the device, without the lock.
"""

from __future__ import annotations

import os
import re

from registry_tool.verifier.hardware import OUTER_MAKE
from registry_tool.verifier.job import Commands, Step
from registry_tool.verifier.machine.ask import ask
from registry_tool.verifier.streams import Stream

# What argparse and make say of a flag, a choice or a target that they do not have.
_UNKNOWN = re.compile(
    rb"unrecognized arguments: |invalid choice: '[^']*compile|No rule to make target"
)
_EDGE = 1 << 16


def is_honoured(commands: Commands) -> bool:
    """Whether the compile-only command does something else than the gated one, as `make -n` says.

    What is not run by make is not asked: it refuses a flag that it does not know.
    """
    compiling = commands.compile
    if compiling is None or compiling.command[0] != "make":
        return compiling is not None
    own, gated = _recipe(compiling), _recipe(commands.correctness)
    return own is not None and own != gated


def _recipe(step: Step) -> str | None:
    """What make would run for ``step``; None if it refuses."""
    if step.command[0] != "make":
        return None
    command = ["make", "-n", "-C", str(step.cwd), *step.command[1:]]
    answer = ask(command, {k: v for k, v in os.environ.items() if k not in OUTER_MAKE})
    return None if answer.failure is not None else answer.text


def is_unknown(out: Stream, err: Stream, exit_status: int | None) -> bool:
    """Whether a compile-only run ended because its script does not know the mode."""
    said = out.stored[-_EDGE:] + err.stored[-_EDGE:]
    return exit_status not in (0, None) and _UNKNOWN.search(said) is not None
