"""What the text of a Makefile tells, for one that `make -n` would not only print; runs nothing.

Even under -n, make runs recipe lines that hold $(MAKE) or begin with +, and remakes the files that
a Makefile includes. Whoever only wants to look must find such lines before make is started. The
search takes in too much rather than too little: conditions and unused targets count as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""Names that make looks for, in its order."""
_MOST_FILES = 100
_DEEPEST = 20
_SUB_MAKE = re.compile(r"\$[({]MAKE[)}:]")
_PLUS = re.compile(r"[\s@-]*\+")
_ASSIGNMENT = re.compile(
    r"(?:^|.*?[^:]:(?![:=]))\s*(?:(?:override|export|private)\s+)*"
    r"([A-Za-z_.][\w.-]*)\s*(\?|\+|:{1,3}|!)?=\s*(.*)",
    re.DOTALL,
)
_DEFINE = re.compile(r"\s*(?:(?:override|export)\s+)*define\s+([\w.-]+)")
_INCLUDE = re.compile(r"\s*[-s]?include\s+(.*)", re.DOTALL)
_LOAD = re.compile(r"\s*-?load\s+\S")
_RULE = re.compile(r"\s*([^\s:=#][^:=#]*?)\s*&?::?(?![:=])([^;]*)(?:;(.*))?", re.DOTALL)
_CONDITION = re.compile(r"\s*(ifdef|ifndef|ifeq|ifneq|else|endif)\b\s*(.*)", re.DOTALL)
_TWO_SIDES = re.compile(r"\((.*?),(.*)\)\s*|([\"'])(.*?)\3\s+([\"'])(.*?)\5\s*", re.DOTALL)
_OTHER_FILE = re.compile(r"-[Cf]|--(?:directory|file|makefile|eval|include-dir)|-[IE]")
# How a Makefile asks for the folder it stands in.
_OWN_FOLDER = re.compile(r"\bdir(?:name)?\b.*MAKEFILE_LIST|\bCURDIR\b|\bPWD\b", re.DOTALL)
_UNKNOWN = "$UNKNOWN"


@dataclass(frozen=True)
class _Line:
    """A logical line; ``number`` is that of its first physical one, ``text`` has no prefix."""

    path: Path
    number: int
    text: str
    is_recipe: bool
    in_define: bool = False


@dataclass(frozen=True)
class _Known:
    """What a start of make is told: its environment, its command line, where it starts."""

    environ: Mapping[str, str]
    given: Mapping[str, str]
    folder: Path


@dataclass
class _Rule:
    needs: list[str] = field(default_factory=list)
    recipe: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reading:
    """What the text tells of one start: ``recipe`` as far as it can be expanded without make.

    ``gone`` are the targets that it does not name, ``unread`` the variables.
    """

    recipe: str
    gone: tuple[str, ...]
    unread: tuple[str, ...]
    targets: tuple[str, ...]


def find(folder: Path) -> Path | None:
    """The Makefile that make would read in ``folder``."""
    return next((folder / name for name in MAKEFILES if (folder / name).is_file()), None)


def runs_anyway(
    folder: Path,
    environ: Mapping[str, str],
    given: Iterable[str] = (),
    options: Sequence[str] = (),
) -> tuple[str, Path, int] | None:
    """Why `make -n` in ``folder`` would not only print, and where that stands; None if it would.

    ``given`` are variables of the command line, whose values differ from start to start;
    ``options`` are those of the call: one that names another file or folder is not followed.
    """
    start = find(folder)
    if start is None:
        return None
    if any(_OTHER_FILE.match(option) for option in options):
        return "its command names another folder or Makefile by an option", start, 1
    known = _Known(environ, dict.fromkeys(given, _UNKNOWN), folder)
    lines, unclear = _lines(start, known)
    for one in lines:
        why = _runs(one)
        if why is not None:
            return f"{why} ({_where(one, start)})", one.path, one.number
    for one in unclear:
        why = "what it includes cannot be told from its text, and may run even under -n"
        return f"{why} ({_where(one, start)})", one.path, one.number
    return _remade(lines, start, known)


def _where(line: _Line, start: Path) -> str:
    place = "" if line.path == start else f"{line.path}, "
    return f"{place}line {line.number}"


def _runs(line: _Line) -> str | None:
    recipes = "its recipes run even under -n"
    if _SUB_MAKE.search(line.text):
        return recipes
    if line.is_recipe or line.in_define:
        return recipes if _PLUS.match(line.text) else None
    if _LOAD.match(line.text):
        return "it loads code into make itself"
    assigned = _ASSIGNMENT.fullmatch(line.text)
    if assigned is not None:
        # $(Q) in front of a recipe line stands for what Q is.
        return recipes if _PLUS.match(assigned[3]) else None
    rule = _RULE.fullmatch(line.text)
    return recipes if rule and rule[3] is not None and _PLUS.match(rule[3]) else None


