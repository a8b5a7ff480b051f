"""Quantized chains against integer arithmetic done exactly, and against onnxruntime.

All cases of a test are subgraphs of one model, so that their kernels are compiled in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import onnxloom
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.transforms.layout.rules import convolution

Array = npt.NDArray[Any]

FLOAT_PRODUCTS = ("matmul", "conv_", "gemm", "depthwise_conv")

RNG = np.random.default_rng(7)


class Graph:
    """A model of many small subgraphs."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.feeds: dict[str, Array] = {}
        self.outputs: list[str] = []
        self.wanted: list[Array] = []

    def constant(self, value: Array | np.generic) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def feed(self, value: Array) -> str:
        name = f"x{len(self.feeds)}"
        self.feeds[name] = value
        return name

    def op(self, kind: str, *operands: str, domain: str = "", **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(operands), [name], domain=domain, **attributes))
        return name

    def dequantized(
        self, x: str, scale: Array | np.generic | float, zero: Array | np.generic | None, axis: int = 1
    ) -> str:
        operands = [x, self.constant(np.asarray(scale, np.float32))]
        if zero is not None:
            operands.append(self.constant(zero))
        return self.op("DequantizeLinear", *operands, axis=axis)

    def quantized(self, x: str, scale: Any, zero: np.generic) -> str:
        return self.op("QuantizeLinear", x, self.constant(np.float32(scale)), self.constant(zero))

    def output(self, name: str, wanted: Array | None = None) -> None:
        self.outputs.append(name)
        if wanted is not None:
            self.wanted.append(wanted)

    def model(self) -> onnx.ModelProto:
        infos = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for n, x in self.feeds.items()
        ]
        results = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "chains", infos, results, self.weights)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return onnx.shape_inference.infer_shapes(
            helper.make_model(graph, opset_imports=opsets, ir_version=10)
        )

    def run(self, kernels: Sequence[str], skip_passes: Sequence[str] = ()) -> list[Array]:
        """The results of compiled kernels; one of each of `kernels` has been made, and no float product."""
        compiled = onnxloom.compile(self.model(), cache=False, skip_passes=skip_passes)
        results = list(compiled.run(self.feeds).values())
        assert compiled.host_steps == 0, compiled.host_counts
        names = compiled.artifact.symbols
        for kernel in kernels:
            assert any(name.startswith(kernel) for name in names)
        assert not any(name.startswith(FLOAT_PRODUCTS) for name in names)
        return results


