"""Every adapter to the latest version gives what the op gave at its old version.

The judge is onnxruntime on the old model, without optimizations; where it has no kernel for the old
version, numpy written from the old version's documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_import import import_model

ort = pytest.importorskip("onnxruntime")
Array = np.ndarray[Any, Any]
RUNNABLE_OPSET = 24
"""Newest opset the peer has kernels for throughout."""


@dataclass(frozen=True)
class Case:
    name: str
    op: str
    opset: int
    inputs: tuple[Array | None, ...]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: int = 1
    constants: tuple[int, ...] = ()
    """Inputs that are initializers."""
    expected: Callable[..., Array] | None = None
    """For versions the peer cannot run."""
    domain: str = ""
    run_at: int = RUNNABLE_OPSET
    """Opset the peer runs the upgraded op at."""

    def model(self, has_shapes: bool) -> onnx.ModelProto:
        names = [f"x{i}" if a is not None else "" for i, a in enumerate(self.inputs)]
        node = helper.make_node(
            self.op, names, [f"y{i}" for i in range(self.outputs)], domain=self.domain, **self.attributes
        )
        graph = helper.make_graph([node], "g", [], [])
        for index, array in enumerate(self.inputs):
            if array is None:
                continue
            if index in self.constants:
                graph.initializer.append(numpy_helper.from_array(array, f"x{index}"))
                continue
            element = helper.np_dtype_to_tensor_dtype(array.dtype)
            shape = array.shape if has_shapes else None
            graph.input.append(helper.make_tensor_value_info(f"x{index}", element, shape))
        for index in range(self.outputs):
            graph.output.add(name=f"y{index}")
        imports = [helper.make_opsetid(self.domain, self.opset)]
        if self.domain:
            imports.append(helper.make_opsetid("", 15))
        return helper.make_model(graph, ir_version=8, opset_imports=imports)

    def feeds(self) -> dict[str, Array]:
        return {f"x{i}": a for i, a in enumerate(self.inputs) if a is not None and i not in self.constants}


def run(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def f32(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> Array:
    return np.array(values, dtype=np.int64)


def _scan8_body() -> onnx.GraphProto:
    return helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["s2"]), helper.make_node("Mul", ["s2", "e"], ["o"])],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("s", "e")],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("s2", "o")],
    )


X = f32(2, 3, 4, 5)
REDUCTIONS = ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]

CASES = [
    *[
        Case(f"Reduce{r}-{v}-axes", f"Reduce{r}", v, (np.abs(X) + 0.5,), {"axes": [1, 3], "keepdims": k})
        for r in REDUCTIONS
        for v, k in ((11, 0), (12, 1))
    ],
    Case("ReduceMean-13-all", "ReduceMean", 13, (X,), {"keepdims": 0}),
    Case("ReduceMax-13-negative", "ReduceMax", 13, (X,), {"axes": [-1]}),
    *[
        Case(f"{op}-{v}-axis{axis}", op, v, (X,), {"axis": axis})
        for op in ("Softmax", "LogSoftmax", "Hardmax")
        for v, axis in ((1, 1), (11, 2), (12, 3), (11, -1), (11, -2), (12, 0))
    ],
    Case("Softmax-11-default", "Softmax", 11, (X,)),
    Case("Softmax-11-empty", "Softmax", 11, (f32(2, 3, 0),)),
    Case("Clip-6-half", "Clip", 6, (f32(9).astype(np.float16),), {"min": -0.5}),
    Case("Squeeze-11", "Squeeze", 11, (f32(1, 3, 1, 2),), {"axes": [0, -2]}),
    Case("Squeeze-1-all", "Squeeze", 1, (f32(1, 3, 1, 2),)),
    Case("Unsqueeze-11", "Unsqueeze", 11, (f32(3, 2),), {"axes": [0, 3]}),
    Case("Split-11-sizes", "Split", 11, (f32(6, 2),), {"axis": 0, "split": [1, 5]}, outputs=2),
    Case("Split-2-equal", "Split", 2, (f32(6, 2),), {"axis": 0}, outputs=3),
    Case("Split-13-equal", "Split", 13, (f32(2, 6),), {"axis": 1}, outputs=2),
    Case("Pad-2-value", "Pad", 2, (f32(2, 3),), {"pads": [1, 0, 2, 1], "value": 1.5}),
    Case("Pad-2-reflect", "Pad", 2, (f32(4, 5),), {"pads": [1, 2, 2, 1], "mode": "reflect"}),
    Case(
        "Pad-1", "Pad", 1, (f32(2, 3),), {"paddings": [1, 0, 2, 1], "value": 1.5},
        expected=lambda x: np.pad(x, ((1, 2), (0, 1)), constant_values=1.5),
    ),
    Case("Pad-2-double", "Pad", 2, (f32(2, 3).astype(np.float64),), {"pads": [1, 0, 2, 1], "value": 0.1}),
    Case("Slice-1", "Slice", 1, (f32(5, 6),), {"starts": [1, -4], "ends": [4, 9999], "axes": [0, 1]}),
    Case("Slice-1-no-axes", "Slice", 1, (f32(5, 6),), {"starts": [1], "ends": [-1]}),
    Case("TopK-1", "TopK", 1, (f32(3, 7),), {"k": 3, "axis": 1}, outputs=2),
    Case("TopK-10", "TopK", 10, (f32(3, 7), ints(2)), {"axis": 0}, outputs=2),
    Case(
        "Reshape-1", "Reshape", 1, (f32(2, 6),), {"shape": [3, -1]}, expected=lambda x: x.reshape(3, 4)
    ),
    Case("Clip-6", "Clip", 6, (np.array([-np.inf, -2, 0.3, 2, np.inf], np.float32),), {"min": -1.0}),
    Case("Clip-6-both", "Clip", 6, (f32(9),), {"min": -0.5, "max": 0.5}),
    Case("Clip-1", "Clip", 1, (f32(9),), {"max": 0.5}, expected=lambda x: np.minimum(x, np.float32(0.5))),
    Case("Dropout-7", "Dropout", 7, (f32(3, 4),), {"ratio": 0.3}),
    Case("Dropout-10", "Dropout", 10, (f32(3, 4),), {"ratio": 0.3}),
    Case("Dropout-1", "Dropout", 1, (f32(3, 4),), {"is_test": 1}, expected=lambda x: x),
    Case(
        "BatchNormalization-7-activations", "BatchNormalization", 7,
        (f32(2, 3, 4), *(np.abs(f32(3, 4, seed=s)) + 0.1 for s in range(4))),
        {"spatial": 0, "epsilon": 1e-3},
    ),
    Case(
        "BatchNormalization-9", "BatchNormalization", 9,
        (f32(2, 3, 4), *(np.abs(f32(3, seed=s)) + 0.1 for s in range(4))),
    ),
    Case(
        "BatchNormalization-6", "BatchNormalization", 6,
        (f32(2, 3, 4), *(np.abs(f32(3, seed=s)) + 0.1 for s in range(4))), {"is_test": 1},
        expected=lambda x, s, b, m, v: (x - m[:, None]) / np.sqrt(v + 1e-5)[:, None] * s[:, None]
        + b[:, None],
    ),
    Case(
        "GroupNormalization-18", "GroupNormalization", 18, (f32(2, 6, 3), f32(2, seed=1), f32(2, seed=2)),
        {"num_groups": 2},
    ),
    Case("Upsample-7", "Upsample", 7, (f32(1, 2, 3, 4),), {"scales": [1.0, 1.0, 2.0, 3.0]}),
    Case(
        "Upsample-7-linear", "Upsample", 7, (f32(1, 2, 3, 4),),
        {"scales": [1.0, 1.0, 2.0, 2.0], "mode": "linear"},
    ),
    Case(
        "Upsample-9", "Upsample", 9, (f32(1, 2, 3, 4), np.array([1, 1, 2, 1.5], np.float32)), constants=(1,)
    ),
    Case(
        "Upsample-1", "Upsample", 1, (f32(1, 2, 3, 4),), {"height_scale": 2.0, "width_scale": 3.0},
        expected=lambda x: x.repeat(2, axis=2).repeat(3, axis=3),
    ),
    *[
        Case(f"Resize-10-{name}", "Resize", 10, (f32(1, 2, 6, 8), np.array(s, np.float32)), {"mode": mode},
             constants=constants)
        for name, s, mode, constants in (
            ("up", [1, 1, 2, 1.7], "nearest", (1,)),
            ("down", [1, 1, 0.6, 0.5], "nearest", (1,)),
            ("mixed", [1, 1, 0.6, 2], "nearest", (1,)),
            ("dynamic", [1, 1, 1.5, 0.7], "nearest", ()),
            ("linear", [1, 1, 0.6, 2], "linear", (1,)),
        )
    ],
    Case(
        "Resize-11-sizes", "Resize", 11,
        (f32(1, 2, 6, 8), np.zeros(0, np.float32), np.zeros(0, np.float32), ints(1, 2, 9, 4)),
        {"mode": "linear"}, constants=(1, 2, 3),
    ),
    Case(
        "Resize-11-scales", "Resize", 11,
        (f32(1, 2, 6, 8), np.zeros(0, np.float32), np.array([1, 1, 2, 0.5], np.float32)),
        {"mode": "cubic", "cubic_coeff_a": -0.5}, constants=(1, 2),
    ),
    Case(
        "Resize-11-tf-half-pixel", "Resize", 11,
        (f32(1, 2, 6, 8), np.zeros(0, np.float32), np.zeros(0, np.float32), ints(1, 2, 4, 4)),
        {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"},
        constants=(1, 2, 3),
    ),
    *[
        Case(f"{op}-6-axis", op, 6, (np.abs(X) + 1, np.abs(f32(3, 4, seed=1)) + 1),
             {"broadcast": 1, "axis": axis}, expected=lambda a, b, fn=fn: fn(a, b[:, :, None]))
        for op, fn, axis in (
            ("Add", np.add, 1), ("Sub", np.subtract, -3), ("Mul", np.multiply, 1), ("Div", np.divide, 1),
        )
    ],
    Case("Add-6-suffix", "Add", 6, (X, f32(5)), {"broadcast": 1}, expected=lambda a, b: a + b),
    Case("Add-6-same", "Add", 6, (X, X), expected=lambda a, b: a + b),
    Case("Pow-1-axis", "Pow", 1, (np.abs(X), f32(2)), {"broadcast": 1, "axis": 0},
         expected=lambda a, b: a ** b[:, None, None, None]),
    Case("PRelu-6", "PRelu", 6, (X, f32(3, seed=2)),
         expected=lambda x, s: np.where(x < 0, x * s[:, None, None], x)),
    Case("PRelu-6-shared", "PRelu", 6, (X, f32(1, seed=2)), expected=lambda x, s: np.where(x < 0, x * s, x)),
    Case("Gemm-6", "Gemm", 6, (f32(2, 3), f32(3, 4), f32(4)), {"broadcast": 1},
         expected=lambda a, b, c: a @ b + c),
    Case("Cast-1", "Cast", 1, (f32(3) * 9,), {"to": "INT32"}, expected=lambda x: x.astype(np.int32)),
    Case("Concat-1", "Concat", 1, (f32(2, 2), f32(2, 3)), expected=lambda a, b: np.concatenate([a, b], 1)),
    Case("Selu-1", "Selu", 1, (X,),
         expected=lambda x: np.where(x > 0, 1.0507 * x, 1.0507 * 1.6732 * (np.exp(x) - 1))),
    Case("Relu-1", "Relu", 1, (X,), {"consumed_inputs": [0]}, expected=lambda x: np.maximum(x, 0)),
    Case("GlobalLpPool-1", "GlobalLpPool", 1, (X,), {"p": 2.0},
         run_at=21, expected=lambda x: np.sqrt((x**2).sum(axis=(2, 3), keepdims=True))),
    Case("Tile-1", "Tile", 1, (f32(2, 3), np.array([3], np.float32), np.array([1], np.float32)),
         expected=lambda x, t, a: np.tile(x, (1, 3))),
    Case("Scatter-9", "Scatter", 9, (f32(3, 3), np.array([[1, 0, 2]], np.int64), f32(1, 3, seed=3)),
         {"axis": 0}),
    Case("Scatter-11", "Scatter", 11, (f32(3, 3), np.array([[1, 0, 2]], np.int64), f32(1, 3, seed=3)),
         {"axis": 0}, expected=lambda d, i, u: _scattered(d, i, u)),
    Case("RoiAlign-10", "RoiAlign", 10,
         (f32(1, 2, 8, 8), np.array([[0, 0, 5, 6], [1, 2, 7, 7]], np.float32), ints(0, 0)),
         {"output_height": 3, "output_width": 2, "sampling_ratio": 2}, run_at=21),
    Case("GridSample-16", "GridSample", 16, (f32(1, 2, 4, 4), np.tanh(f32(1, 3, 3, 2))), {"mode": "bicubic"}),
    Case("GridSample-16-default", "GridSample", 16, (f32(1, 2, 4, 4), np.tanh(f32(1, 3, 3, 2)))),
    Case("DFT-17", "DFT", 17, (f32(1, 8, 1),), {"axis": 1}),
    Case("DFT-17-default", "DFT", 17, (f32(1, 8, 2),)),
    Case("Affine-1", "Affine", 1, (X,), {"alpha": 1.5, "beta": -0.25}),
    Case("Scale-1", "Scale", 1, (X,), {"scale": 1.5}, expected=lambda x: 1.5 * x),
    Case("ScaledTanh-1", "ScaledTanh", 1, (X,), {"alpha": 1.5, "beta": 0.5}),
    Case("ParametricSoftplus-1", "ParametricSoftplus", 1, (X,), {"alpha": 1.5, "beta": 0.5}),
    Case("ImageScaler-1", "ImageScaler", 1, (X,), {"scale": 0.5, "bias": [1.0, 2.0, 3.0]}),
    Case("Crop-1", "Crop", 1, (X,), {"border": [1, 0, 2, 1]}),
    Case("Crop-1-size", "Crop", 1, (X,), {"border": [1, 1, 0, 0], "scale": [2, 3]}),
    Case("ThresholdedRelu-1", "ThresholdedRelu", 1, (X,), {"alpha": 0.5}),
    Case("MeanVarianceNormalization-1", "MeanVarianceNormalization", 1, (X,), {"across_channels": 1},
         expected=lambda x: (x - x.mean()) / x.std()),
    Case("MeanVarianceNormalization-1-mean", "MeanVarianceNormalization", 1, (X,), {"normalize_variance": 0},
         expected=lambda x: x - x.mean(axis=(0, 2, 3), keepdims=True)),
    Case("LSTM-1", "LSTM", 1, (f32(4, 2, 3), f32(1, 8, 3, seed=1), f32(1, 8, 2, seed=2)),
         {"hidden_size": 2, "output_sequence": 1},
         expected=lambda x, w, r: _lstm(x, w, r)),
    Case("GRU-7", "GRU", 7, (f32(4, 2, 3), f32(1, 6, 3, seed=1), f32(1, 6, 2, seed=2)),
         {"hidden_size": 2}, outputs=2),
    Case("Scan-8", "Scan", 8, (None, f32(2, 3), f32(2, 4, 3, seed=1)),
         {"body": _scan8_body(), "num_scan_inputs": 1}, outputs=2),
    Case("Scan-8-reverse", "Scan", 8, (None, f32(2, 3), f32(2, 4, 3, seed=1)),
         {"body": _scan8_body(), "num_scan_inputs": 1, "directions": [1]}, outputs=2),
    Case("LabelEncoder-1", "LabelEncoder", 1, (ints(1, 0, 7),),
         {"classes_strings": ["a", "b"], "default_string": "none"}, domain="ai.onnx.ml"),
    Case("LabelEncoder-1-strings", "LabelEncoder", 1, (np.array(["b", "z"], dtype=object),),
         {"classes_strings": ["a", "b"], "default_int64": 9}, domain="ai.onnx.ml"),
]  # fmt: skip


def _scattered(data: Array, indices: Array, updates: Array) -> Array:
    result = data.copy()
    np.put_along_axis(result, indices, updates, axis=0)
    return result


def _lstm(x: Array, w: Array, r: Array) -> Array:
    """Gates i, o, f, c without bias; gives the whole sequence."""
    h = c = np.zeros((x.shape[1], 2), np.float32)
    steps: list[Array] = []
    for step in x:
        i, o, f, g = np.split(step @ w[0].T + h @ r[0].T, 4, axis=1)
        sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        steps.append(h)
    return np.stack(steps)[:, None]


@pytest.mark.parametrize("has_shapes", [True, False], ids=["shapes", "no-shapes"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_upgraded_op_gives_what_the_old_one_gave(case: Case, has_shapes: bool) -> None:
    model = case.model(has_shapes)
    if case.expected is not None:
        arrays = [a for a in case.inputs if a is not None]
        expected = [case.expected(*arrays)]
    else:
        expected = run(model, case.feeds())
    upgraded = export_model(import_model(model), opset=case.run_at)
    actual = run(upgraded, case.feeds())
    assert len(actual) == len(expected)
    for have, want in zip(actual, expected, strict=True):
        assert have.dtype == want.dtype or case.expected is not None
        if want.dtype == object:
            assert have.tolist() == want.tolist()
        else:
            np.testing.assert_allclose(have, want, rtol=2e-6, atol=1e-6)