def _remade(lines: Sequence[_Line], start: Path, known: _Known) -> tuple[str, Path, int] | None:
    """A rule for a file that make reads: it is carried out before anything is only printed."""
    variables, folder = _variables(lines, known), known.folder
    read = {path.resolve() for path in (start, *(one.path for one in lines))}
    named = {word for one in lines for word in _included(one, variables, folder)}
    names = {*named, *(path.name for path in read), *map(str, read)}
    for one in lines:
        rule = None if one.is_recipe else _RULE.fullmatch(one.text)
        if rule is None or _ASSIGNMENT.fullmatch(one.text):
            continue
        for target in _expand(rule[1], variables, folder).split():
            pattern = re.compile("(?:.*)".join(map(re.escape, target.split("%"))))
            is_read = (folder / target).resolve() in read or any(map(pattern.fullmatch, names))
            if is_read or (named and "$" in target):
                why = f"make remakes what it reads, {target}, even under -n"
                return f"{why} ({_where(one, start)})", one.path, one.number
    return None


def read(
    folder: Path, targets: Sequence[str], given: Mapping[str, str], environ: Mapping[str, str]
) -> Reading:
    """What the Makefile in ``folder`` says of ``targets`` with the variables ``given``."""
    start, known = find(folder), _Known(environ, given, folder)
    lines = _lines(start, known)[0] if start is not None else []
    variables = _variables(lines, known)
    rules = _rules(lines, variables, folder)
    found: list[str] = []
    done: set[str] = set()
    for target in targets:
        found += _recipe(target, rules, done)
    text = "\n".join(one.text for one in lines)
    unread = [name for name in given if not re.search(rf"\b{re.escape(name)}\b", text)]
    return Reading(
        recipe="\n".join(found),
        gone=tuple(target for target in targets if target not in rules),
        unread=tuple(unread),
        targets=tuple(sorted(name for name in rules if not name.startswith("."))),
    )


def _recipe(target: str, rules: Mapping[str, _Rule], done: set[str]) -> Iterator[str]:
    """The recipe lines of what ``target`` needs, and its own; makes that it starts included."""
    if target in done or target not in rules:
        return
    done.add(target)
    for need in rules[target].needs:
        yield from _recipe(need, rules, done)
    for line in rules[target].recipe:
        for words in re.findall(r"\bmake\b((?:\s+[\w.=/-]+)+)", line):
            for word in words.split():
                yield from _recipe(word, rules, done)
        yield line


# Lines.


def _lines(start: Path, known: _Known) -> tuple[list[_Line], list[_Line]]:
    """Every logical line of ``start`` and what it includes, and the includes that are not clear."""
    found: list[_Line] = []
    unclear: list[_Line] = []
    todo, seen = [start], {start.resolve()}
    while todo and len(seen) < _MOST_FILES:
        fresh = list(_logical(todo.pop(0)))
        found += fresh
        variables = _variables(found, known)
        for line in fresh:
            for word in _included(line, variables, known.folder):
                if "$" in word:
                    unclear.append(line)
                    continue
                for path in _matching(word, known.folder):
                    if path.resolve() not in seen:
                        seen.add(path.resolve())
                        todo.append(path)
    return found, unclear


def _matching(word: str, folder: Path) -> list[Path]:
    if any(character in word for character in "*?["):
        base = Path("/") if word.startswith("/") else folder
        return [path for path in sorted(base.glob(word.lstrip("/"))) if path.is_file()]
    path = folder / word
    return [path] if path.is_file() else []


def _included(line: _Line, variables: Mapping[str, str], folder: Path) -> list[str]:
    if line.is_recipe:
        return []
    match = _INCLUDE.fullmatch(line.text)
    return [] if match is None else _expand(match[1], variables, folder).split()


def _logical(path: Path) -> Iterator[_Line]:
    try:
        physical = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    prefix, depth, at = "\t", 0, 0
    while at < len(physical):
        number, text = at + 1, physical[at]
        while text.endswith("\\") and at + 1 < len(physical):
            at += 1
            text = f"{text[:-1]} {physical[at].lstrip()}"
        at += 1
        if text.startswith(prefix) and text.strip():
            yield _Line(path, number, text[1:].strip(), True, depth > 0)
            continue
        text = text if depth else re.sub(r"(?<!\\)#.*", "", text)
        if not text.strip():
            continue
        if _DEFINE.match(text):
            depth += 1
        elif depth and text.strip().startswith("endef"):
            depth -= 1
        set_prefix = re.match(r"\s*\.RECIPEPREFIX\s*:{0,3}\??=\s*(\S?)", text)
        if set_prefix:
            prefix = set_prefix[1] or "\t"
        yield _Line(path, number, text.strip(), False, depth > 0)


