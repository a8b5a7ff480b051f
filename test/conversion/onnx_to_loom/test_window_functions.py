"""Do window functions and mel weights have the values of the reference?"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.helper as oh
import pytest
from numerics import Array, assert_close, compiled, graph_model, reference

from onnxloom.errors import OnnxloomError


def run(name: str, feeds: dict[str, Array], rank: int, dtype: int = 1, **attrs: Any) -> tuple[Array, Array]:
    blank = np.zeros((1,) * rank, oh.tensor_dtype_to_np_dtype(dtype))
    node = oh.make_node(name, list(feeds), ["y"], output_datatype=dtype, **attrs)
    proto = graph_model([node], feeds, {"y": blank})
    model = compiled(proto)
    (got,) = model.run(feeds).values()
    assert not model.host_counts
    return got, reference(proto, feeds)[0]


@pytest.mark.parametrize("name", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(name: str, periodic: int) -> None:
    for size, dtype in ((0, 1), (2, 1), (17, 1), (400, 11), (30, 10)):
        got, want = run(name, {"n": np.array(size)}, 1, dtype, periodic=periodic)
        assert_close([got], [want], rtol=1e-3 if dtype == 10 else 1e-6, atol=1e-3 if dtype == 10 else 1e-7)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(OnnxloomError, match="a window of negative length"):
        run("HannWindow", {"n": np.array(-1)}, 1)


def mel(bands: int, length: int, rate: int, low: float, high: float) -> dict[str, Array]:
    names = ("b", "n", "r")
    sizes = dict(zip(names, (np.array(v) for v in (bands, length, rate)), strict=True))
    return sizes | {"l": np.array(low, np.float32), "h": np.array(high, np.float32)}


@pytest.mark.parametrize(
    "values", [(8, 16, 8192, 0.0, 4096.0), (40, 512, 16000, 20.0, 7600.0), (0, 8, 100, 0.0, 9.0)]
)
def test_mel_weights(values: tuple[int, int, int, float, float]) -> None:
    got, want = run("MelWeightMatrix", mel(*values), 2)
    assert_close([got], [want], rtol=1e-5)


@pytest.mark.parametrize("values", [(-1, 16, 8192), (8, -2, 8192), (8, 16, 0)])
def test_unusable_sizes_are_refused(values: tuple[int, int, int]) -> None:
    with pytest.raises(OnnxloomError, match="negative|rate"):
        run("MelWeightMatrix", mel(*values, 0.0, 100.0), 2)
