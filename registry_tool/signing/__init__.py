"""Signed verdicts: who may sign, what a signature proves, and making one with a git user's key.

Others need `signer_of` (whose signature a verdict has) and `claimed` (the same, unchecked).
"""

from registry_tool.signing.names import NAMESPACE, names_of
from registry_tool.signing.signer import Signer, claimed, signer_of

__all__ = ["NAMESPACE", "Signer", "claimed", "names_of", "signer_of"]
