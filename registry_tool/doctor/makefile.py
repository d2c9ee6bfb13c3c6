"""What a Makefile would do and which variables it reads, by `make -n`; nothing is built.

Even under -n, make runs recipe lines that begin with + or hold $(MAKE), and remakes files that the
Makefile includes: such a Makefile is not given to make at all (see makefile_text.py). What is left
are $(shell ...), which the harnesses use for arithmetic and path names only; so each start has a
time limit and a TMPDIR of its own.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from registry_tool.doctor.recipe import without_printing
from registry_tool.doctor.sandbox import Captured, Sandbox
from registry_tool.verifier import makefile_text

MAKE_LIMIT_S = 30.0
Use = Literal["value", "set", "printed", "unread", "unknown"]
"""How a variable is used: its value; only whether it is set; only in what is printed; not at all;
or not known, since `make -n` prints something else each time."""
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_INTEGERS = re.compile(r"\d+(?: \d+)*")
_NO_RULE = re.compile(r"No rule to make target [`']([^']+)'")
_RULE = re.compile(r"^([A-Za-z0-9][^:=#%$\s]*):(?!=)", re.MULTILINE)
_REFERENCE = re.compile(r"\$[({]([A-Za-z_]\w*)|^\s*([A-Za-z_]\w*)\s*[?:+]?=", re.MULTILINE)
# Five digits, prime: neither a size that anybody uses, nor a product or quotient of such.
_FIRST_MARK = 10007


@dataclass(frozen=True)
class MakeCommand:
    """A call of make, taken apart: ``options`` are its other words, in order."""

    program: str
    targets: tuple[str, ...]
    variables: Mapping[str, str]
    options: tuple[str, ...]

    def words(self, variables: Mapping[str, str]) -> list[str]:
        """The argument list of a dry run with these variables instead."""
        given = [f"{name}={value}" for name, value in variables.items()]
        # -B: what an earlier run has built must not hide a part of the recipe.
        dry = [self.program, "-n", "-B", "--no-print-directory"]
        return [*dry, *self.options, *self.targets, *given]


def take_apart(command: Sequence[str]) -> MakeCommand | None:
    """``command`` as a call of make, `env NAME=VALUE ...` in front left out; None if it is none."""
    words = list(command)
    if words[:1] == ["env"]:
        words = words[1:]
        while words and _VARIABLE.fullmatch(words[0]):
            words = words[1:]
    if not words or Path(words[0]).name not in ("make", "gmake"):
        return None
    targets, variables, options = [], {}, []
    for word in words[1:]:
        match = _VARIABLE.fullmatch(word)
        if match:
            variables[match[1]] = match[2]
        elif word.startswith("-"):
            options.append(word)
        else:
            targets.append(word)
    return MakeCommand(words[0], tuple(targets), variables, tuple(options))


@dataclass(frozen=True)
class DryRun:
    """What `make -n` printed, or ``trouble``: what is wrong; ``gone`` if the target is.

    ``unasked`` says why make was not started, and ``look`` where that stands; then ``text`` is the
    recipe as far as it can be read without make.
    """

    text: str
    trouble: str | None = None
    gone: str | None = None
    unasked: str | None = None
    look: str = ""
    unread: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def dry_run(make: MakeCommand, folder: Path, sandbox: Sandbox) -> DryRun:
    """What make would run for ``make`` in ``folder``."""
    if not any((folder / name).is_file() for name in makefile_text.MAKEFILES):
        return DryRun("", trouble=f"there is no Makefile in {folder}")
    runs = makefile_text.runs_anyway(folder, sandbox.environ, make.variables, make.options)
    if runs is not None:
        return _read(make, folder, sandbox, *runs)
    if shutil.which(make.program, path=sandbox.environ.get("PATH")) is None:
        return DryRun("", trouble=f"the program {make.program} was not found")
    done = _start(make, make.variables, folder, sandbox)
    if done.status is None:
        return DryRun("", trouble=f"make -n did not end within {MAKE_LIMIT_S:g} s")
    if done.status != 0:
        missing = _NO_RULE.search(done.err)
        if missing and missing[1] in make.targets:
            return DryRun("", trouble=f"the Makefile has no target {missing[1]}", gone=missing[1])
        return DryRun("", trouble=f"make -n fails: {_first_error(done)}")
    for target in make.targets:
        if (folder / target).exists() and _is_hidden(make, folder, sandbox):
            return DryRun("", trouble=f"make {target} does nothing: a file of that name is there")
    if not done.out.strip() or "Nothing to be done" in done.out:
        return DryRun("", trouble=f"make {' '.join(make.targets)} has nothing to do")
    return DryRun(done.out)


def _read(
    make: MakeCommand, folder: Path, sandbox: Sandbox, why: str, path: Path, line: int
) -> DryRun:
    """The same from the text alone."""
    found = makefile_text.read(folder, make.targets, make.variables, sandbox.environ)
    return DryRun(
        found.recipe,
        gone=found.gone[0] if found.gone else None,
        unasked=why,
        look=shlex.join(["sed", "-n", f"{line}p", str(path)]),
        unread=found.unread,
        targets=found.targets,
    )


def _is_hidden(make: MakeCommand, folder: Path, sandbox: Sandbox) -> bool:
    words = [word for word in make.words(make.variables) if word != "-B"]
    done = sandbox.run(words, MAKE_LIMIT_S, folder)
    return "is up to date" in done.out or "Nothing to be done" in done.out


def _first_error(done: Captured) -> str:
    lines = [line.strip() for line in done.err.splitlines() if "***" in line]
    return lines[0] if lines else done.last_error


def targets(make: MakeCommand, folder: Path, sandbox: Sandbox) -> list[str]:
    """The targets that the Makefile in ``folder`` names."""
    words = [make.program, "-npq", "--no-print-directory", *make.options]
    done = sandbox.run([*words, "registry-tool-no-such-target"], MAKE_LIMIT_S, folder)
    _, _, files = done.out.partition("\n# Files\n")
    listed = re.sub(r"^# Not a target:\n.*$", "", files, flags=re.MULTILINE)
    return sorted(set(_RULE.findall(listed)))


def variable_names(folder: Path) -> list[str]:
    """The variables that the Makefile in ``folder`` reads or sets."""
    for name in makefile_text.MAKEFILES:
        try:
            text = (folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        return sorted({first or second for first, second in _REFERENCE.findall(text)})
    return []


def uses(
    make: MakeCommand,
    folder: Path,
    sandbox: Sandbox,
    others: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Use]:
    """How the Makefile uses each variable of ``make``, whose dry run must have succeeded.

    First every number gets a value of its own, and what appears in the output was read. What does
    not appear there is changed by itself, to ``others`` (values that it may have as well) and to
    made-up ones, then left out: the output changes if it is read, also under a condition.
    """
    base = _seen(_start(make, make.variables, folder, sandbox))
    is_stable = base == _seen(_start(make, make.variables, folder, sandbox))
    marked = _marked(make, folder, sandbox, base)
    found: dict[str, Use] = {}
    for name, value in make.variables.items():
        if name in marked:
            found[name] = "value"
        elif not is_stable:
            found[name] = "unknown"
        else:
            alternatives = [*(others or {}).get(name, ()), *_alternatives(value)]
            found[name] = _use(make, name, alternatives, folder, sandbox, base)
    return found


def _start(
    make: MakeCommand, variables: Mapping[str, str], folder: Path, sandbox: Sandbox
) -> Captured:
    return sandbox.run(make.words(variables), MAKE_LIMIT_S, folder, tuple(make.variables))


_Seen = tuple[int | None, str, str]


def _seen(done: Captured) -> _Seen:
    return done.status, done.out, done.err


def _marked(make: MakeCommand, folder: Path, sandbox: Sandbox, base: _Seen) -> set[str]:
    """The variables all of whose numbers appear in a command once each has a number of its own."""
    marks: dict[str, list[str]] = {}
    numbers = _primes(_FIRST_MARK)
    for name, value in make.variables.items():
        if _INTEGERS.fullmatch(value):
            marks[name] = [str(next(numbers)) for _ in value.split(" ")]
    if not marks:
        return set()
    given = {n: " ".join(marks[n]) if n in marks else v for n, v in make.variables.items()}
    done = _start(make, given, folder, sandbox)
    if done.status != 0:
        return set()
    present = set(re.findall(r"\d+", without_printing(done.out)))
    present -= set(re.findall(r"\d+", base[1]))
    return {name for name, mine in marks.items() if present.issuperset(mine)}


def _primes(first: int) -> Iterator[int]:
    number = first
    while True:
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            yield number
        number += 1


def _alternatives(value: str) -> list[str]:
    if _INTEGERS.fullmatch(value):
        numbers = [int(word) for word in value.split(" ")]
        changed = (
            [2 * n + 1 for n in numbers],
            [0 if n else 1 for n in numbers],
            [2 * n for n in numbers],
        )
        return [" ".join(map(str, one)) for one in changed]
    swapped = {"true": "false", "false": "true", "yes": "no", "no": "yes", "on": "off", "off": "on"}
    return [*filter(None, [swapped.get(value)]), f"{value}-other" if value else "other"]


def _use(
    make: MakeCommand,
    name: str,
    alternatives: Sequence[str],
    folder: Path,
    sandbox: Sandbox,
    base: _Seen,
) -> Use:
    printed = False
    for other in dict.fromkeys(alternatives):
        if other == make.variables[name]:
            continue
        seen = _seen(_start(make, {**make.variables, name: other}, folder, sandbox))
        if seen != base and _done(seen) != _done(base):
            return "value"
        printed = printed or seen != base
    without = {key: value for key, value in make.variables.items() if key != name}
    for given in (without, {**make.variables, name: ""}):
        seen = _seen(_start(make, given, folder, sandbox))
        if seen != base and _done(seen) != _done(base):
            return "set"
    return "printed" if printed else "unread"


def _done(seen: _Seen) -> tuple[int | None, str]:
    """What would be done; an error message counts, a warning does not."""
    status, out, err = seen
    return status, without_printing(out) + (err if status != 0 else "")
