"""A registry as its files say it is: policy, kernel specs, records and models of one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec

from registry_tool import __version__
from registry_tool.errors import InputError, RegistryError
from registry_tool.records import canonical, catalog, keys
from registry_tool.records.keys import RowId
from registry_tool.records.model import Model
from registry_tool.records.record import Record
from registry_tool.records.spec import KernelSpec, Policy, Target
from registry_tool.store.cache import Cache, digest
from registry_tool.store.root import POLICY, find_root
from registry_tool.store.snapshot import Snapshot

__all__ = [
    "POLICY",
    "Registry",
    "decode",
    "find_root",
    "load",
    "read_policy",
    "read_spec",
    "specs_of",
]


@dataclass(frozen=True)
class Registry:
    """One snapshot of a registry, decoded as far as it is asked for."""

    snapshot: Snapshot
    policy: Policy
    specs: Mapping[str, KernelSpec]

    @property
    def root(self) -> Path:
        """The folder that holds registry.yaml."""
        return self.snapshot.root

    @property
    def first_target(self) -> str:
        """The target that pages, JSON and shim show."""
        return next(iter(self.policy.targets))

    def target(self, name: str) -> Target:
        """A target of the policy; raises RegistryError for an unknown one."""
        try:
            return self.policy.targets[name]
        except KeyError:
            known = ", ".join(self.policy.targets)
            raise RegistryError(
                f"unknown target {name!r}; {POLICY} names {known}", path=self.root / POLICY
            ) from None

    def spec(self, kernel: str) -> KernelSpec:
        """The spec of a kernel; raises RegistryError for an unknown one."""
        try:
            return self.specs[kernel]
        except KeyError:
            known = ", ".join(self.specs)
            raise RegistryError(f"unknown kernel {kernel!r}; known are {known}") from None

    @cached_property
    def record_paths(self) -> dict[RowId, str]:
        """Every record file, by the identity that its path claims."""
        found = {}
        for path in sorted(self.snapshot.oids):
            row = keys.parse_record_path(path)
            if row is not None:
                found[row] = path
        return found

    @cached_property
    def records(self) -> dict[RowId, Record]:
        """Every record; raises InputError for the first one that is not canonical."""
        contents = self.snapshot.read_many(self.record_paths.values())
        return {
            row: decode(contents[path], Record, path) for row, path in self.record_paths.items()
        }

    def models(self) -> Iterator[Model]:
        """Every model in models/; raises InputError for one that is not canonical."""
        for path in sorted(self.snapshot.oids):
            folder, _, name = path.rpartition("/")
            if folder == "models" and name.endswith(".json"):
                yield decode(self.snapshot.read(path), Model, path)


def decode(data: bytes, type_: type[canonical.T], path: str) -> canonical.T:
    """The typed content of a registry file; raises InputError with line and reason."""
    try:
        return canonical.decode(data, type_)
    except (ValueError, RecursionError):
        from registry_tool.records.explain import explain
        from registry_tool.records.schema import schema_for

        problem = explain(data, type_, schema_for(type_))[0]
        fix = "registry-tool fmt" if problem.kind == "formatting" else "registry-tool check"
        raise InputError(problem.message, path=path, line=problem.line, fix=fix) from None


def load(snapshot: Snapshot) -> Registry:
    """The registry in ``snapshot``; raises InputError for a broken registry.yaml or spec."""
    cache = Cache(snapshot.repository)
    if POLICY not in snapshot.oids:
        raise RegistryError(
            f"{POLICY} is not in this state of the registry",
            path=snapshot.root,
            fix=f"git add {POLICY}",
        )
    return Registry(snapshot, read_policy(snapshot, cache, POLICY), specs_of(snapshot, cache))


def specs_of(snapshot: Snapshot, cache: Cache) -> dict[str, KernelSpec]:
    """The built-in specs, with the registry's own in their place or after them."""
    base = catalog.built_in()
    specs = dict(base)
    for path in sorted(snapshot.oids):
        folder, _, name = path.rpartition("/")
        if folder == "kernels" and name.endswith(".yaml"):
            spec = read_spec(snapshot, cache, path, base)
            specs[spec.kernel] = spec
    return specs


def read_policy(snapshot: Snapshot, cache: Cache, path: str) -> Policy:
    """The policy in registry.yaml; raises InputError with file and line."""
    return _remembered(
        cache,
        f"policy-{__version__}-{snapshot.oids[path]}.json",
        Policy,
        lambda: catalog.parse_policy(snapshot.read(path), path),
    )


def read_spec(
    snapshot: Snapshot, cache: Cache, path: str, base: Mapping[str, KernelSpec]
) -> KernelSpec:
    """A registry's own kernel page, which may build on ``base``; raises InputError."""
    # A partial page says different things over different built-in ones.
    below = digest(msgspec.json.encode(list(base.values())))[:12]
    spec = _remembered(
        cache,
        f"spec-{__version__}-{below}-{snapshot.oids[path]}.json",
        KernelSpec,
        lambda: catalog.parse_spec(snapshot.read(path), path, base),
    )
    if path != f"kernels/{spec.kernel}.yaml":
        raise InputError(
            f"the file of kernel {spec.kernel} is kernels/{spec.kernel}.yaml", path=path
        )
    return spec


def _remembered(
    cache: Cache, name: str, type_: type[canonical.T], parse: Callable[[], canonical.T]
) -> canonical.T:
    known = cache.load(name)
    if known is not None:
        try:
            return msgspec.convert(known, type_)
        except msgspec.ValidationError:
            pass
    value = parse()
    cache.save(name, msgspec.to_builtins(value))
    return value
