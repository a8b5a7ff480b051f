"""What dim analysis says of a model's values holds when the model runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from onnxloom.conversion.onnx_import import import_model
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.tools.testing.shape_witness import ShapeWitness

SMALL_MODELS = (
    "chars2vec_en300",
    "dtln_2",
    "magika_v3_3",
    "oww_embedding",
    "oww_melspectrogram",
    "pyfrspell_derive_int8",
    "silero_vad_v6",
    "swift_f0",
)


def check(models_dir: Path, name: str) -> None:
    folder = models_dir / name
    if not folder.is_dir():
        pytest.skip(f"model {name} is not fetched")
    module = import_model(folder / "model.onnx")
    witness = ShapeWitness(module)
    with np.load(folder / "inputs.npz") as inputs:
        evaluate_module(module, dict(inputs), seen=witness.see)
    assert witness.compared > 1


@pytest.mark.fetched
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_small_model(models_dir: Path, name: str):
    check(models_dir, name)


@pytest.mark.full
def test_every_fetched_model(models_dir: Path):
    names = sorted(path.parent.name for path in models_dir.glob("*/inputs.npz"))
    if not names:
        pytest.skip("no model is fetched")
    for name in names:
        check(models_dir, name)
