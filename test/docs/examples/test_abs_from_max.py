"""A declarative pattern in a user's file fires from the command line, keeps values, and explains itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.tools.cli import main
from onnxloom.transforms.plugins import use_plugins
from onnxloom.transforms.rewriting.pattern import PatternOptimization
from onnxloom.transforms.rewriting.registry import current_patterns

PLUGIN = Path(__file__).parents[3] / "docs" / "examples" / "abs_from_max.py"


def model(lines: str, element: str = "float") -> onnx.ModelProto:
    text = (
        f'<ir_version: 8, opset_import: ["" : 13]> g ({element}[n, 3] x) => ({element}[n, 3] y) {{ {lines} }}'
    )
    return onnx.parser.parse_model(text)


@pytest.fixture
def pattern() -> type[PatternOptimization]:
    with use_plugins([PLUGIN]):
        (found,) = current_patterns().select(["ExampleAbsFromMax"])
    return found


def test_it_keeps_values(pattern: type[PatternOptimization]) -> None:
    feeds = {"x": np.array([[-1.5, 2, -np.inf], [0, 1e38, -1e-45]], np.float32)}
    done = check_pattern(model("n = Neg(x) y = Max(n, x)"), pattern, feeds, times=1)
    assert "onnx.Abs" in str(done) and "onnx.Max" not in str(done)


def test_it_says_why_it_declines(pattern: type[PatternOptimization]) -> None:
    assert "integers wrap" in decline_reason(model("n = Neg(x) y = Max(n, x)", "int32"), pattern)
    assert "x: found both" in decline_reason(model("m = Sin(x) n = Neg(m) y = Max(n, x)"), pattern)


def test_the_command_line_knows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(model("n = Neg(x) y = Max(n, x)"), tmp_path / "m.onnx")
    out = tmp_path / "out.onnx"
    assert main(["optimize", str(tmp_path / "m.onnx"), "-o", str(out), "--load-plugin", str(PLUGIN)]) == 0
    assert [node.op_type for node in onnx.load(out).graph.node] == ["Abs"]
    assert "ExampleAbsFromMax: 1" in capsys.readouterr().out
    onnx.save(model("m = Sin(x) n = Abs(m) y = Max(n, x)"), tmp_path / "other.onnx")
    monkeypatch.setenv("ONNXLOOM_PLUGINS", str(PLUGIN))
    assert main(["explain", "--pattern", "ExampleAbsFromMax", str(tmp_path / "other.onnx")]) == 0
    said = capsys.readouterr().out
    assert "first difference: expected onnx.Mul, found" in said or "expected onnx.Neg, found" in said
    assert "abs_from_max.py:" in said