# What it means.


def _active(lines: Iterable[_Line], variables: dict[str, str], folder: Path) -> Iterator[_Line]:
    """``lines`` without those whose condition does not hold; ``variables`` may grow meanwhile."""
    stack: list[tuple[bool, bool]] = []  # whether this branch counts, whether one did
    for line in lines:
        match = None if line.is_recipe else _CONDITION.fullmatch(line.text)
        if match is None:
            if all(counts for counts, _ in stack):
                yield line
            continue
        word, rest = match[1], match[2]
        if word == "endif":
            stack[-1:] = []
        elif word == "else":
            taken = stack.pop()[1] if stack else False
            more = _CONDITION.fullmatch(rest)
            holds = more is None or _holds(more[1], more[2], variables, folder)
            stack.append((holds and not taken, taken or holds))
        else:
            holds = _holds(word, rest, variables, folder)
            stack.append((holds, holds))


def _holds(word: str, rest: str, variables: Mapping[str, str], folder: Path) -> bool:
    if word in ("ifdef", "ifndef"):
        return bool(variables.get(rest.strip())) is (word == "ifdef")
    match = _TWO_SIDES.match(rest)
    if match is None:
        return True
    left, right = (match[1], match[2]) if match[3] is None else (match[4], match[6])
    sides = [_expand(side, variables, folder).strip() for side in (left, right)]
    return (sides[0] == sides[1]) is (word == "ifeq")


def _variables(lines: Iterable[_Line], known: _Known) -> dict[str, str]:
    """Variables as text; those that are given on the command line win."""
    found = {**known.environ, "MAKE": "make", **known.given}
    for line in _active(lines, found, known.folder):
        match = None if line.is_recipe or line.in_define else _ASSIGNMENT.fullmatch(line.text)
        if match is None or match[1] in known.given:
            continue
        name, how, value = match[1], match[2], match[3].strip()
        if how == "+":
            found[name] = f"{found.get(name, '')} {value}".strip()
        elif how == "!":
            found[name] = _UNKNOWN
        elif how != "?" or name not in found:
            # A name that stands in its own value would never be done.
            found[name] = re.sub(rf"\$[({{]{re.escape(name)}[)}}]", found.get(name, ""), value)
    return found


def _rules(lines: Iterable[_Line], variables: dict[str, str], folder: Path) -> dict[str, _Rule]:
    rules: dict[str, _Rule] = {}
    current: list[_Rule] = []
    for line in _active(lines, variables, folder):
        if line.is_recipe and not line.in_define:
            for rule in current:
                rule.recipe.append(_command(line.text, variables, folder))
            continue
        match = None if line.in_define else _RULE.fullmatch(line.text)
        if match is None or _ASSIGNMENT.fullmatch(line.text):
            continue
        names = _expand(match[1], variables, folder).split()
        current = [rules.setdefault(name, _Rule()) for name in names]
        for rule in current:
            rule.needs += _expand(match[2], variables, folder).split()
            if match[3] is not None:
                rule.recipe.append(_command(match[3], variables, folder))
    return rules


def _command(text: str, variables: Mapping[str, str], folder: Path) -> str:
    return _expand(text.strip().lstrip("@-+ \t"), variables, folder).replace("$$", "$")


def _expand(text: str, variables: Mapping[str, str], folder: Path, depth: int = 0) -> str:
    """``text`` with the variables that are plain text; what only make could do is $UNKNOWN."""
    kept: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "$" or at + 1 >= len(text):
            kept.append(text[at])
            at += 1
        elif text[at + 1] in "({":
            end = _closing(text, at + 1)
            kept.append(_value(text[at + 2 : end], variables, folder, depth))
            at = end + 1
        else:
            kept.append(text[at : at + 2])
            at += 2
    return "".join(kept)


def _value(inner: str, variables: Mapping[str, str], folder: Path, depth: int) -> str:
    if _OWN_FOLDER.search(inner):
        return str(folder)
    if depth > _DEEPEST or not re.fullmatch(r"[\w.-]+", inner):
        return _UNKNOWN
    return _expand(variables.get(inner, ""), variables, folder, depth + 1)


def _closing(text: str, at: int) -> int:
    """Where the bracket that opens at ``at`` is closed, or the end of ``text``."""
    opening, depth = text[at], 0
    closing = ")" if opening == "(" else "}"
    for place in range(at, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if depth == 0:
            return place
    return len(text)