@pytest.fixture(params=["pairs", "quads"])
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether bytes are multiplied four by four, whatever this processor has."""
    tiles = replace(CpuTarget.host().tiles, dot_bytes=request.param == "quads")
    monkeypatch.setattr(CpuTarget, "tiles", property(lambda _: tiles))
    return request.param


def integers(shape: Sequence[int], dtype: Any, extremes: bool = False) -> Array:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if extremes:
        return RNG.choice(np.array([low, high], dtype), size=shape)
    return RNG.integers(low, high + 1, shape).astype(dtype)


def rounded(x: Array, zero: Any, dtype: Any) -> Array:
    limits = np.iinfo(dtype)
    return np.clip(np.rint(x) + float(zero), limits.min, limits.max).astype(dtype)


def multiplier(*scales: Any) -> Array:
    """left * right / result in f32, in this order."""
    left, right, result = (np.asarray(s, np.float32) for s in scales)
    return (left * right / result).astype(np.float32)


MATRICES = [
    # rows, depth, columns; left type; right type, scale per column
    (1, 1, 1, np.uint8, np.int8, False),
    (7, 16, 50, np.uint8, np.int8, True),
    (9, 13, 33, np.int8, np.int8, True),
    (8, 64, 48, np.uint8, np.uint8, False),
    (3, 30, 5, np.int8, np.uint8, True),
    (0, 8, 4, np.uint8, np.int8, False),
]


@pytest.mark.parametrize("extremes", [False, True])
def test_products_are_exact(target: str, extremes: bool) -> None:
    """Sums, zero points and biases in 32 bits; one multiplication, one rounding."""
    g = Graph()
    for rows, depth, columns, left, right, per_column in MATRICES:
        a, b = integers((rows, depth), left, extremes), integers((depth, columns), right, extremes)
        a_zero = integers((), left)
        b_zero = integers((columns,) if per_column else (), right) if right is np.uint8 else None
        a_scale = np.float32(0.03)
        b_scale = RNG.uniform(0.001, 0.02, columns if per_column else ()).astype(np.float32)
        bias = RNG.integers(-3000, 3000, columns).astype(np.int32)
        y_scale = np.float32(0.05 * max(depth, 1) ** 0.5)
        x = g.dequantized(g.feed(a), a_scale, a_zero)
        sums = (a.astype(np.int64) - int(a_zero)) @ (b.astype(np.int64) - (0 if b_zero is None else b_zero))
        y_zero = np.uint8(117)
        for trans, relu in ((0, False), (1, True)):
            w = g.constant(b.T.copy() if trans else b)
            axis = 0 if trans else 1
            c = g.dequantized(g.constant(bias), a_scale * b_scale, None, axis=0)
            y = g.op("Gemm", x, g.dequantized(w, b_scale, b_zero, axis), c, transB=trans)
            y = g.quantized(g.op("Relu", y) if relu else y, y_scale, y_zero)
            scaled = (sums + bias).astype(np.float32) * multiplier(a_scale, b_scale, y_scale)
            g.output(y, rounded(np.maximum(scaled, 0) if relu else scaled, y_zero, np.uint8))
    for actual, wanted in zip(g.run(["quantized_product"]), g.wanted, strict=True):
        np.testing.assert_array_equal(actual, wanted)


def conv_case(
    g: Graph,
    x: Array,
    w: Array,
    *,
    zero: np.generic,
    bias: bool = True,
    group: int = 1,
    relu: bool = False,
    **window: Any,
) -> None:
    """DequantizeLinear, Conv, Relu, QuantizeLinear, and what integers give."""
    outputs = w.shape[0]
    scales = RNG.uniform(0.001, 0.02, outputs).astype(np.float32)
    x_scale, y_scale, y_zero = np.float32(0.02), np.float32(0.04), np.int8(-9)
    operands = [g.dequantized(g.feed(x), x_scale, zero), g.dequantized(g.constant(w), scales, None, 0)]
    b = RNG.integers(-3000, 3000, outputs).astype(np.int32)
    if bias:
        operands.append(g.dequantized(g.constant(b), x_scale * scales, None, 0))
    y = g.op("Conv", *operands, group=group, kernel_shape=w.shape[2:], **window)
    y = g.quantized(g.op("Relu", y) if relu else y, y_scale, y_zero)
    sums = exact_convolution(x.astype(np.int64) - int(zero), w.astype(np.int64), group, **window)
    spread = (-1, *[1] * (x.ndim - 2))
    if bias:
        sums = sums + b.reshape(spread)
    scaled = sums.astype(np.float32) * multiplier(x_scale, scales, y_scale).reshape(spread)
    g.output(y, rounded(np.maximum(scaled, 0) if relu else scaled, y_zero, np.int8))


def exact_convolution(
    x: Array,
    w: Array,
    group: int,
    pads: Sequence[int] = (),
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
) -> Array:
    """Tap by tap, in 64 bits."""
    rank = x.ndim - 2
    pads, strides, dilations = pads or [0] * 2 * rank, strides or [1] * rank, dilations or [1] * rank
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
    extents = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilations, strict=True)]
    places = [(s - e) // t + 1 for s, e, t in zip(x.shape[2:], extents, strides, strict=True)]
    depth, per_group = w.shape[1], w.shape[0] // group
    y = np.zeros((x.shape[0], w.shape[0], *places), np.int64)
    for tap in np.ndindex(*w.shape[2:]):
        starts = [i * d for i, d in zip(tap, dilations, strict=True)]
        part = x[
            (slice(None), slice(None))
            + tuple(slice(s, s + p * t, t) for s, p, t in zip(starts, places, strides, strict=True))
        ]
        for g in range(group):
            rows = slice(g * per_group, (g + 1) * per_group)
            columns = part[:, g * depth : (g + 1) * depth]
            factor = w[(rows, slice(None), *tap)]
            y[:, rows] += np.einsum("oc,nc...->no...", factor, columns)
    return y


def convolutions(g: Graph, extremes: bool) -> None:
    def x(*shape: int, dtype: Any = np.uint8) -> Array:
        return integers(shape, dtype, extremes)

    def w(*shape: int) -> Array:
        return integers(shape, np.int8, extremes)

    conv_case(g, x(2, 8, 6, 5), w(12, 8, 3, 3), zero=np.uint8(0), pads=[1, 1, 1, 1])
    conv_case(
        g, x(1, 8, 9, 9), w(50, 8, 3, 3), zero=np.uint8(131), pads=[1, 0, 2, 1], strides=[2, 2], relu=True
    )
    conv_case(g, x(1, 3, 11, 9), w(7, 3, 5, 3), zero=np.uint8(200), pads=[2, 1, 2, 1], strides=[2, 1])
    conv_case(g, x(1, 16, 5, 5), w(20, 16, 1, 1), zero=np.uint8(3), bias=False)
    conv_case(g, x(1, 16, 5, 5, dtype=np.int8), w(20, 16, 1, 1), zero=np.int8(-3), strides=[2, 2])
    conv_case(g, x(1, 5, 7, 6, dtype=np.int8), w(6, 5, 2, 3), zero=np.int8(4), dilations=[2, 1])
    conv_case(g, x(1, 8, 7, 7), w(12, 4, 3, 3), zero=np.uint8(9), group=2, pads=[1, 1, 1, 1])
    conv_case(g, x(1, 6, 7, 7), w(8, 3, 3, 3), zero=np.uint8(9), group=2, pads=[1, 1, 1, 1])
    conv_case(g, x(1, 12, 7, 7), w(12, 1, 3, 3), zero=np.uint8(77), group=12, pads=[1, 1, 1, 1])
    conv_case(g, x(2, 8, 10), w(9, 8, 3), zero=np.uint8(50), pads=[1, 1])
    conv_case(g, x(1, 4, 3, 4, 5), w(5, 4, 2, 2, 2), zero=np.uint8(50), pads=[1, 0, 0, 0, 1, 1])


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("extremes", [False, True])
def test_convolutions_are_exact(
    target: str, extremes: bool, channels_last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However small, every convolution works channels-last, or none does.
    monkeypatch.setattr(convolution, "convolution_saves", lambda *_: 1e9)
    skipped = () if channels_last else ("channels-last",)
    g = Graph()
    convolutions(g, extremes)
    for number, (actual, wanted) in enumerate(zip(g.run(["quantized_conv"], skipped), g.wanted, strict=True)):
        np.testing.assert_array_equal(actual, wanted, err_msg=f"case {number}")


def test_chains_agree_with_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Residuals, activations between, several readers, integer products: within one quantum."""
    g = Graph()
    x = g.feed(RNG.normal(size=(6, 24)).astype(np.float32))
    q = g.quantized(x, 0.03, np.uint8(120))
    first = product(g, q, np.uint8(120), 24, 40, "Gelu")
    second = product(g, first, np.uint8(120), 40, 24, None)
    shared = g.op("Add", *(g.dequantized(v, 0.03, np.uint8(120)) for v in (second, q)))
    last = g.quantized(g.op("Relu", shared), 0.05, np.uint8(0))
    g.output(last)
    g.output(second)
    rows = g.op("DynamicQuantizeLinear", x)
    scale, zero = "scale_of_x", "zero_of_x"
    g.nodes[-1].output.extend([scale, zero])
    w = integers((24, 9), np.int8)
    sums = g.op("MatMulInteger", rows, g.constant(w), zero)
    floats = g.op("Mul", g.op("Cast", sums, to=1), g.op("Mul", scale, g.constant(np.float32(0.01))))
    g.output(g.op("Tanh", g.op("Add", floats, g.constant(RNG.normal(size=9).astype(np.float32)))))
    actual = g.run(["quantized_product"])
    for mine, theirs in zip(actual, onnxruntime_results(g), strict=True):
        assert mine.dtype == theirs.dtype
        limit = 1 if mine.dtype.kind in "ui" else 2e-6
        assert np.abs(mine.astype(np.float64) - theirs).max() <= limit
        assert (mine != theirs).mean() < 0.02 or limit < 1


