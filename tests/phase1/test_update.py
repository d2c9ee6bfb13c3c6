"""Files that change together: all are rendered before any is written, and all or none change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from registry_tool.errors import InputError
from registry_tool.phase1 import update
from registry_tool.phase1.pages import Page
from registry_tool.phase1.regions import Section

PAGES = [
    Page(name, "T", "Words.", (Section("one", "One", b"\nbody\n\n"),))
    for name in ("docs/first.md", "last.md")
]


def test_what_is_up_to_date_is_not_written(tmp_path: Path) -> None:
    changed = update.render(tmp_path, PAGES, False, "")
    assert [path.relative_to(tmp_path).as_posix() for path in changed] == [
        "docs/first.md", "last.md",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []
    update.write(changed)
    assert update.render(tmp_path, PAGES, False, "") == {}


def test_a_write_that_fails_puts_the_others_back(tmp_path: Path) -> None:
    old, new, blocked = tmp_path / "old.md", tmp_path / "new.md", tmp_path / "file/x.md"
    old.write_text("as it was")
    (tmp_path / "file").write_text("no folder")
    with pytest.raises((InputError, OSError)):
        update.write({old: b"changed", new: b"new", blocked: b"never"})
    assert old.read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "old.md"]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "last.md").mkdir()
    with pytest.raises(InputError, match=r"last\.md"):
        update.render(tmp_path, PAGES, False, "")


def test_a_link_is_written_through(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("words\n")
    (tmp_path / "last.md").symlink_to(elsewhere)
    update.write(update.render(tmp_path, PAGES, False, ""))
    assert (tmp_path / "last.md").is_symlink()
    assert elsewhere.read_text().startswith("words\n")
    assert "registry:begin one" in elsewhere.read_text()


@pytest.mark.parametrize("kind", ["dangling", "file", "folder", "loop"])
def test_a_link_that_leads_outside_is_refused(tmp_path: Path, kind: str) -> None:
    folder, outside = tmp_path / "model", tmp_path / "outside"
    folder.mkdir()
    link, target = folder / "last.md", outside / "last.md"
    if kind != "dangling":
        outside.mkdir()
        target.write_text("not the model's\n")
    if kind == "folder":
        link, target = folder / "docs", outside
    link.symlink_to(link if kind == "loop" else target)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="symbolic link") as caught:
        update.render(folder, PAGES, True, "")
    assert "ls -ld" in (caught.value.fix or "")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_and_its_way_there_may_be_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "model").symlink_to("real")
    update.write(update.render(tmp_path / "model", PAGES, False, ""))
    assert (tmp_path / "real/docs/first.md").is_file()


def test_what_cannot_be_read_says_what_to_type(tmp_path: Path) -> None:
    (tmp_path / "last.md").mkdir()
    with pytest.raises(InputError) as caught:
        update.render(tmp_path, PAGES, False, "")
    assert (caught.value.fix or "").startswith("ls -ld ")
    (tmp_path / "last.md").rmdir()
    (tmp_path / "last.md").write_bytes(b"caf\xe9\n")
    with pytest.raises(InputError) as caught:
        update.render(tmp_path, PAGES, False, "")
    assert "UTF-8" in (caught.value.fix or "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_refused_before_anything(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir(mode=0o500)
    with pytest.raises(InputError, match="cannot be written to"):
        update.render(tmp_path, PAGES, False, "")
