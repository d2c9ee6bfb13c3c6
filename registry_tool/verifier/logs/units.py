"""Units of time and throughput as harnesses write them; lines are latin-1 text of UTF-8 bytes."""

from __future__ import annotations

_MICRO = ("\xc2\xb5", "\xce\xbc", "\xb5")  # the two signs for micro in UTF-8, one in latin-1
TIME = rf"(ns|us|(?:{'|'.join(_MICRO)})s|usec|ms|msec|s|sec)"
RATE = r"([KMGTP]?)FLOP(?:/s|S|s)?|([KMGTP]i?)B/s"
"""A unit of throughput: the prefix of FLOP/s, or that of B/s."""
GIGA = {"": 1e-9, "K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3, "P": 1e6} | {
    f"{prefix}i": 1024.0**power * 1e-9 for power, prefix in enumerate("KMGTP", 1)
}
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "usec": 1.0, "ms": 1e3, "msec": 1e3, "s": 1e6, "sec": 1e6}
MICROSECONDS |= {f"{micro}s": 1.0 for micro in _MICRO}
