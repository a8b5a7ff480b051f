"""Compiled integer products against exact numpy, quantized ones against onnxruntime without optimizations.

All cases of a test are nodes of one model, so that their kernels are compiled in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxloom
from onnxloom.lowering.cpu_target import CpuTarget

Array = npt.NDArray[Any]


@dataclass
class Model:
    """Nodes of one op each, growing."""

    dynamic: bool = False
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)
    feeds: dict[str, Array] = field(default_factory=dict)

    def tensor(self, value: Array | np.generic, constant: bool = True) -> str:
        """A name for an array: an initializer or an input."""
        array = np.asarray(value)
        name = f"t{len(self.weights)}_{len(self.feeds)}"
        if constant:
            self.weights.append(numpy_helper.from_array(array, name))
        else:
            self.feeds[name] = array
            code = helper.np_dtype_to_tensor_dtype(array.dtype)
            dims = [f"{name}_{i}" for i in range(array.ndim)] if self.dynamic else list(array.shape)
            self.inputs.append(helper.make_tensor_value_info(name, code, dims))
        return name

    def node(self, op: str, names: Sequence[str], results: int = 1, **attributes: Any) -> None:
        """One op more; its results are outputs."""
        index = len(self.nodes)
        outputs = [f"y{index}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(op, list(names), outputs, **attributes))

    def proto(self) -> onnx.ModelProto:
        """The model."""
        outputs = [
            # onnx infers the type of results of its own ops.
            helper.make_tensor_value_info(
                name, TensorProto.FLOAT if node.domain else TensorProto.UNDEFINED, None
            )
            for node in self.nodes
            for name in node.output
        ]
        graph = helper.make_graph(self.nodes, "products", self.inputs, outputs, self.weights)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        return onnx.shape_inference.infer_shapes(model)

    def run(self) -> list[Array]:
        """The results of compiled kernels, all of them: no op is left to the host."""
        compiled = onnxloom.compile(self.proto(), cache=False)
        results = list(compiled.run(self.feeds).values())
        assert compiled.host_steps == 0, compiled.host_counts
        return results

    def reference(self) -> list[Array]:
        """The results of onnxruntime."""
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        data = self.proto().SerializeToString()
        session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return [np.asarray(y) for y in session.run(None, self.feeds)]


@pytest.fixture(params=["pairs", "quads", "run-time"])
def layout(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both layouts of constants, whatever this processor has; or factors that are not constant."""
    if request.param != "run-time":
        target = replace(CpuTarget.host().tiles, dot_bytes=request.param == "quads")
        monkeypatch.setattr(CpuTarget, "tiles", property(lambda self: target))
    return request.param


def levels(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Array:
    """Any numbers of the type, its ends among them."""
    limits = np.iinfo(dtype)
    array = rng.integers(limits.min, limits.max + 1, shape).astype(dtype)
    flat = array.reshape(-1)
    flat[: flat.size // 3] = rng.choice([limits.min, limits.max], flat.size // 3)
    return array


def middle(dtype: Any) -> int:
    """The number in the middle of a type."""
    return 128 if np.dtype(dtype).kind == "u" else 0


TYPES = [(np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8), (np.int8, np.uint8)]
FACTORS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((5, 7), (7, 9)),
    ((1, 64), (64, 50)),
    ((17, 33), (33, 49)),
    ((3, 1), (1, 3)),
    ((2, 3, 4, 6), (3, 6, 5)),
    ((3, 1, 4, 5), (2, 5, 6)),
    ((2, 9, 11), (11, 30)),
    ((6,), (6, 7)),
    ((4, 7), (7,)),
    ((20, 300), (300, 100)),
]


def zero_points(rng: np.random.Generator, kind: str, count: int, dtype: Any) -> Array:
    return levels(rng, (count,) if kind == "each" else (), dtype)


@pytest.mark.parametrize("zeros", ["none", "one", "each"])
def test_matmul_integer(zeros: str, layout: str) -> None:
    constant = layout != "run-time"
    rng = np.random.default_rng(len(zeros))
    model, wants = Model(dynamic=not constant), list[Array]()
    for index, (a_shape, b_shape) in enumerate(FACTORS):
        a_type, b_type = TYPES[index % 4]
        a, b = levels(rng, a_shape, a_type), levels(rng, b_shape, b_type)
        names = [model.tensor(a, False), model.tensor(b, constant)]
        left, right = a.astype(np.int64), b.astype(np.int64)
        if zeros != "none":
            kind = zeros if a.ndim > 1 and b.ndim > 1 else "one"
            a_zero = zero_points(rng, kind, a_shape[-2] if a.ndim > 1 else 1, a_type)
            b_zero = zero_points(rng, kind, b_shape[-1], b_type)
            names += [model.tensor(a_zero), model.tensor(b_zero, constant or index % 2 == 0)]
            left = left - (a_zero[:, None] if a_zero.ndim else a_zero).astype(np.int64)
            right = right - b_zero.astype(np.int64)
        model.node("MatMulInteger", names)
        wants.append((left @ right).astype(np.int32))
    for want, got, shapes in zip(wants, model.run(), FACTORS, strict=True):
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, want, err_msg=str(shapes))


