"""The merge drivers that git is told of: their names, commands, and the files they are for."""

from __future__ import annotations

from collections.abc import Mapping

DRIVERS: Mapping[str, tuple[str, str]] = {
    "registry-record": (
        "rows, models and baseline of a registry, field by field",
        "merge-driver record %O %A %B %L %P",
    ),
    "registry-page": (
        "generated pages of a registry, rendered from the merged rows",
        "merge-driver page %O %A %B %L %P",
    ),
}
"""Driver to its title and the arguments of registry-tool."""

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
