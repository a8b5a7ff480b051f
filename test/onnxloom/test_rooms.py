"""Each room imports earlier rooms only, and `import onnxloom` imports numpy only (docs/ARCHITECTURE.md)."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

MAY_IMPORT = {
    "dialects": {"dialects"},
    "transforms": {"transforms", "dialects"},
    "conversion": {"conversion", "transforms", "dialects"},
    "lowering": {"lowering", "conversion", "transforms", "dialects"},
    "onnxloom/testing": {"testing", "lowering", "conversion", "transforms", "dialects"},
    "tools": {"tools", "testing", "lowering", "conversion", "transforms", "dialects", "universe"},
}

OUTSIDE = {
    "dialects": {"numpy", "onnx", "xdsl", "ml_dtypes", "typing_extensions"},
    "transforms": {"numpy", "onnx", "xdsl", "ml_dtypes", "typing_extensions"},
    "conversion": {"numpy", "onnx", "xdsl", "ml_dtypes", "google", "typing_extensions"},
    "lowering": {"numpy", "onnx", "xdsl", "ml_dtypes", "numba", "llvmlite", "PIL", "typing_extensions"},
}
"""Distributions each room may use: Numba and LLVM are known to `lowering` alone."""


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import in a file, inside functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            module = node.module or ""
            if module == "onnxloom":
                yield from ((node.lineno, f"onnxloom.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, module


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_room_imports_earlier_rooms_only(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    wrong: list[str] = []
    for path in files:
        for line, name in imported_modules(path):
            first, _, rest = name.partition(".")
            second = rest.partition(".")[0]
            here = f"{path.relative_to(ROOT)}:{line}: {name}"
            if first == "onnxloom" and second not in MAY_IMPORT[room] | {"errors", "__version__", ""}:
                wrong.append(here)
            if room in OUTSIDE and first not in OUTSIDE[room] | sys.stdlib_module_names | {"onnxloom"}:
                wrong.append(here)
    assert wrong == []


def test_loom_dialect_knows_nothing_of_onnx() -> None:
    wrong = [
        f"{path.name}:{line}: {name}"
        for path in (ROOT / "dialects" / "loom").rglob("*.py")
        for line, name in imported_modules(path)
        if name.startswith(("onnxloom.dialects.onnx", "onnx.")) or name == "onnx"
    ]
    assert wrong == []


def test_importing_the_package_imports_numpy_only() -> None:
    script = "import sys, onnxloom; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    loaded = set(done.stdout.split())
    assert "onnxloom" in loaded
    assert loaded.isdisjoint({"onnx", "xdsl", "numba", "llvmlite", "ml_dtypes", "google"})
