"""Installing the gate in a repository: through pre-commit where it is there, else plain hooks."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from registry_tool.commands.common import warn
from registry_tool.errors import GitError
from registry_tool.store import git
from registry_tool.store.files import write_atomic
from registry_tool.store.git import Repository

HOOK_ID = "registry-check"
STAGES = ("pre-commit", "pre-merge-commit")
CONFIG = ".pre-commit-config.yaml"


def install(root: Path) -> str:
    """Install the hooks for the registry in ``root``; says which kind it installed."""
    repository = git.require_repository(root)
    if shutil.which("registry-tool") is None:
        warn("registry-tool is not on PATH; the hook needs it there when you commit")
    if importlib.util.find_spec("pre_commit") is not None:
        try:
            return _with_pre_commit(repository)
        except GitError as error:
            warn(f"pre-commit could not be installed ({error}); using plain git hooks")
    return _plain(repository)


def _entry(repository: Repository) -> str:
    where = f" --registry {shlex.quote(repository.prefix.rstrip('/'))}" if repository.prefix else ""
    return f"registry-tool check --staged{where}"


def _with_pre_commit(repository: Repository) -> str:
    path = repository.top / CONFIG
    _add_to_config(path, _entry(repository))
    git.stage_in_top(repository, [CONFIG])
    kinds = [word for stage in STAGES for word in ("--hook-type", stage)]
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "install", *kinds],
        cwd=repository.top,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise GitError((done.stdout + done.stderr).strip())
    return f"installed the pre-commit hook {HOOK_ID!r} ({', '.join(STAGES)}; {CONFIG})"


def _add_to_config(path: Path, entry: str) -> None:
    import io

    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.preserve_quotes = True
    document: Any = yaml.load(path.read_text("utf-8")) if path.exists() else None
    if document is None:
        document = {"repos": []}
    if any(hook.get("id") == HOOK_ID for repo in document["repos"] for hook in repo["hooks"]):
        return
    document["repos"].append(
        {
            "repo": "local",
            "hooks": [
                {
                    "id": HOOK_ID,
                    "name": "registry rows have passing verdicts",
                    "entry": entry,
                    "language": "system",
                    "always_run": True,
                    "pass_filenames": False,
                    "require_serial": True,
                    "stages": list(STAGES),
                }
            ],
        }
    )
    out = io.StringIO()
    yaml.dump(document, out)
    write_atomic(path, out.getvalue().encode())


def _plain(repository: Repository) -> str:
    folder = git.hooks_folder(repository)
    script = f"#!/bin/sh\n# Installed by registry-tool init --hooks.\nexec {_entry(repository)}\n"
    installed = []
    for stage in STAGES:
        path = folder / stage
        if path.exists() and "registry-tool" not in path.read_text("utf-8", "replace"):
            warn(f"{path} is somebody else's hook; add this line to it: {_entry(repository)}")
            continue
        write_atomic(path, script.encode())
        path.chmod(0o755)
        installed.append(stage)
    return f"installed plain git hooks in {folder}: {', '.join(installed) or 'none'}"
