"""What the stand-in harnesses share: one run, told as a real one would be, or spoilt on demand.

It takes the place of the runner that real harness scripts import: the lock that a harness
takes itself, the device line, the verdict lines, the timed loop. The numbers come from the
kernels' emulation; nothing here knows registry-tool's records or its verifier.
"""

from air_standin.harness import Kernel, object_of, run

__all__ = ["Kernel", "object_of", "run"]
