"""The JSON Schemas as they ship, for the copies in each registry that editors read."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from registry_tool.records.schema import TYPES, schema_files

_PACKAGE = Path(__file__).resolve().parent.parent
# In an installation, and in a checkout.
_FOLDERS = (_PACKAGE / "schemas", _PACKAGE.parent / "schemas")


@cache
def shipped() -> dict[str, bytes]:
    """File name to bytes of every schema."""
    names = [f"{name}.schema.json" for name in TYPES]
    for folder in _FOLDERS:
        if all((folder / name).is_file() for name in names):
            return {name: (folder / name).read_bytes() for name in names}
    # Making them anew takes 50 times as long.
    return schema_files()
