"""What a person may choose when needs are derived: lengths, batch, fusing, padding, family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from registry_tool.errors import UsageError
from registry_tool.models.keys import LARGEST

Fuse = Literal["qkv", "gate_up", "stored"]
FUSES: tuple[Fuse, ...] = ("qkv", "gate_up", "stored")
PADS = ("M", "K", "N")


@dataclass(frozen=True)
class Options:
    """The choices, each stated in the model's notes where it differs from these.

    ``seqs`` are prefill lengths and ``batch`` counts sequences, both in tokens' terms; ``fuse``
    names projections to run as one (``stored``: as the checkpoint holds them); ``pad`` gives
    multiples to round up to: ``M`` the tokens of a sequence, ``K`` and ``N`` the widths that a
    weight reduces and yields. ``read_as`` is the family to read the keys of an unknown model_type
    by, ``defaults`` the family whose documented defaults fill absent keys, ``image`` the height and
    width in pixels that a vision tower gets.
    """

    seqs: tuple[int, ...] = (2048,)
    batch: int = 1
    fuse: frozenset[Fuse] = frozenset()
    pad: Mapping[str, int] = field(default_factory=dict)
    read_as: str | None = None
    defaults: str | None = None
    image: tuple[int, int] | None = None

    @property
    def words(self) -> list[str]:
        """The choices beyond lengths and batch, as one types them."""
        words = [f"--fuse {name}" for name in sorted(self.fuse)]
        words += [f"--pad {dim}={multiple}" for dim, multiple in sorted(self.pad.items())]
        if self.image is not None:
            words.append(f"--image {self.image[0]}x{self.image[1]}")
        for option, value in (("--as", self.read_as), ("--defaults", self.defaults)):
            if value is not None:
                words.append(f"{option} {value}")
        return words

    def check(self) -> None:
        """Raise UsageError if a choice is no size."""
        if not self.seqs:
            raise UsageError("--seq names no length")
        for seq in self.seqs:
            _check("--seq", seq)
        _check("--batch", self.batch)
        if max(self.seqs) * self.batch > LARGEST:
            raise UsageError(f"--seq times --batch is more than {LARGEST} tokens")
        for dim, multiple in self.pad.items():
            if dim not in PADS:
                raise UsageError(f"--pad rounds {', '.join(PADS)} up, not {dim!r}")
            _check(f"--pad {dim}", multiple)
        for pixels in self.image or ():
            _check("--image", pixels)


def _check(option: str, value: int) -> None:
    if value < 1:
        raise UsageError(f"{option} must be at least 1, found {value}")
    if value > LARGEST:
        raise UsageError(f"{option} must be at most {LARGEST}, found {value}")
