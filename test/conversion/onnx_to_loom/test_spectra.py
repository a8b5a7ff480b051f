"""Do DFT and STFT give what numpy's transforms give?"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx.helper as oh
import onnxruntime as ort
import pytest
from numerics import Array, assert_close, compiled, graph_model

from onnxloom.errors import OnnxloomError

RNG = np.random.default_rng(11)


def parts(values: Array) -> Array:
    return np.stack([values.real, values.imag], -1)


def spectrum(x: Array, length: int, axis: int, inverse: bool, onesided: bool) -> Array:
    axis %= x.ndim
    values = x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]
    if inverse and onesided:
        return np.fft.irfft(values, length, axis)[..., None]
    result = parts((np.fft.ifft if inverse else np.fft.fft)(values, length, axis))
    return result.take(range(length // 2 + 1), axis) if onesided else result


def check(
    shape: tuple[int, ...],
    axis: int = -2,
    length: int | None = None,
    *,
    inverse: bool = False,
    onesided: bool = False,
    dtype: Any = np.float64,
    dynamic: bool = False,
    tolerance: float = 1e-12,
) -> None:
    x = RNG.normal(size=shape).astype(dtype)
    feeds: dict[str, Array] = {"x": x, "a": np.array(axis)}
    names = ["x", "", "a"]
    count = 2 * (shape[axis] - 1) if inverse and onesided else shape[axis]
    if length is not None:
        feeds["n"], names[1], count = np.array(length), "n", length
    want = spectrum(x.astype(np.float64), count, axis, inverse, onesided).astype(dtype)
    node = oh.make_node("DFT", names, ["y"], inverse=int(inverse), onesided=int(onesided))
    held = {} if dynamic else {n: feeds.pop(n) for n in ("a", "n") if n in feeds}
    # Whether a signal is real or complex is part of its type.
    proto = graph_model([node], feeds, {"y": want}, constants=held, dynamic=dynamic)
    proto.graph.input[0].type.tensor_type.shape.dim[-1].dim_value = shape[-1]
    model = compiled(proto)
    size = max(float(np.abs(want.astype(np.float64)).max(initial=0)), 1.0)
    assert_close(list(model.run(feeds).values()), [want], rtol=0, atol=tolerance * size)
    assert not model.host_counts


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 16, 22, 49, 60, 97, 128, 210, 242])
def test_lengths(length: int) -> None:
    check((3, length, 1), dynamic=True)
    check((9, length, 2), dynamic=True)
    check((2, length, 2), inverse=True, dynamic=True)


@pytest.mark.parametrize("onesided", [False, True])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("last", [1, 2])
def test_forms(onesided: bool, inverse: bool, last: int) -> None:
    for dynamic in (False, True):
        check((2, 10, 3, last), axis=1, inverse=inverse, onesided=onesided, dynamic=dynamic)
        for length in (6, 9, 14):
            check((20, 10, last), -2, length, inverse=inverse, onesided=onesided, dynamic=dynamic)


def test_axes_and_many_transforms() -> None:
    for axis in (0, 1, 2, -2, -4):
        check((3, 4, 5, 1), axis)
    check((4, 30, 2), 1, dtype=np.float32, tolerance=1e-6)
    check((1, 1000, 1), dtype=np.float32, tolerance=1e-6)


def test_a_table_that_is_no_constant() -> None:
    check((1, 32768, 1), tolerance=1e-11)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_width_floats(dtype: Any) -> None:
    check((5, 16, 2), dtype=dtype, tolerance=1e-2)


def test_no_transforms() -> None:
    check((0, 8, 1))
    check((2, 8, 0, 2), axis=1)


def test_what_is_no_number_stays() -> None:
    x = np.full((1, 4, 1), np.nan, np.float32)
    node = oh.make_node("DFT", ["x"], ["y"])
    (got,) = compiled(graph_model([node], {"x": x}, {"y": x}, dynamic=False)).run({"x": x}).values()
    assert np.isnan(got[..., 0]).all()


@pytest.mark.parametrize(("axis", "length"), [(2, 4), (5, 4), (1, 0), (1, -3)])
def test_unusable_axes_and_lengths_are_refused(axis: int, length: int) -> None:
    feeds = {"x": np.ones((1, 4, 2), np.float32), "n": np.array(length), "a": np.array(axis)}
    proto = graph_model([oh.make_node("DFT", ["x", "n", "a"], ["y"])], feeds, {"y": feeds["x"]})
    proto.graph.input[0].type.tensor_type.shape.dim[-1].dim_value = 2
    with pytest.raises(OnnxloomError):
        compiled(proto).run(feeds)


def frames(x: Array, hop: int, window: Array | None, length: int, onesided: bool) -> Array:
    weights = np.ones(length) if window is None else window.astype(np.float64)
    count = max((x.shape[1] - length) // hop + 1, 0)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, len(weights)), (0, 0)))
    rows = [padded[:, f * hop : f * hop + len(weights)] * weights[:, None] for f in range(count)]
    return spectrum(np.stack(rows, 1), length, -2, False, onesided)


@pytest.mark.parametrize("window", [None, 12, 9])
@pytest.mark.parametrize("last", [1, 2])
@pytest.mark.parametrize("onesided", [0, 1])
def test_frames_of_signals(window: int | None, last: int, onesided: int) -> None:
    x = RNG.normal(size=(2, 61, last))
    weights = None if window is None else RNG.uniform(size=window)
    want = frames(x, 5, weights, 12, bool(onesided))
    feeds: dict[str, Array] = {"x": x, "s": np.array(5), "n": np.array(12)}
    names = ["x", "s", "", "n"]
    if weights is not None:
        feeds["w"], names[2] = weights, "w"
    node = oh.make_node("STFT", names, ["y"], onesided=onesided)
    for dynamic in (False, True):
        given = dict(feeds)
        held = {} if dynamic else {n: given.pop(n) for n in ("s", "n")}
        proto = graph_model([node], given, {"y": want}, constants=held, dynamic=dynamic)
        proto.graph.input[0].type.tensor_type.shape.dim[-1].dim_value = last
        model = compiled(proto)
        assert_close(list(model.run(given).values()), [want], rtol=0, atol=1e-11)
        assert not model.host_counts


def test_frames_of_signals_as_onnxruntime() -> None:
    x, window = RNG.normal(size=(1, 4000, 1)).astype(np.float32), np.hanning(256).astype(np.float32)
    node = oh.make_node("STFT", ["x", "s", "w"], ["y"])
    held = {"s": np.array(100), "w": window}
    want = np.zeros((1, 38, 129, 2), np.float32)
    proto = graph_model([node], {"x": x}, {"y": want}, constants=held, dynamic=False)
    proto.opset_import[0].version = 20
    peer = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    (want,) = peer.run(None, {"x": x})
    assert_close(list(compiled(proto).run({"x": x}).values()), [np.asarray(want)], rtol=1e-4, atol=1e-3)


def test_a_signal_shorter_than_a_frame_has_none() -> None:
    feeds = {"x": np.ones((1, 5, 1), np.float32), "w": np.ones(8, np.float32)}
    node = oh.make_node("STFT", ["x", "s", "w"], ["y"])
    want = np.zeros((1, 1, 5, 2), np.float32)
    proto = graph_model([node], feeds, {"y": want}, constants={"s": np.array(2)})
    proto.graph.input[0].type.tensor_type.shape.dim[-1].dim_value = 1
    assert compiled(proto).run(feeds)["y"].shape == (1, 0, 5, 2)
