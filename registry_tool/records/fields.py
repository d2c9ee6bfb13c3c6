"""The scalar types and the strict base that every registry file is built from."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

# End of text as every regex dialect reads it: `$` matches before a newline in some, `\Z` is not
# known to ECMA 262.
_END = r"(?![\s\S])"

Count = Annotated[int, Meta(ge=1)]
Size = Annotated[int, Meta(ge=0)]
NonNegative = Annotated[float, Meta(ge=0.0)]
Positive = Annotated[float, Meta(gt=0.0)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*" + _END, max_length=128)]
Line = Annotated[str, Meta(min_length=1, pattern=r"^[^\x00-\x1f\x7f]*" + _END)]
Remark = Annotated[str, Meta(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*" + _END)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}" + _END)]
RuleId = Annotated[str, Meta(pattern=r"^KR[0-9]{3}" + _END)]
Date = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}" + _END)]
Timestamp = Annotated[
    str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z" + _END)
]
RunId = Annotated[str, Meta(pattern=r"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}" + _END)]
Precision = Literal["high", "low"]
VerdictKind = Literal["harness", "diagnosis", "imported"]
Status = Literal["pass", "fail", "error", "timeout", "incomplete", "unverified"]


class Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every part of a registry file: immutable, and strict about unknown fields."""
