"""The command that git is given for a merge: what git makes of it, and of odd paths of the tool."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from registry_tool.merging.drivers import DRIVERS, command

PLACEHOLDERS = {"%O": "base", "%A": "ours", "%B": "theirs", "%L": "7", "%P": "'-a b'", "%%": "%"}


def as_git_runs_it(text: str) -> str:
    """What git hands to its shell."""
    parts = []
    while "%" in text:
        before, _, rest = text.partition("%")
        parts += [before, PLACEHOLDERS["%" + rest[0]]]
        text = rest[1:]
    return "".join([*parts, text])


@pytest.mark.parametrize("folder", ["plain", "a folder", "100%Off", "it's", "$(false)"])
@pytest.mark.parametrize("kind", [kind for _, kind in DRIVERS.values()])
def test_the_tool_is_called_wherever_it_is(tmp_path: Path, folder: str, kind: str) -> None:
    place = tmp_path / folder
    place.mkdir()
    tool = place / "registry-tool"
    tool.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    tool.chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", as_git_runs_it(command(kind, str(tool)))], capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == f"merge-driver|{kind}|base|ours|theirs|7|--|-a b|"
