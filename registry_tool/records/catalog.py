"""The kernel specs in force: the built-in ones, compiled to JSON, and a registry's own YAML.

A registry's own file for a built-in kernel may give only the fields that it changes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from registry_tool.errors import InputError
from registry_tool.records.fields import Part
from registry_tool.records.spec import KernelSpec, Policy

T = TypeVar("T", bound=Part)

BUILT_IN = Path(__file__).resolve().parent.parent / "kernels"
COMPILED = "compiled.json"


class _Compiled(Part, frozen=True):
    sources: dict[str, str]
    specs: list[KernelSpec]


@cache
def built_in() -> Mapping[str, KernelSpec]:
    """Kernel name to built-in spec, in the order of their file names."""
    sources = {path.name: path.read_bytes() for path in sorted(BUILT_IN.glob("*.yaml"))}
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in sources.items()}
    try:
        compiled = msgspec.json.decode((BUILT_IN / COMPILED).read_bytes(), type=_Compiled)
        if compiled.sources == digests:
            return {spec.kernel: spec for spec in compiled.specs}
    except (OSError, msgspec.DecodeError):
        pass
    specs = [parse_spec(data, f"{BUILT_IN.name}/{name}", {}) for name, data in sources.items()]
    _write_compiled(_Compiled(sources=digests, specs=specs))
    return {spec.kernel: spec for spec in specs}


def compile_built_in() -> None:
    """Write the compiled form of the built-in specs (when the package is built)."""
    built_in()


def _write_compiled(compiled: _Compiled) -> None:
    # A read-only installation stays slow but right.
    try:
        handle, name = tempfile.mkstemp(dir=BUILT_IN, prefix=".compiled-")
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(compiled))
        Path(name).chmod(0o644)
        Path(name).replace(BUILT_IN / COMPILED)
    except OSError:
        return


def parse_spec(data: bytes, path: str, base: Mapping[str, KernelSpec]) -> KernelSpec:
    """The spec in YAML ``data``; ``base`` holds the specs that a partial file may build on.

    Raises InputError with file and line.
    """
    document = _yaml(data, path)
    known = base.get(str(document.get("kernel")))
    if known is not None:
        document = {**msgspec.to_builtins(known), **document}
    return _convert(document, KernelSpec, data, path)


def parse_policy(data: bytes, path: str) -> Policy:
    """The policy in the YAML ``data`` of registry.yaml; raises InputError with file and line."""
    return _convert(_yaml(data, path), Policy, data, path)


def _yaml(data: bytes, path: str) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        document = YAML(typ="safe", pure=True).load(data.decode("utf-8"))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise InputError(f"not YAML: {error.problem}", path=path, line=line) from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"not YAML: {error}", path=path, line=1) from None
    if not isinstance(document, dict):
        raise InputError("expected a mapping of fields", path=path, line=1)
    return document


def _convert(document: dict[str, Any], type_: type[T], data: bytes, path: str) -> T:
    try:
        return msgspec.convert(document, type_)
    except msgspec.ValidationError as error:
        # Imported here: files are in order nearly always.
        from registry_tool.records.schema import schema_for
        from registry_tool.records.yaml_errors import field_error

        raise field_error(document, schema_for(type_), data, path, str(error)) from None
