"""ssh-keygen: makes signatures, and judges what this process cannot (certificates)."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from registry_tool.errors import ToolError
from registry_tool.signing.names import NAMESPACE
from registry_tool.signing.wire import WireError

if TYPE_CHECKING:
    from registry_tool.signing.judge import Fault
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


def judge_certificate(signature: bytes, message: bytes, trust: Trust, ran: int) -> Found:
    """Whose a signature is that was made with a certificate at ``ran`` (seconds since 1970)."""
    moment = f"verify-time={time.strftime('%Y%m%d%H%M%S', time.gmtime(ran))}"
    files = {"signature": signature, "allowed": trust.allowed_data}
    if trust.revoked_data:
        files["revoked"] = trust.revoked_data
    with _files(**files) as paths:
        common = ["-s", paths["signature"], "-f", paths["allowed"], "-O", moment]
        # Asked at its own time: whoever is not valid then is not found.
        done = _ask(["-Y", "find-principals", *common], b"")
        principals = done.stdout.decode("utf-8", "replace").split("\n")[0].split(",")
        principals = [name for name in principals if name]
        if done.returncode != 0 or not principals:
            return Found(*_unfound(_words(done)), [])
        revoked = ["-r", paths["revoked"]] if "revoked" in paths else []
        words = ["-Y", "verify", "-n", NAMESPACE, "-I", principals[0], *common, *revoked]
        done = _ask(words, message)
    if done.returncode == 0:
        return Found(None, "", principals)
    said = _words(done)
    fault: Fault = "revoked" if "revoked" in said.lower() else _unfound(said)[0]
    return Found(fault, f"ssh-keygen refuses the certificate: {said}", principals)


def _unfound(said: str) -> tuple[Fault, str]:
    out_of_time = "expired" in said.lower() or "not yet valid" in said.lower()
    fault: Fault = "untimely" if out_of_time else "unknown"
    return fault, f"no allowed signer vouches for its certificate: {said or 'none matches'}"


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