def test_sums_do_not_saturate(layout: str) -> None:
    model = Model()
    a, b = np.full((3, 4000), 255, np.uint8), np.full((4000, 5), -128, np.int8)
    model.node("MatMulInteger", [model.tensor(a, False), model.tensor(b, layout != "run-time")])
    np.testing.assert_array_equal(model.run()[0], np.full((3, 5), -255 * 128 * 4000))


@pytest.mark.parametrize("scales", ["one", "each"])
def test_qlinear_matmul(scales: str, layout: str) -> None:
    rng = np.random.default_rng(7)
    model = Model()
    for index, (a_shape, b_shape) in enumerate(FACTORS[:3] + FACTORS[6:7] + FACTORS[9:]):
        # onnxruntime multiplies no signed left by an unsigned right matrix.
        a_type, b_type = TYPES[index % 3]
        columns = b_shape[-1] if scales == "each" else 1
        a, b = levels(rng, a_shape, a_type), levels(rng, b_shape, b_type)
        a_zero, y_zero = middle(a_type) - 5, middle(a_type) + 9
        b_zero = (middle(b_type) + rng.integers(-9, 9, columns)).astype(b_type)
        b_scale = rng.uniform(0.01, 0.03, columns).astype(np.float32)
        if scales == "one":
            b_zero, b_scale = b_zero.reshape(()), b_scale.reshape(())
        names = [model.tensor(a, False), model.tensor(np.float32(0.02))]
        names += [
            model.tensor(np.array(a_zero, a_type)),
            model.tensor(b, layout != "run-time"),
            model.tensor(b_scale),
        ]
        y_scale = np.float32(0.05 * np.sqrt(a_shape[-1]))
        names += [model.tensor(b_zero), model.tensor(y_scale), model.tensor(np.array(y_zero, a_type))]
        model.node("QLinearMatMul", names)
    for want, got in zip(model.reference(), model.run(), strict=True):
        assert got.dtype == want.dtype
        assert len(np.unique(want)) > 3
        np.testing.assert_array_equal(got, want)


@dataclass(frozen=True)
class Conv:
    """A case: an image, the weights, attributes."""

    image: tuple[int, ...]
    weights: tuple[int, ...]
    attributes: dict[str, Any] = field(default_factory=dict)


PADS = {"pads": [1, 1, 1, 1]}
CONVS = [
    Conv((1, 3, 8, 9), (4, 3, 3, 3), PADS),
    Conv((2, 4, 7, 7), (5, 4, 1, 1)),
    Conv((1, 4, 9, 11), (6, 2, 3, 3), {**PADS, "group": 2, "strides": [2, 2]}),
    Conv((1, 6, 9, 11), (4, 3, 3, 2), {"group": 2, "dilations": [1, 2]}),
    Conv((2, 5, 9, 40), (5, 1, 3, 3), {**PADS, "group": 5}),
    Conv((1, 3, 20), (2, 3, 4), {"pads": [2, 1]}),
]


def exact(model: Model) -> list[Array]:
    """ConvInteger by a Conv of f32, which holds sums of this size exactly."""
    arrays = {w.name: numpy_helper.to_array(w) for w in model.weights} | model.feeds
    single = Model()
    for node in model.nodes:
        x, w, x_zero, w_zero = (arrays[name].astype(np.float32) for name in node.input)
        w_zero = w_zero.reshape(-1, *[1] * (w.ndim - 1))
        names = [single.tensor(x - x_zero, False), single.tensor(w - w_zero)]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        single.node("Conv", names, **attributes)
    return single.reference()


