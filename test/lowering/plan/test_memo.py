"""A remembered result is that of operands with the same contents."""

from __future__ import annotations

import numpy as np
import pytest
from text_models import compiled

from onnxloom.lowering.plan.memo import signature
from onnxloom.lowering.plan.values import known_value


@pytest.mark.parametrize(
    "other",
    [
        [np.arange(5000) * (np.arange(5000) != 2500)],
        [np.arange(5000).astype(np.int32)],
        [np.arange(5000).reshape(50, 100)],
        [np.arange(5000), np.arange(5000)],
        np.arange(5000),
    ],
    ids=["contents", "dtype", "shape", "length", "no sequence"],
)
def test_sequences_that_differ_have_different_signatures(other: object) -> None:
    sequence = [np.arange(5000)]
    assert signature(known_value([np.arange(5000)])) == signature(known_value(sequence))
    assert signature(known_value(other)) != signature(known_value(sequence))


@pytest.mark.filterwarnings("ignore::onnxloom.HostStepWarning")
def test_a_sequence_made_of_sizes_differs_between_shape_keys() -> None:
    model = compiled("""agraph (float[N] x) => (double y)
    <int64 first = {0}, double tiny = {1e-12}, double one = {1}> {
        size = Size(x)
        real = Cast <to = 11> (size)
        scaled = Mul(real, tiny)
        value = Add(scaled, one)
        values = SequenceConstruct(value, value)
        y = SequenceAt(values, first)
    }""")
    for n in (3, 4):
        (y,) = model(np.zeros(n, np.float32))
        assert y == 1 + n * 1e-12
