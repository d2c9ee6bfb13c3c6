"""Whether the diagnosis of a model, which covers kernels without a harness, can be started."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from registry_tool.doctor import flags, makefile
from registry_tool.doctor.check import Check, Topic
from registry_tool.doctor.sandbox import Sandbox
from registry_tool.errors import ToolError
from registry_tool.records.spec import Target
from registry_tool.verifier.hardware import Place, make_step


def check(
    name: str, target: Target, models: Iterable[str], place: Place, sandbox: Sandbox
) -> Iterator[Check]:
    """One check for each of ``models``: folder and make target of its diagnosis."""
    topic = Topic(f"{name}: diagnosis")
    for model in models:
        folder = target.model_folders.get(model, model)
        try:
            step = make_step(target.diagnosis, place, {"model": folder}, model)
        except ToolError as error:
            yield topic.problem(model, error.message, error.fix or _set(name, model))
            continue
        yield _one(topic, name, model, step.command, step.cwd, Path(place.root), sandbox)


def _set(name: str, model: str) -> str:
    return f"set targets.{name}.model_folders: {{{model}: FOLDER}} in registry.yaml"


def _one(
    topic: Topic,
    name: str,
    model: str,
    command: tuple[str, ...],
    cwd: Path,
    root: Path,
    sandbox: Sandbox,
) -> Check:
    if not cwd.is_dir():
        there = sorted(one.name for one in root.iterdir() if one.is_dir())
        alike = flags.near(cwd.name, there)
        near = f"; near: {', '.join(alike)}" if alike else ""
        return topic.problem(model, f"its folder {cwd} is not there{near}", _set(name, model))
    make = makefile.take_apart(command)
    if make is None:
        return topic.ok(model, f"{shlex.join(command)} in {cwd}")
    dry = makefile.dry_run(make, cwd, sandbox)
    if dry.unasked is not None:
        if dry.gone is not None:
            look = shlex.join(["grep", "-nE", "^[^\t#]*:", str(cwd / "Makefile")])
            return topic.problem(model, f"the Makefile's text names no target {dry.gone}", look)
        return topic.warning(
            model, f"not asked: {dry.unasked}; its text names the target", dry.look
        )
    if dry.trouble is None:
        return topic.ok(model, f"make {' '.join(make.targets)} in {cwd}")
    look = shlex.join(["make", "-C", str(cwd), "-n", *make.targets])
    return topic.problem(model, dry.trouble, look)
