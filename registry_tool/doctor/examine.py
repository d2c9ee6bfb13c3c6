"""All checks in the order in which a person would make them: machine first, kernels last."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from registry_tool.doctor import fallback, kernel, locks, tree
from registry_tool.doctor import machine as machine_checks
from registry_tool.doctor.check import Check, Topic
from registry_tool.doctor.sandbox import Sandbox, harmless, sandbox
from registry_tool.errors import ToolError
from registry_tool.records.spec import KernelSpec
from registry_tool.store.registry import Registry
from registry_tool.verifier.hardware import PEANO, Place, check_path
from registry_tool.verifier.machine import device as machine

_PEANO_STAND_IN = f"/{PEANO}"


def without_registry(environ: Mapping[str, str]) -> list[Check]:
    """What can be checked of the machine alone."""
    with sandbox(environ) as box:
        checks = list(_machine(box, environ, None))
    message = "none in this folder or above it: harness tree, kernels and lock were not checked"
    fix = "registry-tool init   # or cd to a registry, or --registry DIR"
    return [*checks, Topic("registry").warning("registry.yaml", message, fix)]


def everything(
    registry: Registry, targets: list[str], only: str | None, environ: Mapping[str, str]
) -> list[Check]:
    """Every check of ``targets``, for all kernels or ``only`` one; raises ToolError."""
    roots = [tree.find_root(registry.target(name)) for name in targets]
    with sandbox(environ) as box:
        checks = list(_machine(box, environ, next(filter(None, roots), None)))
        if not targets:
            message = "it names no hardware target: harness tree, kernels and lock were not checked"
            fix = "add one to registry.yaml (kind: hardware)"
            checks.append(Topic("registry").warning("registry.yaml", message, fix))
        for name in targets:
            checks += _target(registry, name, only, box, environ)
    return checks


def _machine(box: Sandbox, environ: Mapping[str, str], root: Path | None) -> Iterator[Check]:
    yield from machine_checks.programs(environ)
    yield locks.check_temporary(environ)
    yield from machine_checks.compiler(environ)
    yield from machine_checks.python(box, root)
    yield from machine_checks.device(environ, machine.device_facts(harmless(environ)))


def _target(
    registry: Registry, name: str, only: str | None, box: Sandbox, environ: Mapping[str, str]
) -> Iterator[Check]:
    target = registry.target(name)
    specs = [spec for spec in registry.specs.values() if only in (None, spec.kernel)]
    yield from locks.check(name, target)
    yield from machine_checks.jobs(name, target)
    every = list(registry.specs.values())
    yield from tree.check(name, target, every, environ)
    root = tree.find_root(target)
    if root is None or not root.is_dir():
        return
    root = root.resolve()
    if not any((root / folder).is_dir() for folder in tree.kernel_folders(name, every)):
        return
    yield from machine_checks.build_space(name, root, tree.kernel_folders(name, specs))
    around = harmless(environ)
    yield from machine_checks.tools(machine.toolchain(root, around.get(PEANO, ""), around), name)
    try:
        place = Place(check_path(str(root), "harness_root"), around.get(PEANO) or _PEANO_STAND_IN)
    except ToolError:
        return  # said above: no command could be made of it
    yield from _kernels(registry, name, specs, place, box)
    if any(name not in spec.harness for spec in specs):
        models = [model.model for model in registry.models()]
        yield from fallback.check(name, target, models, place, box)


def _kernels(
    registry: Registry, name: str, specs: Iterable[KernelSpec], place: Place, box: Sandbox
) -> Iterator[Check]:
    shapes = _known_shapes(registry)

    def one(spec: KernelSpec) -> list[Check]:
        return kernel.check(spec, name, place, box, shapes.get(spec.kernel, ()))

    # Each waits for programs most of the time.
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1)) as pool:
        for checks in pool.map(one, specs):
            yield from checks


def _known_shapes(registry: Registry) -> dict[str, list[dict[str, int]]]:
    """The shapes that the saved models need, by kernel."""
    found: dict[str, list[dict[str, int]]] = {}
    for model in registry.models():
        for need in model.needs:
            found.setdefault(need.kernel, []).append(dict(need.shape))
    return found
