"""Does the demo say what to type next, run nothing but onnxloom, and write nowhere else?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from onnxloom.tools import demo


def test_the_demo_runs_a_model_and_says_how_to_get_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "activate").touch()
    seen: list[list[str]] = []

    def run(arguments: list[str]) -> int:
        seen.append(arguments)
        return 0

    def fetched(name: str, out: Path) -> Path:
        path = out / name / "model.onnx"
        path.parent.mkdir(parents=True)
        path.touch()
        return path

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(sys, "argv", ["demo"])
    monkeypatch.setattr(demo, "onnxloom", run)
    monkeypatch.setattr(demo, "fetch", fetched)
    assert demo.main() == 0
    assert seen[0][:2] == ["run", str(Path(".models", "swift_f0", "model.onnx"))]
    assert (tmp_path / ".models" / "swift_f0" / "tone.npz").is_file()
    assert "to have the commands on your PATH: . .venv/bin/activate" in capsys.readouterr().out
