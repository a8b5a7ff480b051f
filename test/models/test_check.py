"""`check` and `bisect` on real models: compiled values are within tolerance, a planted rewrite is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onnxloom.tools.cli import main

SMALL = ("dtln_2", "silero_vad_half")

PLANTED = '''
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, Miss, PatternOptimization, Replacement


class PlantedAbsPattern(PatternOptimization):
    """Tanh(x) -> Abs(x)"""

    start_ops = (onnx.TanhOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        return MatchResult((op,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (op,) = match.ops
        assert op is not None
        fresh = graph.make(onnx.AbsOp, [op.operands[0]])
        return Replacement([fresh], {op.results[0]: fresh.results[0]})
'''


def folder_of(models_dir: Path, name: str) -> Path:
    folder = models_dir / name
    if not folder.is_dir():
        pytest.skip(f"model {name} is not fetched")
    return folder


def given(folder: Path) -> list[str]:
    return [str(folder / "model.onnx"), "--inputs", str(folder / "inputs.npz")]


@pytest.mark.fetched
@pytest.mark.parametrize("name", SMALL)
def test_small_model_is_within_tolerance(models_dir: Path, name: str) -> None:
    assert main(["check", *given(folder_of(models_dir, name))]) == 0


@pytest.mark.full
def test_every_fetched_model_is_within_tolerance(models_dir: Path) -> None:
    folders = sorted(path.parent for path in models_dir.glob("*/inputs.npz"))
    if not folders:
        pytest.skip("no model is fetched")
    assert [folder.name for folder in folders if main(["check", *given(folder)]) != 0] == []


@pytest.mark.fetched
def test_a_planted_rewrite_is_found_in_a_real_model(
    models_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "planted.py").write_text(PLANTED)
    reduced = tmp_path / "r.onnx"
    more = ["--load-plugin", str(tmp_path / "planted.py")]
    assert main(["bisect", *given(folder_of(models_dir, "dtln_2")), "-o", str(reduced), *more]) == 1
    out = capsys.readouterr().out
    assert "by rewrite-patterns: PlantedAbs at onnx.Tanh" in out
    assert "(1 op)" in out
    with np.load(reduced.with_suffix(".npz")) as inputs:
        assert len(inputs.files) == 1
    assert main(["check", str(reduced), "--inputs", str(reduced.with_suffix(".npz")), *more]) == 1
    assert main(["check", str(reduced), "--inputs", str(reduced.with_suffix(".npz"))]) == 0
