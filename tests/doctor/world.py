"""A harness tree with one kernel, and a registry that points at it; run by the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from registry_tool.doctor import kernel, locks
from registry_tool.doctor.check import Check
from registry_tool.doctor.sandbox import sandbox
from registry_tool.store.registry import load
from registry_tool.store.snapshot import of_worktree
from registry_tool.verifier.hardware import Place

KERNEL = "GELU_bf16"
FOLDER = "smooth/unit"
MAKEFILE = """\
here := $(shell dirname $(realpath $(firstword $(MAKEFILE_LIST))))
ifdef PEANO_INSTALL_DIR
  OUT := build_peano
else
  OUT := build_other
endif
N ?= 64
TILE ?= 32
ROUNDS ?= 0
HALF := $(shell echo $$(( $(TILE) / 2 )))
MODE ?= exact
ifeq ($(MODE),exact)
  MODE_FLAG = --exact
endif

object:
	mkdir -p $(OUT)
	@if [ -n "$(PEANO_INSTALL_DIR)" ]; then \\
		echo "compiling for $(N)"; \\
		$(PEANO_INSTALL_DIR)/bin/clang++ -DHALF=$(HALF) -c $(here)/unit.cc -o $(OUT)/unit.o; \\
	fi

run: object
	PEANO_INSTALL_DIR=$(PEANO_INSTALL_DIR) cd $(OUT) && ${powershell} python3 $(here)/unit.py \\
		--n $(N) $(MODE_FLAG) \\
		--rounds $(ROUNDS) $(MORE)
"""
SCRIPT = """\
import argparse

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="a unit")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--n", type=int, default=64)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--herd-shape", type=int, nargs=2)
    parser.add_argument("--arch", choices=["aie2", "aie2p"], default="aie2p")
    args = parser.parse_args()
    open("was-run", "w").close()
"""
COMMAND = (
    "make",
    "run",
    "N={N}",
    "TILE={tile_n}",
    "MODE=exact",
    "ROUNDS=20",
    "MORE=--herd-shape {herd_x} {herd_y}",
    "PEANO_INSTALL_DIR={peano}",
)


@dataclass
class World:
    folder: Path
    environ: dict[str, str]

    @property
    def tree(self) -> Path:
        return self.folder / "mlir" / "programming_examples"

    @property
    def unit(self) -> Path:
        return self.tree / FOLDER

    @property
    def registry(self) -> Path:
        return self.folder / "registry"

    @property
    def lock(self) -> Path:
        return self.folder / "device.lock"

    def write(self, makefile: str = MAKEFILE, script: str = SCRIPT) -> None:
        self.unit.mkdir(parents=True, exist_ok=True)
        (self.unit / "Makefile").write_text(makefile)
        (self.unit / "unit.py").write_text(script)

    def spec(self, command: tuple[str, ...] = COMMAND, folder: str = FOLDER) -> None:
        harness = {
            "build": [f"{FOLDER}/build_peano"],
            "correctness": {"folder": folder, "command": list(command)},
            "timing": None,
        }
        text = json.dumps({"kernel": KERNEL, "harness": {"npu2": harness}})
        path = self.registry / "kernels" / f"{KERNEL}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def policy(self, root: str | None = None, lock: str | None = None, more: str = "") -> None:
        (self.registry / "registry.yaml").write_text(
            "schema_version: 1\n"
            "targets:\n"
            "  npu2-emu: {kind: emulated, lock: {path: /tmp/emulated.lock}}\n"
            "  npu2:\n"
            "    kind: hardware\n"
            f"    lock: {{path: {lock or self.lock}}}\n"
            f"    harness_root: {root or self.tree}\n"
            f"{more}"
            'signing: "off"\n'
        )

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "registry_tool", "doctor", *words],
            cwd=self.registry,
            env={**self.environ, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def checks(self, **more: str) -> list[dict[str, Any]]:
        done = self.run("--kernel", KERNEL, "--format", "json", **more)
        assert done.returncode in (0, 1), done.stderr
        found = json.loads(done.stdout)["checks"]
        problems = [one for one in found if one["status"] == "problem"]
        assert bool(problems) == (done.returncode == 1)
        assert all(one["fix"] for one in found if one["status"] != "ok")
        return found  # type: ignore[no-any-return]

    def check(self, topic: str, name: str, **more: str) -> dict[str, Any]:
        """The one check of ``topic`` whose name starts with ``name``."""
        found = [
            one
            for one in self.checks(**more)
            if one["topic"] == topic and one["name"].startswith(name)
        ]
        assert len(found) == 1, found
        return found[0]

    def looked_at(self) -> list[Check]:
        """What is said of the kernel itself: the same as the command, without the rest of it."""
        place = Place(str(self.tree), self.environ["PEANO_INSTALL_DIR"])
        spec = load(of_worktree(self.registry)).spec(KERNEL)
        with sandbox(self.environ) as box:
            return kernel.check(spec, "npu2", place, box)

    def kernel(self, name: str) -> Check:
        (found,) = [one for one in self.looked_at() if one.name.startswith(name)]
        assert found.fix or found.status == "ok"
        return found

    def locked(self, name: str) -> Check:
        target = load(of_worktree(self.registry)).target("npu2")
        (found,) = [one for one in locks.check("npu2", target) if one.name == name]
        return found


def make(folder: Path) -> World:
    """A tree and a registry with nothing wrong in them, and a compiler that would leave a mark."""
    peano = folder / "llvm-aie"
    (peano / "bin").mkdir(parents=True)
    clang = peano / "bin" / "clang++"
    clang.write_text(f'#!/bin/sh\ncase " $* " in *" -c "*) touch {folder}/was-compiled;; esac\n')
    clang.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if k not in ("TMPDIR", "TEMP", "TMP", "MAKEFLAGS")}
    world = World(folder, {**kept, "PEANO_INSTALL_DIR": str(peano)})
    world.registry.mkdir()
    world.write()
    world.spec()
    world.policy()
    return world
