"""The quantized architectures are computed on integers and give what onnxruntime gives unoptimized."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest

import onnxloom
from benchmarks.architectures import QUANTIZED, builder, tiny_sizes
from benchmarks.architectures.feeds import feeds_of

FLOAT_PRODUCTS = ("conv_", "gemm", "depthwise")


@pytest.mark.parametrize("name", QUANTIZED)
def test_tiny_quantized_architecture(name: str) -> None:
    model = builder(name)(**tiny_sizes(name))
    feeds = feeds_of(model)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = ort.InferenceSession(model.SerializeToString(), options).run(None, feeds)
    compiled = onnxloom.compile(model, cache=False)
    results = compiled.run(feeds).values()
    assert compiled.host_steps == 0, compiled.host_counts
    for ours, theirs in zip(results, wanted, strict=True):
        # Where rounding of floats decides between two quanta, results are some quanta apart further on.
        assert np.abs(ours - theirs).max() <= 0.05 * np.abs(theirs).max()
        assert np.abs(ours - theirs).mean() <= 0.005 * np.abs(theirs).max()
    names = compiled.artifact.symbols
    assert any(symbol.startswith("quantized") for symbol in names)
    assert not any(symbol.startswith(FLOAT_PRODUCTS) for symbol in names)
