"""Figures and steps between them, in the words that every format uses."""

from __future__ import annotations

from registry_tool.review.model import Figure


def number(value: float | None) -> str:
    """A figure as it was recorded, without digits that only binary fractions have."""
    return "–" if value is None else f"{value:.6g}"


def step(figure: Figure) -> str:
    """One figure before and after, and what to make of it."""
    unit = f" {figure.unit}" if figure.unit else ""
    if figure.trend in ("same", "new", "gone"):
        value = figure.after if figure.before is None else figure.before
        tail = {"same": " (same)", "gone": " (gone)", "new": ""}[figure.trend]
        return f"{figure.name} {number(value)}{unit}{tail}"
    return (
        f"{figure.name} {number(figure.before)} → {number(figure.after)}{unit}"
        f" ({share(figure)}{judgement(figure)})"
    )


def share(figure: Figure) -> str:
    """The step as a share of what was, e.g. `+3.2 %`."""
    if not figure.before or figure.after is None:
        return ""
    return f"{(figure.after - figure.before) / figure.before:+.1%}".replace("%", " %")


def judgement(figure: Figure) -> str:
    """Better or worse, and by which spread that is told."""
    if figure.trend == "changed":
        return ""
    if figure.spread is None:
        return f", {figure.trend}, no spread recorded"
    spread = f"{figure.spread:.1%}".replace("%", " %")
    if figure.trend == "within spread":
        return f", within the spread of {spread}"
    return f", {figure.trend}, spread {spread}"
