"""Needs of kernels that the registry has no page for: nothing can be run for them."""

from __future__ import annotations

from msgspec import structs

from registry_tool.records.model import Model, Need, Uncovered
from registry_tool.store.registry import Registry


def pageless(registry: Registry, model: Model) -> list[Need]:
    """The needs of ``model`` whose kernel has no spec here: another registry saved it, or its
    own spec was taken away."""
    return [need for need in model.needs if need.kernel not in registry.specs]


def paged(registry: Registry, model: Model) -> Model:
    """``model`` with such needs among its parts without a page."""
    without = pageless(registry, model)
    if not without:
        return model
    parts = [
        Uncovered(
            phase=need.phase,
            site=need.site,
            reason=f"no page {need.kernel} in this registry, for {text(need)}",
        )
        for need in without
    ]
    needs = [need for need in model.needs if need.kernel in registry.specs]
    return structs.replace(model, needs=needs, uncovered=[*model.uncovered, *parts])


def text(need: Need) -> str:
    """The shape of a need, without a page that says how one writes it."""
    return " ".join(f"{dim}={size}" for dim, size in need.shape.items())
