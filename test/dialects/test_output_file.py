"""A result appears whole or not at all, and nothing but a regular file is ever replaced."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from onnxloom.dialects.output_file import OutputFile


def write(path: Path, data: bytes) -> None:
    with OutputFile(path) as file:
        file.write(data)


def test_an_unfinished_file_leaves_the_one_before_alone(tmp_path: Path) -> None:
    path = tmp_path / "result"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError), OutputFile(path) as file:
        file.write(b"half of")
        assert path.read_bytes() == b"before"
        raise RuntimeError
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["result"]


def test_a_file_keeps_its_permissions_and_another_gets_the_usual_ones(tmp_path: Path) -> None:
    old, fresh, usual = tmp_path / "old", tmp_path / "fresh", tmp_path / "usual"
    old.write_bytes(b"")
    old.chmod(0o640)
    usual.write_bytes(b"")
    write(old, b"x")
    write(fresh, b"x")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert fresh.stat().st_mode == usual.stat().st_mode


@pytest.mark.parametrize("dangling", [False, True])
def test_a_symbolic_link_is_followed(tmp_path: Path, dangling: bool) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    link.symlink_to("folder/target")
    if not dangling:
        target.write_bytes(b"before")
    write(link, b"after")
    assert link.is_symlink()
    assert target.read_bytes() == b"after"
    assert os.listdir(tmp_path / "folder") == ["target"]


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_and_stays_a_pipe(tmp_path: Path, linked: bool) -> None:
    pipe, path = tmp_path / "pipe", tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(path, b"through")
    reader.join(10)
    assert read == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    ("place", "reason"), [("", "Is a directory"), ("nowhere/result", "No such file or directory")]
)
def test_errors_name_the_file_as_given(tmp_path: Path, place: str, reason: str) -> None:
    path = tmp_path / place
    with pytest.raises(OSError, match=reason) as caught:
        write(path, b"x")
    assert caught.value.filename == str(path)


def test_no_name_is_no_folder() -> None:
    with pytest.raises(FileNotFoundError):
        OutputFile("")


def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "result"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError) as caught:
            write(path, bytes(100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == str(path)
    assert os.listdir(tmp_path) == []
