"""Signed verdicts: who may sign, what a signature proves, and making one with a git user's key.

Others need `signer_of` (whose signature a verdict has), `reader` (the same for all verdicts of a
state) and `claimed` with `trust_of` (whose it says that it is, unchecked, for long lists).
"""

from registry_tool.signing.names import NAMESPACE, names_of
from registry_tool.signing.signer import Signer, claimed, reader, signer_of, trust_of

__all__ = ["NAMESPACE", "Signer", "claimed", "names_of", "reader", "signer_of", "trust_of"]
