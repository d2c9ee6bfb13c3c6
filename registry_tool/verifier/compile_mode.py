"""Whether a harness knows the compile-only mode that its page names; not every tree does.

A harness that ignores the mode would run on the device, without the lock. So it must be seen that
the mode reaches a script, before; and what printed figures all the same did run, whatever it was
asked for.
"""

from __future__ import annotations

import os
import re

from registry_tool.verifier import makefile_text
from registry_tool.verifier.hardware import OUTER_MAKE
from registry_tool.verifier.job import Commands, Step
from registry_tool.verifier.machine.ask import ask
from registry_tool.verifier.streams import Stream

# What argparse and make say of a flag, a choice or a target that they do not have.
_UNKNOWN = re.compile(
    rb"unrecognized arguments: |invalid choice: '[^']*compile|No rule to make target"
)
_EDGE = 1 << 16
_SAYS_ONLY = re.compile(r"\s*[@-]*\s*(?:echo|printf)\b")


def is_honoured(commands: Commands) -> bool:
    """Whether the compile-only mode reaches a script, as far as that can be seen before a run.

    What is not run by make is not asked: a script refuses a flag that it does not know.
    """
    compiling = commands.compile
    if compiling is None or compiling.command[0] != "make":
        return compiling is not None
    given = [name for word in compiling.command if (name := word.partition("=")[0]) != word]
    if makefile_text.runs_anyway(compiling.cwd, os.environ, given) is not None:
        return False  # make would not only print it
    own, gated = _words(compiling), _words(commands.correctness)
    return any("compile" in word for word in own - gated)


def _words(step: Step) -> set[str]:
    """The words of what make would start for ``step``; none if it refuses."""
    if step.command[0] != "make":
        return set()
    command = ["make", "-n", "-C", str(step.cwd), *step.command[1:]]
    answer = ask(command, {k: v for k, v in os.environ.items() if k not in OUTER_MAKE})
    if answer.failure is not None:
        return set()
    lines = answer.text.replace("\\\n", " ").splitlines()
    return {word for line in lines if not _SAYS_ONLY.match(line) for word in line.split()}


def is_unknown(out: Stream, err: Stream, exit_status: int | None) -> bool:
    """Whether a compile-only run was none: its script refused the mode, or ran all the same."""
    if out.facts.outputs or out.facts.timings or out.facts.has("pass", "failed"):
        return True
    said = out.stored[-_EDGE:] + err.stored[-_EDGE:]
    return exit_status not in (0, None) and _UNKNOWN.search(said) is not None
