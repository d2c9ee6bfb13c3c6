"""The text of the hooks that git runs; says nothing of where they are installed.

Each finds the tool by the path that was known when it was installed, then on PATH. Where it is
missing, a hook that guards refuses: what nobody judged must not pass for judged.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

MARK = "# Installed by registry-tool init --hooks"
"""The second line of every hook of ours; one without it is somebody else's."""

_OLD = "exec registry-tool check --staged --registry"
"""All that the first hooks ran that were installed by hand."""

_HEAD = f"""\
#!/bin/sh
{MARK}; registry-tool init --hooks --uninstall removes it.
"""

_GUARD = """\
for tool in {tools}; do
  command -v "$tool" >/dev/null 2>&1 || continue
  "$tool" hook {name} "$@"
  status=$?
  # 126 and 127: the Python that it was installed with is gone.
  [ $status -eq 126 ] || [ $status -eq 127 ] || exit $status
done
echo "{name}: registry-tool is not here, so nobody can say whether the registry is in order" >&2
echo "  next: pip install registry-tool, then registry-tool init --hooks" >&2
exit 1
"""

_ADVICE = """\
for tool in {tools}; do
  command -v "$tool" >/dev/null 2>&1 || continue
  "$tool" hook {name} "$@"
  status=$?
  [ $status -eq 126 ] || [ $status -eq 127 ] || exit 0
done
exit 0
"""

_TRAILERS = """\
# Trailers help people; nothing depends on them, and they never stop a commit.
for tool in {tools}; do
  command -v "$tool" >/dev/null 2>&1 || continue
  "$tool" trailers --message-file "$@" 2>/dev/null
  status=$?
  [ $status -eq 126 ] || [ $status -eq 127 ] || exit 0
done
exit 0
"""

GUARDS = ("pre-commit", "pre-merge-commit")
"""What pre-commit can run as well."""

BESIDE = ("pre-push", "pre-applypatch", "prepare-commit-msg", "post-merge", "post-rewrite")
"""What only git itself runs as it is needed."""

_BODIES: Mapping[str, str] = {
    **dict.fromkeys((*GUARDS, "pre-push", "pre-applypatch", "pre-receive", "update"), _GUARD),
    "post-merge": _ADVICE,
    "post-rewrite": _ADVICE,
    "prepare-commit-msg": _TRAILERS,
}
NAMES = tuple(_BODIES)


def script(name: str, tool: str | None = None) -> str:
    """The hook ``name``; ``tool`` is the path of registry-tool that it tries first."""
    tools = " ".join([*([shlex.quote(tool)] if tool else []), "registry-tool"])
    return _HEAD + _BODIES[name].format(tools=tools, name=name)


def line(name: str, tool: str | None = None) -> str:
    """What to add to somebody else's hook, before anything that ends it."""
    command = shlex.quote(tool) if tool else "registry-tool"
    if name == "prepare-commit-msg":
        return f'{command} trailers --message-file "$@" 2>/dev/null || true'
    if name.startswith("post-"):
        return f'{command} hook {name} "$@" || true'
    if name in ("pre-push", "pre-receive"):
        # Standard input can be read once: what follows gets it from a file.
        return (
            f'refs=$(mktemp) && cat >"$refs" && {command} hook {name} "$@" <"$refs" || exit 1; '
            'exec <"$refs"; rm -f "$refs"'
        )
    return f'{command} hook {name} "$@" || exit 1'


def is_ours(text: str) -> bool:
    """Whether a hook's text was installed by this tool."""
    lines = text.split("\n")
    if len(lines) > 1 and lines[1].startswith(MARK):
        return True
    steps = [line for line in lines if line.strip() and not line.startswith("#")]
    return len(steps) == 1 and steps[0].startswith(_OLD)


def of_lefthook(names: Iterable[str]) -> Iterator[str]:
    """The lines of a lefthook.yml that run the hooks ``names``."""
    for name in names:
        words = "trailers --message-file" if name == "prepare-commit-msg" else f"hook {name}"
        yield f"{name}:"
        yield "  commands:"
        yield "    registry-check:"
        yield f"      run: registry-tool {words} {{0}}"
        yield "      use_stdin: true"


def write(folder: Path) -> None:
    """Write every hook into ``folder``, for people who install them by hand."""
    for name in NAMES:
        path = folder / name
        path.write_text(script(name), encoding="utf-8")
        path.chmod(0o755)


if __name__ == "__main__":
    write(Path("hooks"))
