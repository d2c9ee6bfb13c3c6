"""ssh-keygen: makes signatures, and judges what this process cannot (certificates)."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from registry_tool.errors import ToolError
from registry_tool.signing.keys import type_of
from registry_tool.signing.names import NAMESPACE
from registry_tool.signing.wire import WireError

if TYPE_CHECKING:
    from registry_tool.signing.fault import Fault
    from registry_tool.signing.trust import Trust

_BATCH = 200
"""Files that one ssh-keygen signs."""


class SigningError(ToolError):
    """A signature could not be made: no key, no agent, a wrong passphrase."""


class Found(NamedTuple):
    """What ssh-keygen says of a signature that a certificate made."""

    fault: Fault | None
    message: str
    principals: list[str]


def sign(files: Mapping[str, bytes], key: Path, program: str = "ssh-keygen") -> dict[str, bytes]:
    """The signature of each of ``files`` by ``key``: a private key, or a public one in the agent.

    Raises SigningError with ssh-keygen's own words. A passphrase is asked for once per batch.
    """
    names, found = list(files), {}
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        with tempfile.TemporaryDirectory(prefix="registry-tool-sign-") as folder:
            paths = [Path(folder, str(at)) for at in range(len(batch))]
            for path, name in zip(paths, batch, strict=True):
                path.write_bytes(files[name])
            words = [program, "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(key)]
            _sign(words, paths, key)
            for path, name in zip(paths, batch, strict=True):
                try:
                    found[name] = path.with_name(f"{path.name}.sig").read_bytes()
                except FileNotFoundError:
                    raise SigningError(f"{program} made no signature", path=key) from None
    return found


def _sign(words: Sequence[str], paths: Sequence[Path], key: Path) -> None:
    try:
        done = subprocess.run(
            [*words, *map(str, paths)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise SigningError(
            f"{words[0]} cannot be started: {error.strerror}", fix="install OpenSSH"
        ) from None
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split()) or f"status {done.returncode}"
        raise SigningError(
            f"the key could not sign: {said}",
            path=key,
            fix="ssh-add KEY, or --key FILE for another one",
        )


def verify_bytes(signature: bytes, message: bytes) -> None:
    """Raise WireError unless the armoured ``signature`` was made over ``message``."""
    with _files(signature=signature) as paths:
        words = ["-Y", "check-novalidate", "-n", NAMESPACE, "-s", paths["signature"]]
        done = _ask(words, message)
    if done.returncode != 0:
        raise WireError(f"ssh-keygen refuses it: {_words(done)}")


def judge_certificate(
    key: bytes, signature: bytes, message: bytes, trust: Trust, ran: int
) -> Found:
    """Whose a signature is that was made with the certificate ``key`` at ``ran``.

    ssh-keygen says only that it refuses; why is found out by asking again.
    """
    files = {"signature": signature, "allowed": trust.allowed_data}
    if trust.revoked_data:
        files["revoked"] = trust.revoked_data
    with _files(**files) as paths:
        common = ["-s", paths["signature"], "-f", paths["allowed"], "-O", f"verify-time={_at(ran)}"]
        done = _ask(["-Y", "find-principals", *common], b"")
        first = done.stdout.decode("utf-8", "replace").partition("\n")[0]
        principals = [name for name in first.split(",") if name]
        if done.returncode != 0 or not principals:
            return Found(*_unfound(key, ran), [])
        words = ["-Y", "verify", "-n", NAMESPACE, "-I", principals[0], *common]
        if _ask(words, message).returncode != 0:
            return Found("unknown", "no allowed signer vouches for its certificate", principals)
        if "revoked" in paths and _ask([*words, "-r", paths["revoked"]], message).returncode != 0:
            return Found("revoked", "its certificate, or who made it, is revoked", principals)
    return Found(None, "", principals)


def _unfound(key: bytes, ran: int) -> tuple[Fault, str]:
    """Why no principal is found for a certificate: it was not valid, or nobody vouches for it."""
    text = f"{type_of(key)} {base64.b64encode(key).decode()}\n"
    with _files(certificate=text.encode()) as paths:
        shown = _words(_ask(["-L", "-f", paths["certificate"]], b""))
    found = re.search(r"Valid: from (\S+) to (\S+)", shown)
    if found is not None and not found[1] <= _at(ran, "%Y-%m-%dT%H:%M:%S") <= found[2]:
        return "untimely", f"its certificate is valid from {found[1]} to {found[2]}"
    return "unknown", "no allowed signer vouches for its certificate"


def _at(moment: int, form: str = "%Y%m%d%H%M%S") -> str:
    return time.strftime(form, time.gmtime(moment))


@contextmanager
def _files(**contents: bytes) -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="registry-tool-verify-") as folder:
        paths = {name: str(Path(folder, name)) for name in contents}
        for name, data in contents.items():
            Path(paths[name]).write_bytes(data)
        yield paths


def _ask(words: Sequence[str], message: bytes) -> subprocess.CompletedProcess[bytes]:
    # Times without a zone mean UTC here, see `allowed`.
    environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
    try:
        return subprocess.run(
            ["ssh-keygen", *words],
            input=message,
            env=environment,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise WireError(f"ssh-keygen cannot be started: {error.strerror}") from None


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    said = (done.stderr + done.stdout).decode("utf-8", "replace")
    return " ".join(said.split())
