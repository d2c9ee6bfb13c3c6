"""Example registries with signers: what policy and files say, and signatures beside verdicts."""

from __future__ import annotations

from tests.examples.build import Row
from tests.examples.example import POLICY, Example
from tests.signing.keyring import SshKey


def trust(
    example: Example, *lines: str, level: str = "required", revoked: str = "", roles: str = ""
) -> None:
    """Write a policy of signatures and the allowed signers ``lines``."""
    text = f"{POLICY}signing: {level!r}\n".replace("'", '"')
    if revoked or roles:
        text += "signers:\n"
    files = {"signers/allowed_signers": "".join(f"{line}\n" for line in lines)}
    if revoked:
        text += "  revoked: signers/revoked_keys\n"
        files["signers/revoked_keys"] = revoked
    if roles:
        text += f"  roles: {roles}\n"
    example.write({"registry.yaml": text, **files})


def sign(example: Example, key: SshKey, *rows: Row, suffix: str = "") -> list[str]:
    """Put a signature of each row's verdict beside it; their paths."""
    paths = []
    for row in rows:
        path = f"{row.artifact}{suffix}.sig"
        example.write({path: key.sign(example.path(row.artifact).read_bytes())})
        paths.append(path)
    return paths


def line(name: str, key: SshKey, options: str = "") -> str:
    """A line of allowed signers."""
    return f"{name}@example.org {options}{' ' if options else ''}{key.public}"
