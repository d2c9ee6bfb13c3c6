from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from registry_tool.cli import main
from tests.tables.samples import by_id, gemm_records, load, on_disk, write_registry

PAGE = "details/GEMM_bf16_in_bf16_out.md"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_registry(tmp_path, gemm_records())


def render(root: Path, *options: str) -> int:
    return main(["render", "--registry", str(root), *options])


def edit(root: Path) -> None:
    page = root / PAGE
    page.write_bytes(page.read_bytes().replace(b"9592", b"9999"))


def test_render_writes_and_says_what_it_wrote(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert render(root) == 0
    assert f"wrote {PAGE}" in capsys.readouterr().out
    assert "9592" in (root / PAGE).read_text("utf-8")
    assert render(root) == 0
    assert capsys.readouterr().out == "everything is up to date\n"


def test_quiet_says_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert render(root, "--quiet") == 0
    assert capsys.readouterr().out == ""


def test_check_writes_nothing_and_names_what_is_out_of_date(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    render(root)
    (root / next(iter(by_id(gemm_records()))).record_path).unlink()
    before = on_disk(root)
    capsys.readouterr()
    assert render(root, "--check") == 1
    out = capsys.readouterr().out
    assert f"{PAGE} is out of date" in out
    assert "supported_kernels.md is out of date" in out
    assert on_disk(root) == before
    assert render(root) == 0
    assert render(root, "--check") == 0


def test_a_hand_edit_is_refused_and_nothing_is_written(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    render(root)
    edit(root)
    (root / "supported_kernels.md").unlink()
    before = on_disk(root)
    assert render(root) == 2
    assert f"{PAGE}:11: region 'shapes' was edited by hand" in capsys.readouterr().err
    assert on_disk(root) == before


def test_force_overwrites_a_hand_edit(root: Path) -> None:
    render(root)
    done = on_disk(root)
    edit(root)
    assert render(root, "--force") == 0
    assert on_disk(root) == done


def test_a_page_that_would_not_read_back_is_not_written(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    render(root)
    page = root / PAGE
    page.write_bytes(page.read_bytes().replace(b"# GEMM", b"\xff\n# GEMM"))
    (root / next(iter(by_id(gemm_records()))).record_path).unlink()
    before = on_disk(root)
    assert render(root) == 2
    assert "not UTF-8" in capsys.readouterr().err
    assert on_disk(root) == before


def test_crlf_pages_stay_crlf(root: Path) -> None:
    render(root)
    page = root / PAGE
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    assert render(root, "--check") == 0
    (root / next(iter(by_id(gemm_records()))).record_path).unlink()
    assert render(root) == 0
    data = page.read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n")


def test_render_stages_exactly_what_it_wrote(root: Path) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True)
        return done.stdout

    git("init", "-q")
    (root / "unrelated.txt").write_text("x")
    assert render(root, "--no-stage") == 0
    assert git("diff", "--cached", "--name-only") == ""
    (root / PAGE).unlink()
    assert render(root) == 0
    assert git("diff", "--cached", "--name-only").split() == [PAGE]
    assert load(root).snapshot.repository is not None
