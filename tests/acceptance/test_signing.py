"""Signing through the real command: git's own key, agents, hooks; what is said when it fails."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance import world as worlds
from tests.acceptance.world import World
from tests.signing import keyring
from tests.signing.keyring import SshKey
from tests.signing.world import line

ROPE = ("verify", "--kernel", "RoPE_bf16", "--shape", "64x64")


@pytest.fixture
def alice(tmp_path: Path) -> SshKey:
    return keyring.make(tmp_path, "alice")


def ask_for(world: World, *lines: str, level: str = "required") -> None:
    """Commit a policy that looks at signatures, and the allowed signers ``lines``."""
    policy = world.registry / "registry.yaml"
    text = policy.read_text()
    assert 'signing: "off"' in text
    policy.write_text(text.replace('signing: "off"', f"signing: {level}"))
    folder = world.registry / "signers"
    folder.mkdir(exist_ok=True)
    (folder / "allowed_signers").write_text("".join(f"{one}\n" for one in lines))
    world.git("add", "-A")
    world.git("commit", "-qm", "Ask for signatures", "--no-verify")


def use(world: World, key: str) -> None:
    """Set git up to sign with ``key``."""
    world.git("config", "gpg.format", "ssh")
    world.git("config", "user.signingkey", key)


def signatures(world: World) -> list[Path]:
    return sorted((world.registry / "verdicts").rglob("*.sig"))


def test_verify_signs_with_the_key_of_git_and_the_hook_lets_it_in(
    hooked: World, alice: SshKey
) -> None:
    ask_for(hooked, line("alice", alice))
    use(hooked, f"{alice.path}.pub")
    hooked.ok(*ROPE)
    (path,) = signatures(hooked)
    done = hooked.commit("-m", "Verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.relative_to(hooked.folder).as_posix() in hooked.git("ls-files")
    assert hooked.git("status", "--porcelain") == ""
    verdict = path.with_suffix("")
    done = subprocess.run(
        ["ssh-keygen", "-Y", "verify", "-n", "registry-tool-verdict-v1", "-I", "alice@example.org",
         "-f", "signers/allowed_signers", "-s", str(path)],
        cwd=hooked.registry, input=verdict.read_bytes(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_without_a_key_the_run_stands_and_can_be_signed_later(hooked: World, alice: SshKey) -> None:
    ask_for(hooked, line("alice", alice))
    done = hooked.tool(*ROPE)
    assert done.returncode == 1
    assert "sign --all-unsigned" in done.stderr
    assert "user.signingkey" in done.stderr
    refused = hooked.commit("-m", "Verify")
    assert refused.returncode == 1
    assert "KR121" in refused.stdout + refused.stderr
    assert "signed 1 verdict" in hooked.ok("sign", "--all-unsigned", "--key", str(alice.path))
    assert hooked.commit("-m", "Verify").returncode == 0
    assert "nothing to sign" in hooked.ok("sign", "--all-unsigned", "--key", str(alice.path))


@pytest.fixture
def agent(tmp_path: Path, alice: SshKey) -> Iterator[dict[str, str]]:
    """An agent that holds alice's key, whose file is gone."""
    socket = tmp_path / "agent"
    process = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()  # it listens
        found = {"SSH_AUTH_SOCK": str(socket)}
        subprocess.run(
            ["ssh-add", "-q", str(alice.path)],
            env={"PATH": "/usr/bin:/bin", **found}, check=True, capture_output=True,
        )  # fmt: skip
        alice.path.unlink()
        yield found
    finally:
        process.terminate()
        process.communicate()


def test_a_key_that_only_an_agent_holds_signs(
    world: World, alice: SshKey, agent: dict[str, str]
) -> None:
    ask_for(world, line("alice", alice), level="optional")
    world.environment.update(agent)
    use(world, f"key::{alice.public}")
    world.ok(*ROPE)
    assert len(signatures(world)) == 1
    assert world.json("check")["findings"] == []
    del world.environment["SSH_AUTH_SOCK"]
    done = world.tool(*ROPE, "--force", "--sign")
    assert done.returncode == 1
    assert "the key could not sign" in done.stderr
    assert len(signatures(world)) == 1


def test_the_first_key_of_the_default_command_is_taken(
    world: World, alice: SshKey, agent: dict[str, str]
) -> None:
    ask_for(world, line("alice", alice))
    world.environment.update(agent)
    world.git("config", "gpg.format", "ssh")
    world.git("config", "gpg.ssh.defaultKeyCommand", "ssh-add -L")
    world.ok(*ROPE)
    assert world.json("check")["findings"] == []


