"""Real models: no shape arithmetic is left where the inputs' shapes are given, and the outputs stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.text import make_context
from onnxloom.dialects.verify_module import verify_module
from onnxloom.lowering.evaluate_module import evaluate_module, input_names
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.transforms.folding.adjust_dimensions import AdjustDimensionsPass
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.folding.fold_constants import FoldConstantsPass
from onnxloom.transforms.folding.fold_dimensions import FoldDimensionsPass
from onnxloom.transforms.folding.replace_empty import ReplaceEmptyPass
from onnxloom.transforms.shape_inference import infer_shapes
from onnxloom.transforms.specialize import specialize_inputs

SMALL = ("magika_v1", "silero_vad_half")
REST = ("swift_f0", "minilm_l6_int8dq", "oww_silero_vad_v4", "arabic_romanizer_encoder", "ppocr_v2_cls")
SHAPES = (onnx.ShapeOp, onnx.SizeOp, onnx.DimOp)


@pytest.mark.parametrize("is_static", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        *[pytest.param(n, marks=pytest.mark.fetched) for n in SMALL],
        *[pytest.param(n, marks=pytest.mark.full) for n in REST],
    ],
)
def test_outputs_stay_and_shapes_go(models_dir: Path, name: str, is_static: bool):
    folder = models_dir / name
    if not (folder / "model.onnx").exists():
        pytest.skip(f"{name} is not fetched")
    module = import_model(folder / "model.onnx")
    function = entry_function(module)
    feeds: dict[str, Any] = dict(np.load(folder / "inputs.npz"))
    if is_static:
        specialize_inputs(function, [feeds[n].shape for n in input_names(function)])
    infer_shapes(module)
    expected = evaluate_module(module, feeds)
    before = sum(1 for _ in module.walk())
    with use_evaluator(HostEvaluator()):
        for step in (ReplaceEmptyPass(), FoldDimensionsPass(), FoldConstantsPass(), AdjustDimensionsPass()):
            step.apply(make_context(), module)
    verify_module(module)
    assert sum(1 for _ in module.walk()) < before
    if is_static:
        assert not [op for op in module.walk() if isinstance(op, SHAPES)]
    actual = evaluate_module(module, feeds)
    assert actual.keys() == expected.keys()
    for key in expected:
        np.testing.assert_array_equal(actual[key], expected[key], err_msg=key)
