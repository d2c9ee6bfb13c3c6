"""Whether one kernel's harness still takes what its spec would pass: folder, target, flags."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from registry_tool.doctor import flags, makefile
from registry_tool.doctor.check import Check, Topic
from registry_tool.doctor.example import Example, examples
from registry_tool.doctor.makefile import MakeCommand, Use
from registry_tool.doctor.recipe import Call, calls
from registry_tool.doctor.sandbox import Sandbox
from registry_tool.errors import ToolError
from registry_tool.records.spec import HarnessRun, KernelSpec
from registry_tool.verifier import hardware
from registry_tool.verifier.hardware import Place

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Start:
    """One command of the harness: which step it is, and its template, word by word."""

    step: str
    command: tuple[str, ...]
    template: tuple[str, ...]
    cwd: Path


@dataclass
class _Found:
    """What the commands of one kernel turned out to start, and what its spec says itself."""

    written: str
    calls: dict[Path, list[Call]] = field(default_factory=dict)
    steps: dict[Path, list[str]] = field(default_factory=dict)

    def add(self, found: Iterable[Call], step: str) -> None:
        for call in found:
            self.calls.setdefault(call.path, []).append(call)
            steps = self.steps.setdefault(call.path, [])
            if step not in steps:
                steps.append(step)


def check(
    spec: KernelSpec,
    target: str,
    place: Place,
    sandbox: Sandbox,
    shapes: Iterable[Mapping[str, int]] = (),
) -> list[Check]:
    """Every check of ``spec`` on ``target``; ``shapes`` are known ones of it, tried first."""
    topic = Topic(f"{target}: {spec.kernel}")
    if target not in spec.harness:
        return [topic.ok("harness", f"none for {target}: the diagnosis of a model covers it")]
    configurations = examples(spec, target, shapes)
    mend = _mend(spec.kernel, target)
    if not configurations:
        message = "no legal configuration was found to try its commands with"
        return [topic.problem("example", message, f"give it a canary: {mend}")]
    try:
        starts, build = _starts(spec, target, place, configurations)
    except ToolError as error:
        return [topic.problem("harness", error.message, error.fix or mend)]
    folders = _folders(starts, build)
    missing = [folder for folder in folders if not folder.is_dir()]
    if missing:
        return [_gone_folder(topic, folder, Path(place.root), mend) for folder in missing]
    shown = ", ".join(str(folder.relative_to(place.root)) for folder in folders)
    checks = [topic.ok("folder", shown)]
    found = _Found(" ".join(word for one in starts for word in one.template))
    checks += _check_makes(topic, starts, found, sandbox, mend)
    for start in starts:
        if makefile.take_apart(start.command) is None:
            direct = calls(shlex.join(start.command), start.cwd)
            found.add(direct, start.step)
            if not direct:
                checks += _check_program(topic, start, sandbox, mend)
    checks += _check_scripts(topic, found, Path(place.root), sandbox, mend)
    checks += _check_build(topic, found, build, Path(place.root), mend)
    return list(dict.fromkeys(checks))


def _mend(kernel: str, target: str) -> str:
    return f"mend harness: {target}: in kernels/{kernel}.yaml of the registry"


def _starts(
    spec: KernelSpec, target: str, place: Place, configurations: Sequence[Example]
) -> tuple[list[Start], tuple[Path, ...]]:
    """The commands of every configuration, and the build folders; raises ToolError."""
    harness = spec.harness[target]
    found = []
    build: tuple[Path, ...] = ()
    for one in configurations:
        made = hardware.commands(
            spec, target, place, one.shape, one.variant, one.tile, list(one.herd)
        )
        build = made.build
        runs = (harness.compile, harness.correctness, harness.timing)
        steps = (made.compile, made.correctness, made.timing)
        for name, run, step in zip(("compile", "correctness", "timing"), runs, steps, strict=True):
            if run is not None and step is not None:
                found.append(start(name, run, step.command, step.cwd))
    return found, build


def start(name: str, run: HarnessRun, command: Sequence[str], cwd: Path) -> Start:
    """One command beside the template that it was filled from."""
    return Start(name, tuple(command), tuple(run.command), cwd)


def _folders(starts: Sequence[Start], build: Sequence[Path]) -> list[Path]:
    """Where the commands start; a build folder is made anew, so its parent must be there."""
    found = []
    for one in starts:
        folder = one.cwd
        if any(folder.is_relative_to(made) for made in build):
            folder = next(made for made in build if folder.is_relative_to(made)).parent
        found.append(folder)
    return list(dict.fromkeys(found))


def _gone_folder(topic: Topic, folder: Path, root: Path, mend: str) -> Check:
    parent = next(one for one in folder.parents if one.is_dir() or one == root)
    siblings = [one.name for one in parent.iterdir() if one.is_dir()] if parent.is_dir() else []
    gone = folder.relative_to(parent).parts[0]
    alike = flags.near(gone, siblings)
    near = f"; near: {', '.join(alike)}" if alike else ""
    shown = folder.relative_to(root) if folder.is_relative_to(root) else folder
    return topic.problem(
        "folder",
        f"{shown} is not in the harness tree{near}",
        f"ls {shlex.quote(str(parent))}   # then {mend}",
    )


def _check_program(topic: Topic, start: Start, sandbox: Sandbox, mend: str) -> Iterator[Check]:
    words = list(start.command)
    while words and (words[0] == "env" or "=" in words[0]):
        words = words[1:]
    program = words[0] if words else ""
    if shutil.which(program, path=sandbox.environ.get("PATH")) or (start.cwd / program).is_file():
        message = f"the {start.step} run starts no script whose flags could be looked up"
        yield topic.warning(program, message, mend)
    else:
        yield topic.problem(program, f"the program of the {start.step} run was not found", mend)


def _check_makes(
    topic: Topic, starts: Sequence[Start], found: _Found, sandbox: Sandbox, mend: str
) -> Iterator[Check]:
    """One check for each make target, over all commands that use it."""
    groups: dict[tuple[Path, tuple[str, ...]], list[tuple[Start, MakeCommand]]] = {}
    for one in starts:
        make = makefile.take_apart(one.command)
        if make is not None:
            groups.setdefault((one.cwd, make.targets), []).append((one, make))
    for (folder, targets), group in groups.items():
        name = " ".join(["make", *targets])
        yield from _check_make(topic, name, folder, group, found, sandbox, mend)


def _check_make(
    topic: Topic,
    name: str,
    folder: Path,
    group: Sequence[tuple[Start, MakeCommand]],
    found: _Found,
    sandbox: Sandbox,
    mend: str,
) -> Iterator[Check]:
    used: dict[str, set[Use]] = {}
    templates: dict[str, str] = {}
    tried: set[tuple[str, ...]] = set()
    unasked: makefile.DryRun | None = None
    gone: list[str] = []
    others = _other_values(make for _, make in group)
    for one, make in group:
        dry = makefile.dry_run(make, folder, sandbox)
        if dry.trouble is not None:
            yield _no_dry_run(topic, name, folder, make, dry, sandbox, mend)
            return
        started = calls(dry.text, folder)
        found.add(started, one.step)
        if dry.unasked is not None:
            unasked = dry
            gone += [n for n in dry.unread if not _is_read_by(n, started) and n not in gone]
            continue
        # Correctness and timing often differ in a number only, and read the same variables.
        kind = tuple(_NUMBER.sub("0", word) for word in one.command)
        if kind in tried:
            continue
        tried.add(kind)
        for variable, use in makefile.uses(make, folder, sandbox, others).items():
            if use == "unread" and _is_read_by(variable, started):
                use = "value"
            used.setdefault(variable, set()).add(use)
        for word in one.template:
            variable, _, template = word.partition("=")
            templates[variable] = template
    if unasked is not None:
        yield from _from_text(topic, name, folder, unasked, gone, mend)
        return
    yield from _judge_uses(topic, name, folder, used, templates, mend)


def _from_text(
    topic: Topic,
    name: str,
    folder: Path,
    dry: makefile.DryRun,
    unread: Sequence[str],
    mend: str,
) -> Iterator[Check]:
    """What is said of a Makefile that was not given to make: what its text names and does not."""
    there = [one for one in unread if one != hardware.PEANO]
    if dry.gone is None and not there:
        message = f"not asked: {dry.unasked}; its text names the target and every variable"
        yield topic.warning(name, message, dry.look)
        return
    yield topic.warning(name, f"not asked: {dry.unasked}", dry.look)
    if dry.gone is not None:
        # A rule may be made by what only make expands, so this is no proof.
        alike = flags.near(dry.gone, dry.targets)
        near = f"; near: {', '.join(alike)}" if alike else f"; it has {', '.join(dry.targets[:8])}"
        look = shlex.join(["grep", "-nE", "^[^\t#]*:", str(folder / "Makefile")])
        message = f"the Makefile's text names no target {dry.gone}{near}"
        yield topic.problem(name, message, f"{look}   # then {mend}")
    if there:
        look = shlex.join(["grep", "-nwE", "|".join(there), str(folder / "Makefile")])
        message = f"the Makefile's text does not name {', '.join(there)}"
        yield topic.problem(name, message, f"{look}   # then {mend}")


def _other_values(makes: Iterable[MakeCommand]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for make in makes:
        for variable, value in make.variables.items():
            values.setdefault(variable, []).append(value)
    return values


def _is_read_by(variable: str, started: Iterable[Call]) -> bool:
    """Whether a script names ``variable``: make hands what it was given on in the environment."""
    for call in started:
        try:
            text = call.path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if re.search(rf"environ\b[^\n]*['\"]{variable}['\"]|getenv\(\s*['\"]{variable}['\"]", text):
            return True
    return False


def _no_dry_run(
    topic: Topic,
    name: str,
    folder: Path,
    make: MakeCommand,
    dry: makefile.DryRun,
    sandbox: Sandbox,
    mend: str,
) -> Check:
    near = ""
    if dry.gone is not None:
        there = makefile.targets(make, folder, sandbox)
        alike = flags.near(dry.gone, there)
        near = f"; near: {', '.join(alike)}" if alike else f"; it has {', '.join(there[:8])}"
    command = shlex.join(["make", "-C", str(folder), "-n", *make.targets])
    return topic.problem(name, f"{dry.trouble}{near}", f"{command}   # then {mend}")


def _judge_uses(
    topic: Topic,
    name: str,
    folder: Path,
    used: Mapping[str, set[Use]],
    templates: Mapping[str, str],
    mend: str,
) -> Iterator[Check]:
    by_use: dict[str, list[str]] = {}
    for variable, uses in used.items():
        by_use.setdefault(_worst(variable, uses, templates.get(variable, "")), []).append(variable)
    there = makefile.variable_names(folder)
    for use, what in _PROBLEMS.items():
        if use in by_use:
            gone = by_use[use]
            alike = {v: [n for n in flags.near(v, there) if n not in used] for v in gone}
            near = [f"{v}: {', '.join(names)}" for v, names in alike.items() if names]
            tail = f" (near {'; '.join(near)})" if near else ""
            look = shlex.join(["grep", "-nwE", "|".join(gone), str(folder / "Makefile")])
            yield topic.problem(name, f"{what} {', '.join(gone)}{tail}", f"{look}   # then {mend}")
    for use, what in _WARNINGS.items():
        if use in by_use:
            look = shlex.join(["grep", "-nwE", "|".join(by_use[use]), str(folder / "Makefile")])
            yield topic.warning(name, f"{what} {', '.join(by_use[use])}", look)
    if not set(by_use) & {*_PROBLEMS, *_WARNINGS}:
        number = len(used)
        yield topic.ok(
            name, f"reads {'its variable' if number == 1 else f'its {number} variables'}"
        )


_PROBLEMS = {
    "unread": "the Makefile no longer reads",
    "printed": "the Makefile prints, but does not use",
    "only-set": "the Makefile reads only whether it is set, not its value:",
}
_WARNINGS = {
    "unknown": "make -n prints something else each time, so it cannot be shown to read",
    "inherited": "the Makefile does not read it, so only the environment hands it on:",
}


def _worst(variable: str, uses: set[Use], template: str) -> str:
    """What to say of ``variable`` after all commands that pass it."""
    if variable == hardware.PEANO:
        # The compiler is found through the environment as well; build folders depend on it.
        return "inherited" if uses & {"unread", "printed"} else "fine"
    # Some variants need no tile of the other's kernel object: one that reads it is enough.
    if "value" in uses:
        return "fine"
    if "set" in uses:
        return "only-set" if "{" in template else "fine"
    return next(use for use in ("unknown", "printed", "unread") if use in uses)


def _check_scripts(
    topic: Topic, found: _Found, root: Path, sandbox: Sandbox, mend: str
) -> Iterator[Check]:
    for path, started in found.calls.items():
        name = f"{path.name} ({', '.join(found.steps[path])})"
        yield from _check_script(topic, name, path, started, found.written, root, sandbox, mend)


def _check_script(
    topic: Topic,
    name: str,
    path: Path,
    started: Sequence[Call],
    written: str,
    root: Path,
    sandbox: Sandbox,
    mend: str,
) -> Iterator[Check]:
    if "$" in str(path):
        message = f"which script it is depends on a variable of the shell: {path}"
        yield topic.warning(name, message, mend)
        return
    if not path.is_file():
        there = [one.name for one in path.parent.glob("*.py")] if path.parent.is_dir() else []
        alike = flags.near(path.name, there)
        near = f"; near: {', '.join(alike)}" if alike else ""
        look = f"ls {shlex.quote(str(path.parent))}   # then {mend}"
        yield topic.problem(name, f"the script {path} is not there{near}", look)
        return
    interpreter = started[0].interpreter or "python3"
    if shutil.which(interpreter, path=sandbox.environ.get("PATH")) is None:
        message = f"the interpreter {interpreter} was not found"
        yield topic.problem(name, message, f"command -v {shlex.quote(interpreter)}")
        return
    try:
        known = flags.interface(path, interpreter, root, sandbox)
    except (SyntaxError, ValueError, OSError) as error:
        look = shlex.join([interpreter, "-m", "py_compile", str(path)])
        yield topic.problem(name, f"the script cannot be read: {error}", look)
        return
    if known.was_run:
        look = shlex.join([interpreter, str(path), "--help"])
    else:
        look = f"grep -n add_argument {shlex.quote(str(path))}"
    yield from _judge_flags(topic, name, started, known, written, look, mend)


def _judge_flags(
    topic: Topic,
    name: str,
    started: Sequence[Call],
    known: flags.Interface,
    written: str,
    look: str,
    mend: str,
) -> Iterator[Check]:
    verdicts = [flags.judge(call.arguments, known) for call in started]
    gone = _merged(one.gone for one in verdicts)
    refused = _merged(one.refused for one in verdicts)
    shortened = _merged(one.shortened for one in verdicts)
    accepted = _merged(one.accepted for one in verdicts)
    missing = _merged(one.missing for one in verdicts)
    ours = f"{look}   # then {mend}"
    # What the spec does not say comes from the Makefile: the two are of different commits.
    theirs = f"{look}   # the Makefile passes it: are the two of one commit? git status, git pull"
    for mine, fix in ((True, ours), (False, theirs)):
        part = [flag for flag in gone if (flag in written) is mine]
        if part:
            yield _gone_flags(topic, name, part, known, fix)
    if refused:
        yield topic.problem(name, f"it refuses {'; '.join(refused)} ({known.how})", ours)
    if missing:
        yield topic.problem(name, f"it insists on {', '.join(missing)}, not passed", ours)
    if shortened:
        # argparse would take it for the longer one without a word: another shape is measured.
        message = f"it takes {'; '.join(shortened)}: a longer flag's beginning, silently read as it"
        # A flag of that very name may be added where nobody can look.
        say = topic.problem if known.sure else topic.warning
        yield say(name, f"{message} ({known.how})", ours)
    if not (gone or refused or shortened or missing):
        number = len(accepted)
        shown = "1 flag is" if number == 1 else f"{number} flags are" if number else "no flag is"
        yield topic.ok(name, f"all it is passed is there: {shown} known ({known.how})")


def _gone_flags(
    topic: Topic, name: str, gone: Sequence[str], known: flags.Interface, fix: str
) -> Check:
    near = {flag: flags.near(flag, known.flags - {"-h", "--help"}) for flag in gone}
    shown = ", ".join(f"{f} (near: {', '.join(n)})" if n else f for f, n in near.items())
    if known.sure:
        return topic.problem(name, f"it no longer takes {shown} ({known.how})", fix)
    return topic.warning(name, f"it could not be shown to take {shown} ({known.how})", fix)


def _merged(groups: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(one for group in groups for one in group))


def _check_build(
    topic: Topic, found: _Found, build: Sequence[Path], root: Path, mend: str
) -> Iterator[Check]:
    """The scripts must build where each verdict starts afresh, or an old object is measured."""
    if not found.calls:
        message = "no command starts a Python script, so no flag could be looked up"
        yield topic.warning("scripts", message, mend)
        return
    used = dict.fromkeys(call.cwd for started in found.calls.values() for call in started)
    outside = [
        one
        for one in used
        if "$" not in str(one) and not any(one.is_relative_to(made) for made in build)
    ]
    shown = ", ".join(str(one.relative_to(root)) for one in build if one.is_relative_to(root))
    if outside:
        where = ", ".join(str(one) for one in outside)
        message = (
            f"it builds in {where}, but what is made anew for each verdict is "
            f"{shown or 'nothing'}: the object of an older tile may be measured"
        )
        yield topic.problem("build folder", message, f"add it to build: {mend}")
    else:
        yield topic.ok("build folder", f"made anew for each verdict: {shown}")
