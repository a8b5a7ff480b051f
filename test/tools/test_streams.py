"""Closed streams and full disks: exit code 1 and one line that names the stream or file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OPT = "onnxloom.tools.onnxloom_opt"


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`PY` in the line is the interpreter running a module."""
    return subprocess.run(
        ["sh", "-c", line.replace("PY ", f"{sys.executable} -m ")],
        capture_output=True, text=True, cwd=folder, timeout=120,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.mlir").write_text("builtin.module {}\n" + "// a comment\n" * 10)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "stream"),
    [
        (f"PY {OPT} a.mlir >&-", "<stdout>"),
        (f"PY {OPT} <&-", "<stdin>"),
        ("PY onnxloom.tools.cli -v >&-", "<stdout>"),
    ],
)
def test_a_closed_stream_is_an_error_in_one_line(folder: Path, line: str, stream: str) -> None:
    result = shell(line, folder)
    assert (result.returncode, result.stderr) == (1, f"{stream}: error: is closed\n")


def test_stdout_may_be_closed_when_the_result_goes_to_a_file(folder: Path) -> None:
    result = shell(f"PY {OPT} a.mlir -o b.mlir >&-", folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert (folder / "b.mlir").read_text().startswith("builtin.module")


def test_stderr_may_be_closed(folder: Path) -> None:
    result = shell(f"PY {OPT} nothing.mlir 2>&-", folder)
    assert (result.returncode, result.stdout) == (1, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_under_stdout_is_an_error_in_one_line(folder: Path, unbuffered: str) -> None:
    op = '  "test.op"() {text = "' + "x" * 2000 + '"} : () -> ()\n'
    (folder / "a.mlir").write_text("builtin.module {\n" + op * 4 + "}\n")
    result = shell(
        f"ulimit -f 2; PYTHONUNBUFFERED={unbuffered} PY {OPT} --allow-unregistered-dialect a.mlir >out",
        folder,
    )
    assert (result.returncode, result.stderr) == (1, "<stdout>: error: File too large\n")
