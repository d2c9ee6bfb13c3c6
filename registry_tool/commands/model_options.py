"""The choices of how a config.json's needs are derived, shared by `shapes`, `plan` and `verify`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from registry_tool.commands.common import is_size
from registry_tool.errors import UsageError

if TYPE_CHECKING:
    from registry_tool.models.options import Fuse, Options

SEQ = 2048


def add_model_options(group: argparse._ActionsContainer) -> None:
    """The options; `options_of` reads them."""
    group.add_argument(
        "--seq",
        action="append",
        metavar="N,...",
        help=f"prefill length in tokens, several with commas or again (default: {SEQ})",
    )
    group.add_argument("--batch", default="1", metavar="N", help="sequences at a time")
    group.add_argument(
        "--fuse",
        action="append",
        metavar="NAME,...",
        help="run projections as one: qkv, gate_up, or stored (as the checkpoint holds them)",
    )
    group.add_argument(
        "--pad",
        action="append",
        metavar="DIM=N,...",
        help="round up to a multiple of N: M (tokens of a sequence), K, N (widths of weights)",
    )
    group.add_argument(
        "--image", metavar="HxW", help="pixels of the image that a vision tower gets"
    )
    group.add_argument(
        "--as", dest="read_as", metavar="FAMILY", help="read an unknown model_type as this family"
    )
    group.add_argument(
        "--defaults",
        metavar="FAMILY",
        help="fill absent keys with the defaults of this family's configuration class",
    )


def options_of(args: argparse.Namespace) -> Options:
    """What was chosen; raises UsageError for words that are no choice."""
    from registry_tool.models.options import Options

    options = Options(
        seqs=tuple(_size("--seq", part) for part in _parts(args.seq)) or (SEQ,),
        batch=_size("--batch", args.batch),
        fuse=frozenset(_fuse(part) for part in _parts(args.fuse)),
        pad=dict(_pad(part) for part in _parts(args.pad)),
        read_as=args.read_as,
        defaults=args.defaults,
        image=_image(args.image) if args.image is not None else None,
    )
    options.check()
    return options


def _parts(words: list[str] | None) -> list[str]:
    return [part.strip() for word in words or () for part in word.split(",") if part.strip()]


def _size(option: str, text: str) -> int:
    if not is_size(text) or int(text) < 1:
        raise UsageError(f"{option} is a whole number from 1, found {text[:40]!r}")
    return int(text)


def _fuse(text: str) -> Fuse:
    from registry_tool.models.options import FUSES

    for known in FUSES:
        if text == known:
            return known
    raise UsageError(f"--fuse {text[:40]!r}: there are {', '.join(FUSES)}")


def _pad(text: str) -> tuple[str, int]:
    from registry_tool.models.options import PADS

    dim, _, multiple = text.partition("=")
    if dim not in PADS or not is_size(multiple) or int(multiple) < 1:
        raise UsageError(f"--pad {text[:40]!r}: expected {', '.join(PADS)} as DIM=MULTIPLE")
    return dim, int(multiple)


def _image(text: str) -> tuple[int, int]:
    parts = text.replace("×", "x").split("x")
    if len(parts) not in (1, 2) or not all(is_size(part) and int(part) for part in parts):
        raise UsageError(f"--image {text[:40]!r}: expected HEIGHTxWIDTH in pixels")
    height, width = int(parts[0]), int(parts[-1])
    return height, width
