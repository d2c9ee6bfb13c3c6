"""Makefiles that `make -n` would carry out: found in the text, never given to make, still read."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry_tool.verifier import makefile_text
from tests.doctor.world import MAKEFILE, World

PLAIN = {"PATH": os.environ["PATH"]}


def why(folder: Path, text: str) -> str | None:
    (folder / "Makefile").write_text(text)
    found = makefile_text.runs_anyway(folder, PLAIN)
    return None if found is None else found[0]


def runs_under_n(folder: Path, text: str) -> bool:
    """Whether a real `make -n` of `run` touches the file `mark`."""
    (folder / "Makefile").write_text(text)
    subprocess.run(
        ["make", "-n", "-B", "run"], cwd=folder, env=PLAIN, capture_output=True, check=False
    )
    return (folder / "mark").exists()


TRAPS = {
    "MAKE": "run:\n\t$(MAKE) -v >/dev/null && touch mark\n",
    "braces": "run:\n\t${MAKE} -v >/dev/null && touch mark\n",
    "continued": "run:\n\ttrue && \\\n\t$(MAKE) -v >/dev/null && \\\n\ttouch mark\n",
    "plus": "run:\n\t+touch mark\n",
    "plus after at": "run:\n\t@-+ touch mark\n",
    "plus after space": "run:\n\t  +touch mark\n",
    "on the rule's line": "run: ; +touch mark\n",
    "behind a variable": "Q = +\nrun:\n\t$(Q)touch mark\n",
    "behind one of the target": "run: Q := @+\nrun:\n\t$(Q)touch mark\n",
    "in a define": "define DO\n+touch mark\nendef\nrun:\n\t$(DO)\n",
    "of a template": "define R\n$(1):\n\t+touch mark\nendef\n$(eval $(call R,run))\n",
    "under a condition": "ifdef PATH\nrun:\n\t+touch mark\nendif\n",
    "another prefix": ".RECIPEPREFIX = >\nrun:\n>+touch mark\n",
    "what it needs": "run: prep\n\techo\nprep:\n\t+touch mark\n",
    "a Makefile that is made": "run:\n\techo\nMakefile: ; touch mark\n",
    "an include that is made": "run:\n\techo\ninclude x.mk\nx.mk:\n\ttouch mark $@\n",
    "an include by pattern": "run:\n\techo\n-include x.mk\n%.mk:\n\ttouch mark $@\n",
    "an include by name": "X := x\nrun:\n\techo\ninclude $(X).mk\n$(X).mk:\n\ttouch mark $@\n",
}


@pytest.mark.parametrize("name", TRAPS)
def test_what_make_would_carry_out_is_seen_in_the_text(tmp_path: Path, name: str) -> None:
    assert why(tmp_path, TRAPS[name]) is not None
    assert not (tmp_path / "mark").exists()
    assert runs_under_n(tmp_path, TRAPS[name])  # or the trap is none


def test_the_line_is_named_also_of_an_included_file(tmp_path: Path) -> None:
    assert "(line 2)" in (why(tmp_path, TRAPS["plus"]) or "")
    (tmp_path / "more.mk").write_text("\nrun:\n\t+touch mark\n")
    assert f"({tmp_path / 'more.mk'}, line 3)" in (why(tmp_path, "include more.mk\n") or "")
    (tmp_path / "most.mk").write_text("include more.mk\n")
    assert f"({tmp_path / 'more.mk'}, line 3)" in (why(tmp_path, "-include *st.mk\n") or "")


def test_an_include_that_only_make_could_name_is_not_trusted(tmp_path: Path) -> None:
    assert "cannot be told" in (why(tmp_path, "include $(wildcard *.mk)\nrun:\n\techo\n") or "")


@pytest.mark.parametrize(
    "text",
    [
        MAKEFILE,
        "# $(MAKE) once\nFILES := $(MAKEFILE_LIST)\nrun:\n\techo + 1 && x+y\n",
        "N += 1\nrun: prep\n\tpython3 a.py --n $(N)\nprep: ; echo\n",
    ],
)
def test_an_ordinary_makefile_is_given_to_make(tmp_path: Path, text: str) -> None:
    assert why(tmp_path, text) is None


PIECES = (
    "Q = +",
    "Q := @",
    "M = $(MAKE)",
    "run: prep",
    "run:",
    "prep: Q = -+",
    "prep: ; $(Q)touch mark",
    "\t+touch mark",
    "\t@ $(Q)touch mark",
    "\ttouch mark # $(MAKE)",
    "\t$(M) -v; touch mark",
    "\ttouch mark \\",
    "define D",
    "+touch mark",
    "endef",
    "\t$(D)",
    "ifdef Q",
    "endif",
    "include y.mk",
    "y.mk: ; touch mark y.mk",
    "%.mk:",
    "",
)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8))
def test_what_is_given_to_make_runs_nothing(pieces: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, text = Path(name), "\n".join(pieces) + "\n"
        assert why(folder, text) is not None or not runs_under_n(folder, text)


# In the whole of doctor


def _nested(world: World, text: str = MAKEFILE) -> Path:
    """A tree whose recipe starts make, and a mark that it leaves when it is carried out."""
    mark = world.folder / "was-run"
    first = f"\ttouch {mark} && $(MAKE) object && \\\n\tPEANO"
    text = text.replace("run: object\n\tPEANO", f"run: object\n{first}")
    assert first in text
    world.write(text)
    return mark


def test_a_recipe_that_starts_make_is_not_asked_and_read_instead(world: World) -> None:
    mark = _nested(world)
    found = world.kernel("make run")
    assert found.status == "warning"
    assert "not asked: its recipes run even under -n (line 24)" in found.message
    assert (found.fix or "").startswith("sed -n 24p ")
    assert world.kernel("unit.py").status == "ok"
    assert world.kernel("build folder").status == "ok"
    assert not mark.exists()
    assert not (world.unit / "build_peano").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("run: object", "runs: object", "names no target run; near: runs"),
        ("ROUNDS", "ITERATIONS", "does not name ROUNDS"),
    ],
)
def test_what_the_text_lacks_is_a_problem_without_make(
    world: World, old: str, new: str, said: str
) -> None:
    mark = _nested(world)
    world.write((world.unit / "Makefile").read_text().replace(old, new))
    found = [one for one in world.looked_at() if one.name == "make run"]
    assert [one.status for one in found] == ["warning", "problem"]
    assert said in found[1].message
    assert not mark.exists()


def test_a_flag_that_the_text_passes_and_the_script_lacks_is_a_problem(world: World) -> None:
    mark = _nested(world, MAKEFILE.replace("--rounds", "--perf-iters"))
    assert "no longer takes --perf-iters" in world.kernel("unit.py").message
    assert not mark.exists()
