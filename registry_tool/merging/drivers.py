"""The merge drivers that git is told of: their names, commands, and the files they are for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

DRIVERS: Mapping[str, tuple[str, str]] = {
    "registry-record": ("rows, models and baseline of a registry, field by field", "record"),
    "registry-page": ("generated pages of a registry, rendered from the merged rows", "page"),
}
"""Driver to its title and the kind of file that it merges."""

_COMMAND = (
    "for tool in {tools}; do "
    'command -v "$tool" >/dev/null 2>&1 || continue; '
    '"$tool" merge-driver {kind} %O %A %B %L -- %P; '
    # Anything else is no answer: the tool is broken or gone, or was killed.
    "status=$?; [ $status -gt 1 ] || exit $status; "
    "done; "
    "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B; "
    # Lines that do not touch may still make a row that nobody measured.
    "exit 1"
)


def command(kind: str, tool: str | None) -> str:
    """What git runs for files of ``kind``; ``tool`` is the path of registry-tool to try first.

    Where the tool is missing or dies, an ordinary conflict is left, never half a file.
    """
    tools = " ".join([*([shlex.quote(tool)] if tool else []), "registry-tool"])
    # A percent sign would be a placeholder of git's.
    return _COMMAND.format(tools=tools.replace("%", "%%"), kind=kind)


ATTRIBUTES = """\
# Merged by registry-tool where `init --hooks` was run; elsewhere as text.
records/** merge=registry-record
models/*.json merge=registry-record
baseline.json merge=registry-record
supported_kernels.md merge=registry-page
details/** merge=registry-page
schemas/** merge=registry-page
registry_lookup.py merge=registry-page
"""


def with_lines(text: str, wanted: str) -> str:
    """``text`` (a .gitattributes) with the lines of ``wanted`` added that it does not have."""
    known = text.splitlines()
    missing = [line for line in wanted.splitlines() if line not in known]
    if not missing:
        return text
    ending = "" if text.endswith("\n") or not text else "\n"
    return f"{text}{ending}{chr(10).join(missing)}\n"
