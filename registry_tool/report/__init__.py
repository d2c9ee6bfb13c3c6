"""How a report of the gate is written: a table of formats, each a function to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from registry_tool.report import json, text
from registry_tool.rules.model import Report

Reporter = Callable[[Report, str], str]
"""Report and the way from the working folder to the registry (empty, or with a slash) to text."""

FORMATS: Mapping[str, Reporter] = {"text": text.write, "json": json.write}
