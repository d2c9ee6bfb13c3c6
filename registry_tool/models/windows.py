"""Which layers of a tower see a sliding window, and of how many tokens."""

from __future__ import annotations

from registry_tool.models.document import short
from registry_tool.models.families import Family
from registry_tool.models.keys import Keys

_SLIDING = ("sliding_attention", "local")
# What people write for "none", beside leaving the key out.
_NO_WINDOW = (None, False, 0, -1)
# Windows of other classes: a family that is derived here reads none of these.
_OTHERS = (
    "window_size",
    "attention_window",
    "attention_window_size",
    "local_attention",
    "local_window_size",
    "sliding_window_size",
)


def kinds(keys: Keys, family: Family, layers: int) -> list[str]:
    """``sliding`` or ``full`` for every layer."""
    for name in _OTHERS:
        if keys.raw(name) not in _NO_WINDOW:
            keys.notes.append(
                f"{name} {short(keys.raw(name))} is no key of {family.config_class}: no window is "
                "read from it"
            )
    listed = keys.strings("layer_types")
    if listed is not None and len(listed) != layers:
        raise keys.refuse(
            f"`{keys.named('layer_types')}` lists {len(listed)} layers, "
            f"`num_hidden_layers` = {layers}"
        )
    if not _window_is_on(keys, family):
        return ["full"] * layers
    if listed is not None:
        return ["sliding" if one in _SLIDING else "full" for one in listed]
    window = family.window
    if window.pattern == "all":
        return ["sliding"] * layers
    if window.pattern == "listed":
        keys.lack("layer_types")
        keys.check_complete(None)
    if window.pattern == "qwen":
        first = keys.whole("max_window_layers") if keys.raw("max_window_layers") != 0 else 0
        if first is None:
            keys.lack("max_window_layers")
            keys.check_complete(None)
            return []
        if first >= layers:
            keys.notes.append(
                f"sliding_window is on for no layer: max_window_layers {first} is not below "
                f"num_hidden_layers {layers}"
            )
        return ["full" if layer < first else "sliding" for layer in range(layers)]
    every = 2 if window.pattern == "alternate" else _every(keys, family)
    return ["full" if (layer + 1) % every == 0 else "sliding" for layer in range(layers)]


def _every(keys: Keys, family: Family) -> int:
    for name in ("sliding_window_pattern", "_sliding_window_pattern"):
        if keys.has(name):
            return keys.whole(name) or 1
    every = family.window.every
    keys.notes.append(
        f"sliding_window_pattern is absent: every {every}th layer is full, as in "
        f"{family.config_class}"
    )
    return every


def _window_is_on(keys: Keys, family: Family) -> bool:
    """Whether any layer may have a window, by the flag and the size of it."""
    listed = keys.strings("layer_types") or []
    off_by_default = family.window.pattern in ("qwen", "listed")
    if not keys.flag("use_sliding_window", not off_by_default):
        if keys.has("sliding_window"):
            why = "is false" if keys.has("use_sliding_window") else "is absent: false"
            keys.notes.append(
                f"sliding_window {short(keys.raw('sliding_window'))} is off (use_sliding_window "
                f"{why})"
            )
        return False
    stated = keys.raw("sliding_window")
    if "sliding_window" in keys.present and stated in _NO_WINDOW:
        if any(one in _SLIDING for one in listed):
            raise keys.refuse(
                f"`{keys.named('layer_types')}` names sliding layers, and "
                f"`{keys.named('sliding_window')}` is {short(stated)}"
            )
        if stated is not None:
            keys.notes.append(f"sliding_window {short(stated)} is no window")
        return False
    if listed and not any(one in _SLIDING for one in listed):
        return False
    absent = not keys.has("sliding_window")
    if absent and listed and family.window.size_if_absent is None:
        raise keys.refuse(
            f"`{keys.named('layer_types')}` names sliding layers: the config lacks "
            f"{keys.named('sliding_window')}; nothing is guessed"
        )
    return not absent or family.window.size_if_absent is not None


def window_size(keys: Keys, family: Family) -> int | None:
    """Tokens of the window, the class's where the file gives none."""
    stated = keys.whole("sliding_window")
    if stated is not None:
        return stated
    size = family.window.size_if_absent
    keys.notes.append(f"sliding_window is absent: {size} and on, as in {family.config_class}")
    return size
