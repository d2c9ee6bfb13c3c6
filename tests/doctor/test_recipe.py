from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from registry_tool.doctor.recipe import Call, calls, without_printing

HERE = Path("/tree/kernel")
WORDS = st.lists(st.text(st.characters(blacklist_characters="\0", codec="utf-8")), max_size=6)


@given(WORDS)
def test_quoted_arguments_come_back(words: list[str]) -> None:
    found = calls(f"cd build && python3 ../run.py {shlex.join(words)}", HERE)
    assert found == [Call("python3", "../run.py", tuple(words), HERE / "build")]
    assert found[0].path == HERE / "run.py"


@given(st.text())
def test_any_text_is_read_to_its_end(text: str) -> None:
    calls(text, HERE)
    without_printing(text)


@given(st.lists(st.sampled_from(["a", "'b c'", '"d\\"e"', "\\\n", "f\\ g", "#", " ", "h#i"])))
def test_words_are_those_of_a_real_shell(parts: list[str]) -> None:
    assume(not {"#", "\\\n"} <= set(parts))  # a comment ends with its line, and `a` would be run
    line = "".join(parts)
    shell = subprocess.run(
        ["sh", "-c", f"printf '%s\\0' x {line}\n"], capture_output=True, check=True
    )
    wanted = shell.stdout.decode().split("\0")[1:-1]
    found = calls(f"python3 run.py {line}", HERE)
    assert list(found[0].arguments) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "python3 a.py --n 1",
        "  python3 -u a.py --n 1 > log 2>&1",
        "A=1 B='x y' python3 a.py --n 1",
        "env A=1 python3 -X dev a.py --n 1",
        "flock -x -w 9 /tmp/l timeout 5 /usr/bin/python3.11 a.py --n 1 | tee log",
        "if [ -x /usr/bin/python3 ]; then python3 a.py --n 1; else exit 1; fi",
        "(cd /else && true); python3 a.py --n 1",
        "cd /else\npython3 a.py --n 1",
        "echo python3 b.py --m; python3 a.py \\\n\t--n \\\n\t1 # --k",
        "bash -c 'python3 a.py --n 1'",
        "./a.py --n 1",
    ],
)
def test_a_script_is_found_wherever_it_stands(text: str) -> None:
    (found,) = calls(text, HERE)
    assert (found.path, found.arguments) == (HERE / "a.py", ("--n", "1"))


@pytest.mark.parametrize("text", ["python3 -c 'import a'", "which python3", "rm a.py", "mkdir x"])
def test_what_starts_no_script_is_none(text: str) -> None:
    assert calls(text, HERE) == []


def test_what_is_only_printed_is_left_out() -> None:
    assert without_printing('echo "for 1"; cc -D1') == without_printing("echo for 2; cc -D1")
    assert without_printing("echo 1; cc -D1") != without_printing("echo 1; cc -D2")