@pytest.mark.parametrize("zeros", ["none", "one", "each"])
def test_conv_integer(zeros: str, layout: str) -> None:
    constant = layout != "run-time"
    rng = np.random.default_rng(3)
    model = Model()
    for index, case in enumerate(CONVS):
        x_type, w_type = TYPES[index % 4]
        x, w = levels(rng, case.image, x_type), levels(rng, case.weights, w_type)
        w_zero = zero_points(rng, zeros, case.weights[0], w_type)
        w_zero = w_zero * (zeros != "none")
        names = [model.tensor(x, False), model.tensor(w, constant), model.tensor(np.array(9, x_type))]
        model.node("ConvInteger", [*names, model.tensor(w_zero, constant)], **case.attributes)
    for case, want, got in zip(CONVS, exact(model), model.run(), strict=True):
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, want.astype(np.int64).astype(np.int32), err_msg=str(case))


@pytest.mark.parametrize("each", [False, True], ids=["one", "each"])
def test_qlinear_conv(each: bool, layout: str) -> None:
    rng = np.random.default_rng(4)
    model = Model()
    for index, case in enumerate(CONVS):
        x_type, w_type = (np.uint8, np.uint8) if index % 2 and not each else (np.uint8, np.int8)
        rows = case.weights[0]
        x, w = levels(rng, case.image, x_type), levels(rng, case.weights, w_type)
        w_scale = rng.uniform(0.01, 0.03, (rows,) if each else ()).astype(np.float32)
        w_zero = np.zeros(w_scale.shape, w_type) if each else np.array(7, w_type)
        names = [model.tensor(x, False), model.tensor(np.float32(0.02)), model.tensor(np.array(100, x_type))]
        names += [model.tensor(w, layout != "run-time"), model.tensor(w_scale), model.tensor(w_zero)]
        names += [model.tensor(np.float32(0.2)), model.tensor(np.array(120, x_type))]
        if index % 3:
            names.append(model.tensor(rng.integers(-3000, 3000, rows).astype(np.int32)))
        model.node("QLinearConv", names, **case.attributes)
    for want, got in zip(model.reference(), model.run(), strict=True):
        assert len(np.unique(want)) > 3
        np.testing.assert_array_equal(got, want)


def test_dynamic_quantize_linear() -> None:
    rng = np.random.default_rng(5)
    model = Model()
    arrays = [
        rng.standard_normal((3, 50)),
        rng.uniform(1, 2, (4, 5, 6)),
        -rng.uniform(1, 2, 7),
        np.zeros((2, 3)),
        np.array([0.5, 1.5, 2.5, 254.5, 255.0]),
        np.array(3.0),
    ]
    for array in arrays:
        model.node("DynamicQuantizeLinear", [model.tensor(array.astype(np.float32), False)], 3)
    for want, got in zip(model.reference(), model.run(), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_scaled_to_floats() -> None:
    rng = np.random.default_rng(6)
    model = Model()
    for index, (m, k, n) in enumerate([(5, 7, 9), (1, 64, 50), (17, 33, 49)]):
        several = (n,) if index != 1 else ()
        a, b = levels(rng, (2, m, k), np.uint8), levels(rng, (k, n), np.int8)
        b_scale = rng.uniform(0.01, 0.03, several).astype(np.float32)
        right = [model.tensor(b), model.tensor(b_scale)]
        zero = model.tensor(levels(rng, several, np.int8)) if index else ""
        bias = model.tensor(rng.standard_normal(n).astype(np.float32)) if index < 2 else ""
        left = [model.tensor(a, False), right[0], model.tensor(np.float32(0.02)), right[1]]
        names = [*left, model.tensor(np.uint8(9)), zero, bias]
        model.node("MatMulIntegerToFloat", names, domain="com.microsoft")
        x = model.tensor(rng.standard_normal((m, k)).astype(np.float32), False)
        model.node("DynamicQuantizeMatMul", [x, *right, zero, bias], domain="com.microsoft")
    for want, got in zip(model.reference(), model.run(), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-5 * np.abs(want).max())
