"""Do the `.mlir` tests of a plug-in run where CONTRIBUTING.md says, outside the repository?"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plug-in with a test, and the two files that CONTRIBUTING.md shows."""
    shutil.copy(ROOT / "docs" / "examples" / "mean_square.py", tmp_path)
    text = (ROOT / "test" / "docs" / "examples" / "mean_square.mlir").read_text()
    text = re.sub(r"--load-plugin \S+", "--load-plugin %S/mean_square.py", text)
    (tmp_path / "mean_square.mlir").write_text(text)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    (conftest,) = [block for block in blocks if "pytest_plugins" in block]
    (lit,) = [block for block in blocks if "lit.formats" in block]
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "lit.cfg.py").write_text(lit)
    return tmp_path


def outcome(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def test_pytest_runs_them(folder: Path) -> None:
    assert "1 passed" in outcome(folder, "-m", "pytest", "-q")
    test = folder / "mean_square.mlir"
    test.write_text(test.read_text().replace("example.mean_square", "example.other"))
    assert "1 failed" in outcome(folder, "-m", "pytest", "-q")


def test_lit_sees_them(folder: Path) -> None:
    assert "mean_square.mlir" in outcome(
        folder, "-c", "from lit.main import main; main()", "--show-tests", "."
    )