def test_policy_and_options_decide_whether_verify_signs(world: World, alice: SshKey) -> None:
    use(world, str(alice.path))
    world.ok(*ROPE)
    assert signatures(world) == []  # off
    world.ok(*ROPE, "--force", "--sign")
    assert len(signatures(world)) == 1
    world.git("commit", "-qm", "Verify")
    ask_for(world, line("alice", alice), level="optional")
    world.git("config", "--unset", "user.signingkey")
    world.ok(*ROPE, "--force")
    assert len(signatures(world)) == 1
    before = world.verdicts()
    assert world.tool(*ROPE, "--force", "--sign").returncode == 2
    assert world.tool(*ROPE, "--force", "--key", "/nowhere/key").returncode == 2
    assert world.verdicts() == before


def test_a_second_signer_stands_beside_the_first(
    world: World, alice: SshKey, tmp_path: Path
) -> None:
    bob = keyring.make(tmp_path, "bob")
    ask_for(world, line("alice", alice), line("bob", bob))
    world.ok(*ROPE, "--key", str(alice.path))
    world.git("commit", "-qm", "Verify")
    (first,) = signatures(world)
    before = first.read_bytes()
    world.ok("sign", "RoPE_bf16/64x64", "--key", str(bob.path))
    assert "had this key" in world.ok("sign", "RoPE_bf16/64x64", "--key", str(bob.path))
    assert len(signatures(world)) == 2
    assert first.read_bytes() == before
    assert world.json("check", "--staged")["findings"] == []
    world.git("commit", "-qm", "Sign, too")
    assert world.json("check")["findings"] == []


def test_sign_says_when_the_gate_will_not_count_the_signature(
    world: World, alice: SshKey, tmp_path: Path
) -> None:
    mallory = keyring.make(tmp_path, "mallory")
    ask_for(world, line("alice", alice))
    use(world, str(alice.path))
    done = world.tool(*ROPE, "--no-sign")
    assert done.returncode == 1
    assert "requires it" in done.stderr
    assert signatures(world) == []
    done = world.tool("sign", "--all-unsigned", "--key", str(mallory.path))
    assert done.returncode == 0
    assert "will not count" in done.stderr
    assert {one["rule"] for one in world.json("check", status=1)["findings"]} == {"KR123"}


def test_neither_an_edited_verdict_is_signed_nor_a_file_signed_over(
    world: World, alice: SshKey
) -> None:
    ask_for(world, line("alice", alice))
    world.tool(*ROPE)
    (verdict,) = world.verdicts()
    text = verdict.read_text()
    verdict.write_text(text.replace('"rtol": 0.016', '"rtol": 0.116'))
    done = world.tool("sign", "RoPE_bf16/64x64", "--key", str(alice.path))
    assert done.returncode == 2
    assert "was edited" in done.stderr
    assert signatures(world) == []
    verdict.write_text(text)
    path = verdict.with_name(f"{verdict.name}.sig")
    path.write_text("not a signature\n")
    done = world.tool("sign", "RoPE_bf16/64x64", "--key", str(alice.path))
    assert done.returncode == 2
    assert "rm " in done.stderr
    assert path.read_text() == "not a signature\n"


@pytest.mark.parametrize(
    "words",
    [
        ("sign",),
        ("sign", "--all-unsigned", "RoPE_bf16/64x64"),
        ("sign", "--all-unsigned"),  # signing is off
        ("sign", "RoPE_bf16/64x64"),  # no such row
        ("sign", "--target", "npu2", "x"),
        ("sign", "--all-unsigned", "--target", "npu9"),
    ],
)
def test_what_cannot_be_signed_is_said(world: World, words: tuple[str, ...]) -> None:
    done = world.tool(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("registry-tool sign: ")


def test_signatures_survive_conversions_and_ignore_files(tmp_path: Path, alice: SshKey) -> None:
    world = worlds.make(tmp_path)
    ask_for(world, line("alice", alice))
    (world.folder / ".git" / "info" / "exclude").write_text("*.sig\n")
    world.git("config", "core.autocrlf", "true")
    world.ok(*ROPE, "--key", str(alice.path))
    world.git("commit", "-qm", "Verify")
    clone = tmp_path / "clone"
    world.git("clone", "-q", "-c", "core.autocrlf=true", str(world.folder), str(clone))
    (path,) = (clone / "verdicts").rglob("*.sig")
    assert b"\r" not in path.read_bytes()
    done = world.run("registry-tool", "check", "--registry", str(clone))
    assert done.returncode == 0, done.stdout
