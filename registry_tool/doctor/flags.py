"""Which flags a harness script takes: by its own help, and by reading its argparse calls.

Nothing is compiled and no device is touched: the help is started only for a script that uses
argparse, and in a way that refuses programs, devices and files (see help_only.py).
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from registry_tool.doctor.sandbox import Captured, Sandbox

HELP_LIMIT_S = 60.0
_HELPER = Path(__file__).with_name("help_only.py")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_PASSED = re.compile(r"(--?[A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
_NEAR = 0.6


@dataclass(frozen=True)
class Reading:
    """The argparse calls of a script, read and not run.

    ``choices`` holds the values of the flags that list them, ``required`` the names of each flag
    that must be given; ``complete`` says whether all flags
    could be seen, ``unseen`` which functions may add more; ``parses`` whether argparse reads the
    command line, and answers `--help`.
    """

    flags: frozenset[str]
    hidden: frozenset[str]
    choices: Mapping[str, tuple[str, ...]]
    required: tuple[tuple[str, ...], ...]
    complete: bool
    parses: bool
    abbreviates: bool
    unseen: tuple[str, ...]


@dataclass(frozen=True)
class Interface:
    """The flags a script takes; ``how`` says how that is known, ``sure`` if none is missing."""

    flags: frozenset[str]
    choices: Mapping[str, tuple[str, ...]]
    required: tuple[tuple[str, ...], ...]
    abbreviates: bool
    how: str
    was_run: bool
    sure: bool


@dataclass(frozen=True)
class Verdict:
    """What a script would make of its arguments; ``missing`` are flags that it insists on.

    ``shortened`` are those that argparse takes for a longer one, as ``--m for --m-size``.
    """

    gone: tuple[str, ...]
    refused: tuple[str, ...]
    shortened: tuple[str, ...]
    accepted: tuple[str, ...]
    missing: tuple[str, ...]


def interface(script: Path, interpreter: str, root: Path, sandbox: Sandbox) -> Interface:
    """The flags of ``script``; modules below ``root`` that it takes flags from are read as well.

    Raises SyntaxError or OSError for a script that cannot be read.
    """
    reading = read(script, root)
    if not reading.parses:
        return _by_reading(reading, "it has no argparse help, so it was not started")
    helped = sandbox.run([interpreter, str(_HELPER), str(script)], HELP_LIMIT_S)
    shown = help_flags(helped.out)
    if helped.status != 0 or not shown:
        return _by_reading(reading, _why(helped))
    return Interface(
        flags=shown | reading.hidden,
        choices=reading.choices,
        required=reading.required,
        abbreviates=reading.abbreviates,
        how="its own help",
        was_run=True,
        sure=True,
    )


def _by_reading(reading: Reading, why: str) -> Interface:
    if reading.unseen:
        why += f"; flags that {', '.join(reading.unseen)} adds could not be read"
    return Interface(
        flags=reading.flags,
        choices=reading.choices,
        required=reading.required,
        abbreviates=reading.abbreviates,
        how=f"read, not run: {why}",
        was_run=False,
        sure=reading.complete and reading.parses,
    )


def _why(helped: Captured) -> str:
    if helped.status is None:
        return f"its help did not end within {HELP_LIMIT_S:g} s"
    if helped.status == 0:
        return "its help lists no flag"
    return f"its help ends with {helped.last_error!r}"


def help_flags(text: str) -> frozenset[str]:
    """The flags of an argparse help: its usage, and the lines that name the same with aliases."""
    match = re.search(r"^usage:.*?(?=^\s*$|\Z)", text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    usage = frozenset(_FLAG.findall(match[0])) if match else frozenset()
    found = set(usage)
    for line in text[match.end() if match else 0 :].splitlines():
        if line.lstrip().startswith("-") and line[:1] == " ":
            # The words after the flags may name other ones, and so may an example in the epilogue.
            head = re.split(r"\s{2,}", line.strip(), maxsplit=1)[0]
            flags = _FLAG.findall(head)
            if not usage or usage.intersection(flags):
                found.update(flags)
    return frozenset(found)


def judge(arguments: Sequence[str], known: Interface) -> Verdict:
    """Which flags of ``arguments`` are gone, and which values the script would refuse."""
    gone: list[str] = []
    refused: list[str] = []
    shortened: list[str] = []
    accepted: list[str] = []
    given: set[str] = set()
    for flag, values in _passed(arguments):
        full = _full_name(flag, known)
        if full is None:
            gone.append(flag)
            continue
        if full == flag:
            accepted.append(flag)
        else:
            shortened.append(f"{flag} for {full}")
        given.add(full)
        choices = known.choices.get(full)
        if choices is not None:
            wrong = [value for value in values if value not in choices and "$" not in value]
            refused += [f"{flag} {value} (it takes {', '.join(choices)})" for value in wrong]
    # What a variable stands for may hold any flag.
    is_whole = not any(word.startswith("$") for word in arguments)
    missing = [names[0] for names in known.required if is_whole and not given.intersection(names)]
    return Verdict(*map(_unique, (gone, refused, shortened, accepted, missing)))


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _passed(arguments: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    flag: str | None = None
    values: list[str] = []
    for word in arguments:
        match = _PASSED.fullmatch(word)
        if match is None:
            values.append(word)
            continue
        if flag is not None:
            yield flag, values
        flag, values = match[1], [] if match[2] is None else [match[2]]
    if flag is not None:
        yield flag, values


def _full_name(flag: str, known: Interface) -> str | None:
    if flag in known.flags:
        return flag
    if flag.startswith("--"):
        longer = [name for name in known.flags if name.startswith(flag)]
        return longer[0] if len(longer) == 1 and known.abbreviates else None
    if len(flag) > 2 and all(f"-{letter}" in known.flags for letter in flag[1:]):
        return flag  # -vp is -v -p
    return None


def near(name: str, known: Iterable[str]) -> list[str]:
    """Names that ``name`` may have become: alike as a whole, or sharing a part (--herd-x)."""

    def likeness(other: str) -> float:
        return difflib.SequenceMatcher(
            None, name.strip("-").lower(), other.strip("-").lower()
        ).ratio()

    alike = {one: likeness(one) for one in sorted(set(known))}
    kept = [one for one in alike if alike[one] >= _NEAR or _parts(one) & _parts(name)]
    return sorted(kept, key=lambda one: -alike[one])[:3]


def _parts(name: str) -> set[str]:
    return {part for part in re.split(r"[-_.]+", name.lower()) if len(part) > 1}


def read(script: Path, root: Path) -> Reading:
    """The argparse calls of ``script``, and of functions below ``root`` that it calls.

    Raises SyntaxError or OSError if it cannot be read; a module that cannot is left out.
    """
    collector = _Collector(root)
    collector.take(script, None)
    return Reading(
        flags=frozenset(collector.flags),
        hidden=frozenset(collector.hidden),
        choices=dict(collector.choices),
        required=tuple(collector.required),
        complete=collector.complete and not collector.unseen,
        unseen=tuple(collector.unseen),
        parses=collector.calls_parser and collector.answers_help,
        abbreviates=collector.abbreviates,
    )


@dataclass
class _Collector:
    root: Path
    flags: set[str] = field(default_factory=lambda: {"-h", "--help"})
    hidden: set[str] = field(default_factory=set)
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    required: list[tuple[str, ...]] = field(default_factory=list)
    complete: bool = True
    calls_parser: bool = False
    answers_help: bool = True
    abbreviates: bool = True
    unseen: dict[str, None] = field(default_factory=dict)
    seen: set[tuple[Path, frozenset[str] | None]] = field(default_factory=set)

    def take(self, path: Path, functions: frozenset[str] | None) -> None:
        """Read the whole of ``path``, or only the ``functions`` that another file calls."""
        if (path, functions) in self.seen:
            return
        self.seen.add((path, functions))
        tree = ast.parse(path.read_bytes(), filename=str(path))
        own = {one.name: one for one in ast.walk(tree) if isinstance(one, _DEFINITIONS)}
        parts = [tree] if functions is None else _reached(own, functions)
        nodes = [node for part in parts for node in ast.walk(part)]
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        seen = {*own, *self._imports(tree, path.parent, calls)}
        for call in calls:
            self._call(call)
        for name in _unseen(nodes, calls, seen):
            # A parser that is made or filled where we cannot look may have more flags.
            self.unseen.setdefault(name)

    def _imports(self, tree: ast.AST, folder: Path, calls: Sequence[ast.Call]) -> set[str]:
        """Follow what is imported from files that can be read; the names that were found there."""
        found: set[str] = set()
        for node in ast.walk(tree):
            for module, names in _imported(node, calls):
                file = self._file(module, folder)
                if file is None or not names:
                    continue
                with contextlib.suppress(SyntaxError, OSError, ValueError):
                    self.take(file, names)
                    found |= names & _defined(file)
        return found

    def _file(self, module: str, folder: Path) -> Path | None:
        # Scripts put their own folder, or one above it, on sys.path.
        inside = [one for one in (folder, *folder.parents) if one.is_relative_to(self.root)]
        # The package of the tree's own repository, of which the examples are one folder.
        for base in (*inside, self.root.parent / "python"):
            place = base.joinpath(*module.split("."))
            for file in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
                if file.is_file():
                    return file
        return None

    def _call(self, call: ast.Call) -> None:
        name = _called(call)
        keywords = {word.arg: word.value for word in call.keywords if word.arg}
        if name in ("parse_args", "parse_known_args", "parse_intermixed_args"):
            self.calls_parser = True
        elif name == "ArgumentParser":
            self.abbreviates &= not _is_false(keywords.get("allow_abbrev"))
            self.answers_help &= not _is_false(keywords.get("add_help"))
            parents = keywords.get("parents")
            names = getattr(parents, "elts", [parents] if parents else [])
            self.complete &= all(isinstance(one, ast.Name) for one in names)
        elif name == "add_argument" and isinstance(call.func, ast.Attribute):
            self._argument(call, keywords)

    def _argument(self, call: ast.Call, keywords: Mapping[str, ast.expr]) -> None:
        names = [one.value for one in call.args if isinstance(one, ast.Constant)]
        flags = [name for name in names if isinstance(name, str) and name.startswith("-")]
        if len(names) < len(call.args):
            self.complete = False
        action = keywords.get("action")
        if isinstance(action, (ast.Attribute, ast.Name)) and _name(action) == _NEGATABLE:
            flags += [f"--no-{flag[2:]}" for flag in flags if flag.startswith("--")]
        self.flags.update(flags)
        required = keywords.get("required")
        if flags and isinstance(required, ast.Constant) and required.value is True:
            self.required.append(tuple(flags))
        if "help" in keywords and _name(keywords["help"]) == "SUPPRESS":
            self.hidden.update(flags)
        choices = keywords.get("choices")
        values = getattr(choices, "elts", None)
        if values and all(isinstance(value, ast.Constant) for value in values):
            for flag in flags:
                self.choices[flag] = tuple(str(value.value) for value in values)


_NEGATABLE = "BooleanOptionalAction"


def _imported(node: ast.AST, calls: Sequence[ast.Call]) -> Iterator[tuple[str, frozenset[str]]]:
    """Modules that ``node`` imports, each with the names of it that ``calls`` use."""
    plain = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
    if isinstance(node, ast.ImportFrom) and node.module:
        names = {alias.name for alias in node.names}
        yield node.module, frozenset(plain if "*" in names else names & plain)
    modules = []
    if isinstance(node, ast.Import):
        modules = [(alias.name, alias.asname or alias.name) for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        names_ = [(alias.name, alias.asname or alias.name) for alias in node.names]
        modules = [(f"{node.module}.{name}", known) for name, known in names_]
    for module, known in modules:
        attributes = {
            call.func.attr
            for call in calls
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == known
        }
        yield module, frozenset(attributes)


def _defined(path: Path) -> set[str]:
    tree = ast.parse(path.read_bytes())
    return {node.name for node in ast.walk(tree) if isinstance(node, _DEFINITIONS)}


def _reached(own: Mapping[str, ast.AST], names: frozenset[str]) -> list[ast.AST]:
    """The functions ``names``, and those of the same file that they call."""
    todo, done = list(names), dict[str, ast.AST]()
    while todo:
        name = todo.pop()
        if name in own and name not in done:
            done[name] = own[name]
            nodes = ast.walk(own[name])
            todo += [_called(node) or "" for node in nodes if isinstance(node, ast.Call)]
    return list(done.values())


def _unseen(nodes: Iterable[ast.AST], calls: Iterable[ast.Call], seen: set[str]) -> Iterator[str]:
    """Functions that make a parser, or are given one, and cannot be read."""
    made: dict[str, str | None] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    made[target.id] = _called(node.value)
    parsers = {name for name, maker in made.items() if maker == "ArgumentParser"}
    for call in calls:
        name, where = _called(call), getattr(call.func, "value", None)
        if name in _OF_A_PARSER and isinstance(where, ast.Name):
            maker = made.get(where.id)
            if maker is not None and maker not in _MAKERS and maker not in seen:
                yield maker
        handed = [*call.args, *(word.value for word in call.keywords)]
        is_handed = any(isinstance(one, ast.Name) and one.id in parsers for one in handed)
        if is_handed and name not in seen and name != "ArgumentParser":
            yield name or "a function"


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_OF_A_PARSER = ("add_argument", "parse_args", "parse_known_args", "parse_intermixed_args")
_MAKERS = (
    "ArgumentParser",
    "add_argument_group",
    "add_mutually_exclusive_group",
    "add_subparsers",
    "add_parser",
)


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _called(call: ast.Call) -> str | None:
    return _name(call.func)


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None
