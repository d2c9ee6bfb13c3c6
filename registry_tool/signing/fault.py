"""What may be wrong with a signature, in one word each."""

from __future__ import annotations

from typing import Literal

Fault = Literal["bad", "unknown", "untimely", "late", "revoked", "role"]
"""`late` counts still: only the verdict itself says when it was made."""
