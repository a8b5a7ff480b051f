"""A remembered result is that of operands with the same contents."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from text_models import compiled, model_of

import onnxloom
from onnxloom.lowering.plan import memo
from onnxloom.lowering.plan.memo import contents, signature
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


def test_parts_of_constants_go_by_their_place() -> None:
    array = np.arange(12, dtype=np.float32)

    def part(*place: int, dtype: type = np.float32) -> object:
        value = known_value(array.astype(dtype))
        value.part = place
        return signature(value)

    assert part(3, 0, 12) == part(3, 0, 12)
    others = [part(4, 0, 12), part(3, 4, 12), part(3, 0, 3, 4), part(3, 0, 12, dtype=np.int32)]
    assert part(3, 0, 12) not in others


def test_weights_are_not_read_while_a_plan_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def spy(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bytes:
        read.append(array.nbytes)
        return contents(array)

    monkeypatch.setattr(memo, "contents", spy)
    weight = np.random.default_rng(0).standard_normal((32, 64, 1, 1)).astype(np.float32)
    proto = model_of("agraph (float[1, 64, H, W] x) => (float[1, 32, H, W] y) { y = Conv(x, w) }")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    model = onnxloom.compile(proto, cache=False)
    for size in (8, 9):
        assert model(np.ones((1, 64, size, size), np.float32))[0].shape == (1, 32, size, size)
    assert max(read, default=0) < weight.nbytes / 2
