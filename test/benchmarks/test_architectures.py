"""The built-in architectures are valid, keep their range, and give what onnxruntime gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import onnxloom
from benchmarks.architectures import NAMES, builder, tiny_sizes
from benchmarks.architectures.feeds import feeds_of


def _unoptimized(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options).run(None, dict(feeds))


@pytest.mark.parametrize("name", NAMES)
def test_tiny_architecture_is_valid_and_agrees_with_onnxruntime(name: str):
    model = builder(name)(**tiny_sizes(name))
    onnx.checker.check_model(model, full_check=True)
    feeds = feeds_of(model, past=5)
    session = onnxloom.InferenceSession(model)
    for ours, theirs in zip(session.run(None, feeds), _unoptimized(model, feeds), strict=True):
        assert 0.1 < np.abs(theirs).max() < 100
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-5 * np.abs(theirs).max())


def test_building_twice_gives_the_same_bytes():
    first, second = (builder("vit_tiny")(**tiny_sizes("vit_tiny")) for _ in range(2))
    assert first.SerializeToString() == second.SerializeToString()


def test_decoder_takes_a_cache_of_any_length():
    model = builder("gpt2_decode")(**tiny_sizes("gpt2_decode"))
    session = onnxloom.InferenceSession(model)
    for past in (0, 1, 33):
        feeds = feeds_of(model, past)
        for ours, theirs in zip(session.run(None, feeds), _unoptimized(model, feeds), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-5 * np.abs(theirs).max())


def test_a_masked_token_of_the_cache_changes_the_decoder():
    """Else the mask would not be measured."""
    model = builder("gpt2_decode")(**tiny_sizes("gpt2_decode"))
    feeds = feeds_of(model, past=4)
    logits = onnxloom.InferenceSession(model).run(["logits"], feeds)[0]
    feeds["attention_mask"][0, 1] = 0
    assert not np.allclose(onnxloom.InferenceSession(model).run(["logits"], feeds)[0], logits)
