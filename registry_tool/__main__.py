"""`python -m registry_tool` is `registry-tool`."""

from __future__ import annotations

import sys

from registry_tool.cli import main

if __name__ == "__main__":
    sys.exit(main())
