"""Compiles the built-in kernel specs to JSON when the package is built; no run reads YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SpecBuildHook(BuildHookInterface[Any]):
    """Runs for wheels and editable installs alike."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write registry_tool/kernels/compiled.json."""
        if self.target_name != "wheel":
            return
        sys.path.insert(0, str(Path(self.root)))
        from registry_tool.records.catalog import compile_built_in

        compile_built_in()
