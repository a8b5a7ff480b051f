"""The witness of errors: the same graph in float64, which a float32 run is near, but not equal to."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from benchmarks.architectures import builder, tiny_sizes
from benchmarks.architectures.feeds import feeds_of
from benchmarks.float64 import TIMES, as_float64, errors, evaluated


@pytest.mark.parametrize("name", ["vit_tiny", "bert_base", "gpt2_decode", "lstm", "resnet50"])
def test_errors_of_both_are_those_of_float32(name: str):
    model = builder(name)(**tiny_sizes(name))
    ours, theirs = errors(model, feeds_of(model, past=5))
    assert 0 < theirs < 1e-5
    assert 0 < ours < 3 * TIMES * theirs


def test_all_floats_are_wide():
    model = builder("bert_base")(**tiny_sizes("bert_base"))
    wide = as_float64(model)
    onnx.checker.check_model(wide, full_check=True)
    assert onnx.TensorProto.FLOAT not in {tensor.data_type for tensor in wide.graph.initializer}
    found = evaluated(model, feeds_of(model))
    assert {value.dtype for value in found.values()} == {np.dtype(np.float64)}
    assert model == builder("bert_base")(**tiny_sizes("bert_base"))