def product(g: Graph, x: str, zero: np.generic, rows: int, columns: int, activation: str | None) -> str:
    """A quantized MatMul with a bias in floats and an activation."""
    w = g.dequantized(g.constant(integers((rows, columns), np.int8)), 0.004, np.int8(0))
    y = g.op("MatMul", g.dequantized(x, 0.03, zero), w)
    y = g.op("Add", y, g.constant(RNG.normal(size=columns).astype(np.float32)))
    return g.quantized(y if activation is None else g.op(activation, y), 0.03, zero)


def onnxruntime_results(g: Graph) -> list[Array]:
    """Without optimizations: every op in floats, one by one."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(g.model().SerializeToString(), options)
    return [np.asarray(y) for y in session.run(None, g.feeds)]


def test_scales_that_are_not_known_are_combined_at_run_time() -> None:
    g = Graph()
    a, b = integers((5, 12), np.uint8), integers((12, 7), np.int8)
    scales = g.feed(RNG.uniform(0.001, 0.02, 7).astype(np.float32))
    left = g.op("DequantizeLinear", g.feed(a), g.feed(np.array(0.02, np.float32)), g.constant(np.uint8(3)))
    right = g.op("DequantizeLinear", g.constant(b), scales)
    g.output(g.op("MatMul", left, right))
    (actual,) = g.run(["quantized_product"])
    np.testing.assert_allclose(actual, onnxruntime_results(g)[0], rtol=1e-5, atol=1e-6)


def test_batches_of_activations_are_multiplied(target: str) -> None:
    """Neither factor is constant, as in attention."""
    g = Graph()
    a, b = integers((2, 3, 5, 10), np.uint8), integers((2, 3, 10, 7), np.uint8)
    left, right = g.dequantized(g.feed(a), 0.02, np.uint8(7)), g.dequantized(g.feed(b), 0.03, np.uint8(99))
    g.output(g.quantized(g.op("MatMul", left, right), 0.6, np.uint8(128)))
    (actual,) = g.run(["quantized_product"])
    sums = (a.astype(np.int64) - 7) @ (b.astype(np.int64) - 99)
    wanted = rounded(sums.astype(np.float32) * multiplier(0.02, 0.03, 0.6), 128, np.uint8)
    np.testing.assert_array_equal(actual, wanted)


SCALES = [0.1, 0.0039215689, 1.0, 3.0, 2.0**-90, 1.9999999, 7.3e20, 1e-35]
"""The last one has no reciprocal that would do; it is divided by."""


def test_quotients_are_those_of_a_division() -> None:
    """On ties, next to them, and where a product with the reciprocal would be no number."""
    g = Graph()
    quanta = np.concatenate([np.arange(-300, 300, 0.5), RNG.uniform(-300, 300, 4000)])
    for scale in SCALES:
        near = (quanta * np.float64(np.float32(scale))).astype(np.float32)
        x = np.concatenate([near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf))])
        x = np.concatenate([x, np.array([np.inf, -np.inf, 3e38, -3e38, 1e-45, -0.0], np.float32)])
        zero = np.int8(3)
        g.output(g.quantized(g.feed(x), scale, zero), rounded(x / np.float32(scale), zero, np.int8))
    for scale, actual, wanted in zip(SCALES, g.run(["quantizelinear"]), g.wanted, strict=True):
        np.testing.assert_array_equal(actual, wanted, err_msg=str(scale))


def test_what_is_no_number_is_the_lowest() -> None:
    g = Graph()
    x = np.array([np.nan, 1.0], np.float32)
    g.output(g.quantized(g.feed(x), 0.5, np.uint8(9)))
    assert g.run([])[0].tolist() == [0, 11]


def test_levels_are_made_integers_where_something_else_reads_them() -> None:
    """The quantized tensor is a result, and so is what is dequantized with another zero point."""
    g = Graph()
    x = g.feed(RNG.normal(size=(5, 33)).astype(np.float32))
    q = g.quantized(g.op("Neg", x), 0.03, np.uint8(120))
    same = g.op("Relu", g.dequantized(q, 0.05, np.uint8(120)))
    other = g.op("Relu", g.dequantized(q, 0.05, np.uint8(100)))
    g.output(q)
    g.output(g.op("Sub", same, other))
    for mine, theirs in zip(g.run(["chain"]), onnxruntime_results(g), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3"])
def test_processors_without_products_of_bytes(cpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not CpuTarget.host().is_x86:
        pytest.skip("the processor is another one")
    monkeypatch.setenv("ONNXLOOM_CPU", cpu)
    g = Graph()
    a, b = integers((9, 30), np.uint8, True), integers((30, 21), np.int8, True)
    x = g.dequantized(g.feed(a), 0.02, np.uint8(255))
    y = g.op("MatMul", x, g.dequantized(g.constant(b), 0.01, None))
    g.output(g.quantized(y, 3.0, np.uint8(128)))
    sums = (a.astype(np.int64) - 255) @ b.astype(np.int64)
    conv_case(g, integers((1, 8, 6, 6), np.uint8), integers((8, 8, 3, 3), np.int8), zero=np.uint8(9))
    actual = g.run(["quantized_product", "quantized_conv"])
    scaled = sums.astype(np.float32) * multiplier(0.02, 0.01, 3.0)
    np.testing.assert_array_equal(actual[0], rounded(scaled, 128, np.uint8))
    np.testing.assert_array_equal(actual[1], g.wanted[0])
