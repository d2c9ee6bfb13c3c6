"""What a code host knows a finding by, from one run to the next, though lines move."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

from registry_tool.rules.finding import Finding

# What moves when lines above it do, and says nothing about the finding itself.
_POSITIONS = re.compile(r"\blines? \d+(?: and \d+)?|:\d+(?=:)")


def fingerprints(findings: Iterable[Finding]) -> list[str]:
    """One for each finding; twice the same complaint about one place stays two."""
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        words = _POSITIONS.sub("", finding.message)
        parts = (finding.rule, finding.path, finding.pointer, words)
        print_ = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
        seen[print_] += 1
        found.append(f"{print_}:{seen[print_]}")
    return found
