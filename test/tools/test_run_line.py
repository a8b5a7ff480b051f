"""RUN lines run in process must give the verdict that a shell would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from onnxloom.tools.testing.run_line import Command, parse, run, run_lines


def command(line: str, tmp_path: Path) -> list[Command] | None:
    return parse(line, tmp_path / "a.mlir", tmp_path / "t")


def test_pipeline_with_redirections_and_negation(tmp_path: Path) -> None:
    parsed = command("not onnxloom-opt %s -p 'a,b{c=\"d e\"}' 2>&1 | filecheck %s --check-prefix=X", tmp_path)
    source = str(tmp_path / "a.mlir")
    assert parsed == [
        Command("onnxloom-opt", (source, "-p", 'a,b{c="d e"}'), negated=True, merge_stderr=True),
        Command("filecheck", (source, "--check-prefix=X")),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "onnxloom-opt %s && filecheck %s",
        "onnxloom-opt %s || true",
        "onnxloom-opt $HOME/x",
        "cat %s | onnxloom-opt",
        "onnxloom-opt < %s",
        "onnxloom-opt *.mlir",
        "onnxloom-opt %s 2>&1 > %t",
        "onnxloom-opt %{custom}",
        "onnxloom-opt 'unterminated",
    ],
)
def test_what_needs_a_shell_is_left_to_lit(line: str, tmp_path: Path) -> None:
    assert command(line, tmp_path) is None


def test_stderr_alone_goes_on(tmp_path: Path) -> None:
    parsed = command("onnxloom-opt %s 2>&1 >/dev/null | filecheck %s", tmp_path)
    assert parsed is not None
    assert parsed[0] == Command("onnxloom-opt", (str(tmp_path / "a.mlir"),), pipe_stderr=True)
    assert command("onnxloom-opt %s 2>&1 >/dev/null 2>/dev/null", tmp_path) is None
    wrong = "not onnxloom-opt %s -p nonsense 2>&1 >/dev/null | filecheck %s"
    assert run_text(tmp_path, "// CHECK: nonsense\n", wrong)
    assert not run_text(tmp_path, "// CHECK: other\n", wrong)
    right = "onnxloom-opt %s 2>&1 >/dev/null | filecheck %s --allow-empty"
    assert run_text(tmp_path, "// CHECK-NOT: func.func\nfunc.func private @f()\n", right)


def test_continued_lines_are_joined() -> None:
    assert run_lines("// RUN: a \\\n// RUN:   b\n// text\n// RUN: c\n") == ["a b", "c"]


def test_other_directives_are_left_to_lit() -> None:
    assert run_lines("// RUN: a\n// XFAIL: *\n") is None


def run_text(tmp_path: Path, text: str, line: str) -> bool:
    (tmp_path / "a.mlir").write_text(text)
    parsed = command(line, tmp_path)
    assert parsed is not None
    return run(parsed).ok


def test_a_wrong_check_line_fails(tmp_path: Path) -> None:
    line = "onnxloom-opt %s | filecheck %s"
    assert run_text(tmp_path, "// CHECK: builtin.module\nbuiltin.module {}\n", line)
    assert not run_text(tmp_path, "// CHECK: something else\nbuiltin.module {}\n", line)


def test_a_file_without_check_lines_fails(tmp_path: Path) -> None:
    assert not run_text(tmp_path, "builtin.module {}\n", "onnxloom-opt %s | filecheck %s")


def test_a_failing_first_command_fails_the_line_even_if_the_checks_hold(tmp_path: Path) -> None:
    text = "// CHECK: error\nbroken\n"
    assert not run_text(tmp_path, text, "onnxloom-opt %s 2>&1 | filecheck %s")
    assert run_text(tmp_path, text, "not onnxloom-opt %s 2>&1 | filecheck %s")


def test_not_fails_when_the_command_succeeds(tmp_path: Path) -> None:
    assert not run_text(tmp_path, "builtin.module {}\n", "not onnxloom-opt %s")


def test_failing_mlir_file_is_a_failing_pytest_item(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from onnxloom.tools.testing.pytest_lit import *\n")
    (tmp_path / "good.mlir").write_text(
        "// RUN: onnxloom-opt %s | filecheck %s\n// CHECK: module\nbuiltin.module {}\n"
    )
    (tmp_path / "bad.mlir").write_text(
        "// RUN: onnxloom-opt %s | filecheck %s\n// CHECK: xyz\nbuiltin.module {}\n"
    )
    (tmp_path / "no_run.mlir").write_text("builtin.module {}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert "2 failed, 1 passed" in done.stdout
    assert "no RUN: line" in done.stdout
