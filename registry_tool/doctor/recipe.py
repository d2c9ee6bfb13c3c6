"""Which Python scripts a shell text starts, where, with which arguments; nothing is started.

The text is what `make -n` prints: recipe lines with continuations, `cd X && ...`, assignments in
front, loops and conditions around. Expansions that only the shell could do stay as they are.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_OPERATORS = frozenset(";&|()<>\n")
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time"})
_PRINTERS = frozenset({"echo", "printf", ":", "true", "[", "test"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PYTHON = re.compile(r"(?:python|pypy)\d*(?:\.\d+)*")
_TAKES_VALUE = frozenset({"-X", "-W"})


@dataclass(frozen=True)
class Call:
    """One start of a Python script; ``script`` is as written, relative to ``cwd``.

    ``interpreter`` is None for a script that is started as a program of its own.
    """

    interpreter: str | None
    script: str
    arguments: tuple[str, ...]
    cwd: Path
    is_module: bool = False

    @property
    def path(self) -> Path:
        """Where the script should be; a module is looked for below ``cwd``."""
        if not self.is_module:
            return Path(os.path.normpath(self.cwd / self.script))
        base = self.cwd.joinpath(*self.script.split("."))
        return base / "__main__.py" if base.is_dir() else base.with_name(f"{base.name}.py")


def calls(text: str, cwd: Path) -> list[Call]:
    """Every Python script that ``text`` would start, in order, if its shell starts in ``cwd``."""
    return list(_calls(text, cwd))


def without_printing(text: str) -> str:
    """``text`` with its `echo` and `printf` commands left out: what is done, not what is said."""
    kept: list[str] = []
    for words, operator in _commands(text):
        rest = _stripped(words)
        if not rest or rest[0] not in _PRINTERS or rest[0] in ("[", "test"):
            kept.append(shlex.join(words))
        kept.append(operator)
    return " ".join(kept)


def _calls(text: str, start: Path) -> Iterator[Call]:
    cwd, outer = start, list[Path]()
    for words, operator in _commands(text):
        rest = _stripped(words)
        if rest and rest[0] == "cd":
            cwd = _changed(cwd, rest[1:])
        elif len(rest) > 2 and Path(rest[0]).name in _SHELLS and rest[1] in ("-c", "-ec"):
            yield from _calls(rest[2], cwd)
        elif rest and rest[0] not in _PRINTERS:
            found = _python(rest, cwd)
            if found is not None:
                yield found
        if operator == "(":
            outer.append(cwd)
        elif operator == ")" and outer:
            cwd = outer.pop()
        elif operator == "\n":  # each line of a recipe gets a shell of its own
            cwd, outer = start, []


def _changed(cwd: Path, words: Sequence[str]) -> Path:
    folders = [word for word in words if word not in ("-P", "-L", "--")]
    return Path(os.path.normpath(cwd / folders[0])) if folders else cwd


def _python(words: Sequence[str], cwd: Path) -> Call | None:
    if words[0].endswith(".py"):
        return Call(None, words[0], tuple(words[1:]), cwd)
    # Wherever it stands: `env`, `flock`, `timeout` and their like may be in front.
    for at, word in enumerate(words):
        if _PYTHON.fullmatch(Path(word).name):
            return _script(word, words[at + 1 :], cwd)
    return None


def _script(interpreter: str, words: Sequence[str], cwd: Path) -> Call | None:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "-m" and at + 1 < len(words):
            return Call(interpreter, words[at + 1], tuple(words[at + 2 :]), cwd, is_module=True)
        if words[at] in ("-c", "-", "-m"):
            return None
        at += 2 if words[at] in _TAKES_VALUE else 1
    if at == len(words) or not words[at].endswith(".py"):
        return None
    return Call(interpreter, words[at], tuple(words[at + 1 :]), cwd)


def _stripped(words: Sequence[str]) -> Sequence[str]:
    """``words`` without the keywords and assignments in front."""
    at = 0
    while at < len(words) and (words[at] in _KEYWORDS or _ASSIGNMENT.match(words[at])):
        at += 1
    return words[at:]


def _commands(text: str) -> Iterator[tuple[list[str], str]]:
    """Simple commands, each with the operator that ends it (``\\n`` at the end of the text)."""
    words: list[str] = []
    skip = False
    for token, is_operator in _tokens(text):
        if not is_operator:
            if not skip:
                words.append(token)
            skip = False
        elif token in "<>":
            skip = True  # the next word names a file
        elif token == "&" and skip:
            continue  # 2>&1: the number that follows is what is skipped
        else:
            skip = False
            yield words, token
            words = []
    yield words, "\n"


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Words with their quotes taken off, and one-character operators (True)."""
    at, word = 0, None
    while at < len(text):
        here = text[at]
        if here == "\\":
            if at + 1 < len(text) and text[at + 1] != "\n":
                word = (word or "") + text[at + 1]
            at += 2
        elif here == "'":
            end = _find(text, "'", at + 1)
            word = (word or "") + text[at + 1 : end]
            at = end + 1
        elif here == '"':
            piece, at = _double_quoted(text, at + 1)
            word = (word or "") + piece
        elif here in " \t\r" or here in _OPERATORS:
            # A number right before < or > is a descriptor, no argument.
            if word is not None and not (here in "<>" and word.isdigit()):
                yield word, False
            word = None
            if here in _OPERATORS:
                yield here, True
            at += 1
        elif here == "#" and word is None:
            at = _find(text, "\n", at)
        else:
            word = (word or "") + here
            at += 1
    if word is not None:
        yield word, False


def _double_quoted(text: str, at: int) -> tuple[str, int]:
    kept: list[str] = []
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and at + 1 < len(text) and text[at + 1] in '$`"\\\n':
            at += 1
            kept.append("" if text[at] == "\n" else text[at])
        else:
            kept.append(text[at])
        at += 1
    return "".join(kept), at + 1


def _find(text: str, what: str, at: int) -> int:
    found = text.find(what, at)
    return len(text) if found < 0 else found
