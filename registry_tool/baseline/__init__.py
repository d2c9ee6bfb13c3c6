"""The debt of an adopted registry: imported rows, named by digest, that a run has to replace."""

from __future__ import annotations

from registry_tool.baseline.make import Imported, make, of_disk
from registry_tool.records.baseline import PATH

__all__ = ["PATH", "Imported", "make", "of_disk"]
