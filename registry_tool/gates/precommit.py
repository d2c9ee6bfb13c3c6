"""Our hook in a .pre-commit-config.yaml: text in, text out; lines of others are left alone."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from registry_tool.errors import InputError
from registry_tool.gates.scripts import GUARDS

HOOK_ID = "registry-check"
CONFIG = ".pre-commit-config.yaml"
_ENTRY = (
    'sh -c \'tool=$(git config --get registry-tool.command) && command -v "$tool" >/dev/null '
    '|| tool=registry-tool; exec "$tool" hook pre-commit\''
)
"""The path of the tool is each clone's own; the file is shared."""
_OLD_ENTRY = re.compile(r"^([ ]*entry: )registry-tool check --staged(?: --registry .*)?$", re.M)
_REPOS = re.compile(r"^repos[ ]*:[ ]*(#.*)?$", re.M)
_NEXT_KEY = re.compile(r"^(?![ \t\r\n#-])", re.M)
_ITEM = re.compile(r"^([ ]*)- ", re.M)


def with_hook(text: str, path: Path) -> str:
    """``text`` with our hook added; as it is if it has one.

    Raises InputError if it is not what pre-commit reads.
    """
    document = _loaded(text, path)
    if any(hook.get("id") == HOOK_ID for repo in document["repos"] for hook in repo["hooks"]):
        # The first versions judged one registry, with the tool that was on PATH.
        return _OLD_ENTRY.sub(lambda found: found[1] + _ENTRY, text)
    return _inserted(text, path) if text.strip() else "repos:\n" + _block("  ")


def without_hook(text: str, path: Path) -> str:
    """``text`` without our hook; empty if there was nothing else in it."""
    document = _loaded(text, path)
    kept = [r for r in document["repos"] if [h.get("id") for h in r["hooks"]] != [HOOK_ID]]
    if len(kept) == len(document["repos"]):
        return text
    if not kept and set(document) == {"repos"}:
        return ""
    for block in (_block("  "), _block("")):
        if block in text:
            return text.replace(block, "", 1)
    document["repos"] = kept
    return _dumped(document)


def _loaded(text: str, path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        document = YAML().load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise InputError(
            f"not YAML: {getattr(error, 'problem', None) or error}",
            path=path,
            line=line,
            fix="pre-commit validate-config",
        ) from None
    if document is None:
        return {"repos": []}
    repos = document.get("repos") if isinstance(document, dict) else None
    fits = isinstance(repos, list) and all(
        isinstance(repo, dict) and isinstance(repo.get("hooks"), list) for repo in repos
    )
    if not fits:
        raise InputError(
            "expected `repos:`, a list of repositories with `hooks:` each",
            path=path,
            fix="pre-commit validate-config",
        )
    return document


def _inserted(text: str, path: Path) -> str:
    """``text`` with our block after the last of ``repos``, every other byte as it was."""
    before = _loaded(text, path)
    start = _REPOS.search(text)
    if start is not None:
        after = _NEXT_KEY.search(text, start.end())
        stop = after.start() if after is not None and after.start() < len(text) else len(text)
        item = _ITEM.search(text, start.end(), stop)
        block = _block(item[1] if item else "  ")
        head = text[:stop]
        new = f"{head}{'' if head.endswith(chr(10)) else chr(10)}{block}{text[stop:]}"
        wanted = [*before["repos"], *_loaded("repos:\n" + block, path)["repos"]]
        if _loaded(new, path) == {**before, "repos": wanted}:
            return new
    # `repos: [...]` on one line, or something rarer: written anew, with its comments.
    before["repos"].append(_loaded("repos:\n" + _block("  "), path)["repos"][0])
    return _dumped(before)


def _dumped(document: Any) -> str:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.preserve_quotes = True
    yaml.width = 4096
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue()


def _block(indent: str) -> str:
    lines = [
        "- repo: local",
        "  hooks:",
        f"    - id: {HOOK_ID}",
        "      name: registry rows have passing verdicts",
        f"      entry: {_ENTRY}",
        "      language: system",
        "      always_run: true",
        "      pass_filenames: false",
        "      require_serial: true",
        f"      stages: [{', '.join(GUARDS)}]",
    ]
    return "".join(f"{indent}{line}\n" for line in lines)
