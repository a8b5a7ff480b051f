"""Functions that stand in for the reference implementation give what onnxruntime gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from onnxloom.lowering.runtime.host_ops import can_evaluate, evaluate

RNG = np.random.default_rng(0)


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(low: int, high: int, dtype: Any, *shape: int) -> np.ndarray[Any, Any]:
    return RNG.integers(low, high, shape).astype(dtype)


def peer(node: onnx.NodeProto, inputs: list[Any], opset: int) -> list[Any]:
    """Outputs of onnxruntime without optimizations."""
    given = {name: value for name, value in zip(node.input, inputs, strict=True) if name}
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for n, v in given.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in node.output if name],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, given)


def check(
    op: str, inputs: list[Any], outputs: int = 1, tolerance: float = 2e-5, opset: int = 21, **attributes: Any
) -> None:
    domain = attributes.pop("domain", "")
    names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
    node = helper.make_node(op, names, [f"o{k}" for k in range(outputs)], domain=domain, **attributes)
    got = [value for value in evaluate(node, inputs) if value is not None]
    expected = peer(node, inputs, opset)
    assert len(got) == len(expected) == outputs
    for g, e in zip(got, expected, strict=True):
        assert g.shape == e.shape
        assert g.dtype == e.dtype
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance)


CONVS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 4, 11), (6, 4, 3), {"strides": [2], "pads": [1, 2]}),
    ((1, 6, 9, 8), (4, 3, 3, 2), {"group": 2, "dilations": [2, 1], "pads": [2, 0, 1, 1]}),
    ((2, 4, 7, 7), (4, 1, 3, 3), {"group": 4, "strides": [2, 1], "auto_pad": "SAME_UPPER"}),
    ((1, 3, 6, 5), (2, 3, 2, 2), {"auto_pad": "SAME_LOWER"}),
    ((1, 3, 6, 5), (2, 3, 2, 2), {"auto_pad": "VALID"}),
    ((1, 2, 5, 4, 6), (3, 2, 2, 3, 2), {"pads": [1, 0, 1, 0, 1, 1]}),
]


@pytest.mark.parametrize(("x", "w", "attributes"), CONVS)
@pytest.mark.parametrize("bias", [False, True])
def test_conv(x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any], bias: bool) -> None:
    check("Conv", [f32(*x), f32(*w), *([f32(w[0])] if bias else [])], **attributes)


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        ((1, 3, 5), (3, 2, 4), {"strides": [3], "output_padding": [1]}),
        ((2, 4, 4, 5), (4, 2, 3, 3), {"group": 2, "pads": [1, 0, 1, 2], "dilations": [1, 2]}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"strides": [2, 2], "output_shape": [9, 8]}),
    ],
)
def test_conv_transpose(x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any]) -> None:
    check("ConvTranspose", [f32(*x), f32(*w), f32(w[1] * attributes.get("group", 1))], **attributes)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [3, 2], "strides": [2, 2]},
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 1]},
        {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
        {"kernel_shape": [2, 2], "dilations": [2, 2]},
    ],
)
def test_pooling(op: str, attributes: dict[str, Any]) -> None:
    check(op, [f32(2, 3, 9, 8)], **attributes)


@pytest.mark.parametrize("include", [0, 1])
def test_average_pool_with_padding_counted_or_not(include: int) -> None:
    attributes: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    check("AveragePool", [f32(1, 2, 7, 8)], count_include_pad=include, **attributes)


def test_max_pool_positions_and_negative_inputs() -> None:
    x = -np.abs(f32(2, 3, 8, 7)) - 1
    check("MaxPool", [x], 2, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    check("MaxPool", [x], 2, kernel_shape=[2, 3], storage_order=1)


RECURRENT: list[dict[str, Any]] = [
    {},
    {"direction": "reverse"},
    {"direction": "bidirectional"},
    {"clip": 0.4},
]


@pytest.mark.parametrize(("op", "gates", "states"), [("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)])
@pytest.mark.parametrize("attributes", RECURRENT)
@pytest.mark.parametrize("lengths", [None, [5, 2]])
def test_recurrent(
    op: str, gates: int, states: int, attributes: dict[str, Any], lengths: list[int] | None
) -> None:
    hidden, size, batch = 3, 4, 2
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    inputs: list[Any] = [
        f32(5, batch, size),
        f32(directions, gates * hidden, size),
        f32(directions, gates * hidden, hidden),
        f32(directions, 2 * gates * hidden),
        None if lengths is None else np.array(lengths, np.int32),
        *(f32(directions, batch, hidden) for _ in range(states)),
    ]
    check(op, inputs, 1 + states, hidden_size=hidden, **attributes)


def test_lstm_peepholes_and_activations() -> None:
    inputs: list[Any] = [f32(4, 2, 3), f32(1, 8, 3), f32(1, 8, 2), f32(1, 16), None, None, None, f32(1, 6)]
    acts = ["HardSigmoid", "Tanh", "Relu"]
    check("LSTM", inputs, 3, hidden_size=2, activations=acts, activation_alpha=[0.3], activation_beta=[0.4])


@pytest.mark.parametrize("linear", [0, 1])
def test_gru_with_the_hidden_bias_inside_or_outside(linear: int) -> None:
    inputs = [f32(4, 2, 3), f32(1, 6, 3), f32(1, 6, 2), f32(1, 12)]
    check("GRU", inputs, 2, hidden_size=2, linear_before_reset=linear)


def test_gather_elements_from_larger_data() -> None:
    data, indices = f32(4, 6), ints(-4, 4, np.int64, 3, 2)
    check("GatherElements", [data, indices], axis=0)
    node = helper.make_node("GatherElements", ["d", "i"], ["y"], axis=0)
    with pytest.raises(ValueError, match="outside"):
        evaluate(node, [data, np.array([[4]])])


def test_integer_products() -> None:
    a, b = ints(0, 256, np.uint8, 2, 3, 5), ints(0, 256, np.uint8, 5, 4)
    check("MatMulInteger", [a, b, np.array(3, np.uint8), np.array(7, np.uint8)])
    scales = [np.array(v, np.float32) for v in (0.02, 0.03, 0.7)]
    zeros = [np.array(v, np.uint8) for v in (120, 130, 128)]
    check("QLinearMatMul", [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]])


def test_integer_convolutions() -> None:
    x, w = ints(0, 256, np.uint8, 1, 2, 6, 6), ints(0, 256, np.uint8, 3, 2, 3, 3)
    check("ConvInteger", [x, w, np.array(5, np.uint8), np.array(9, np.uint8)], pads=[1, 1, 1, 1])
    scales = [np.array(v, np.float32) for v in (0.02, 0.03, 0.9)]
    inputs = [x, scales[0], np.array(128, np.uint8), w, scales[1], np.array(127, np.uint8)]
    check("QLinearConv", [*inputs, scales[2], np.array(100, np.uint8), ints(-99, 99, np.int32, 3)])


def test_dynamic_quantize_lstm() -> None:
    directions, hidden, size = 2, 8, 4
    inputs: list[Any] = [
        f32(5, 2, size),
        ints(-20, 20, np.int8, directions, size, 4 * hidden),
        ints(-20, 20, np.int8, directions, hidden, 4 * hidden),
        f32(directions, 8 * hidden),
        None, None, None, None,
        np.full(directions, 0.02, np.float32), np.zeros(directions, np.int8),
        np.full(directions, 0.03, np.float32), np.zeros(directions, np.int8),
    ]  # fmt: skip
    check(
        "DynamicQuantizeLSTM", inputs, 3, 1e-4, hidden_size=hidden, direction="bidirectional",
        domain="com.microsoft",
    )  # fmt: skip


@pytest.mark.parametrize("slope", [np.inf, -np.inf, np.nan, 0.5])
def test_prelu_multiplies_negative_numbers_only(slope: float) -> None:
    x = np.array([[0.0, -0.0, 2, -3, np.inf, -np.inf, np.nan]], np.float32)
    check("PRelu", [x, np.array([slope], np.float32)])


LEVEL = 4e-3
"""A level of a state: one at a half goes to either."""


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_dynamic_quantize_lstm_of_sequences_that_end_early(direction: str) -> None:
    directions, hidden = 2 if direction == "bidirectional" else 1, 4
    scales, zeros = np.full(directions, 0.002, np.float32), np.zeros(directions, np.int8)
    inputs = [
        f32(5, 3, 3), ints(-128, 128, np.int8, directions, 3, 4 * hidden),
        ints(-128, 128, np.int8, directions, hidden, 4 * hidden), None, np.array([5, 1, 3], np.int32),
        None, None, None, scales, zeros, scales, zeros,
    ]  # fmt: skip
    check(
        "DynamicQuantizeLSTM", inputs, 3, LEVEL, hidden_size=hidden, direction=direction,
        domain="com.microsoft",
    )  # fmt: skip


def test_dynamic_quantize_lstm_limits_gates_with_their_peepholes() -> None:
    hidden, scale, zero = 4, np.full(1, 0.002, np.float32), np.zeros(1, np.int8)
    inputs = [
        f32(3, 2, 3), ints(-128, 128, np.int8, 1, 3, 4 * hidden),
        ints(-128, 128, np.int8, 1, hidden, 4 * hidden), None, None, None,
        f32(1, 2, hidden) * 3, f32(1, 3 * hidden), scale, zero, scale, zero,
    ]  # fmt: skip
    check("DynamicQuantizeLSTM", inputs, 3, LEVEL, hidden_size=hidden, clip=0.7, domain="com.microsoft")


def tree_ensemble(**attributes: Any) -> tuple[onnx.NodeProto, np.ndarray[Any, Any]]:
    tensor = onnx.numpy_helper.from_array
    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=2, tree_roots=[0, 2],
        nodes_featureids=[0, 1, 2], nodes_truenodeids=[1, 0, 3], nodes_falsenodeids=[2, 1, 4],
        nodes_trueleafs=[0, 1, 1], nodes_falseleafs=[1, 1, 1],
        nodes_splits=tensor(np.array([0.1, -0.2, 0.3], np.float32), "s"),
        nodes_modes=tensor(np.array([0, 1, 3], np.uint8), "m"),
        leaf_targetids=[0, 1, 1, 0, 1],
        leaf_weights=tensor(np.array([1.5, -2, 3, 0.25, 7], np.float32), "w"), **attributes,
    )  # fmt: skip
    return node, np.vstack([f32(20, 3), np.full((1, 3), np.nan, np.float32)])


@pytest.mark.parametrize("function", [0, 1, 2, 3])
def test_trees_against_the_reference(function: int) -> None:
    from onnx.reference import ReferenceEvaluator

    node, x = tree_ensemble(aggregate_function=function)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", 1, x.shape)],
        [helper.make_empty_tensor_value_info("y")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 5)])
    outputs: Any = ReferenceEvaluator(model).run(None, {"x": x})
    (expected,) = outputs
    reached = (expected != 0) & (
        np.abs(expected) < 1e38
    )  # targets no tree reached are left to the implementation
    (got,) = evaluate(node, [x])
    np.testing.assert_allclose(got[reached], expected[reached], rtol=1e-6)


def test_scores_are_transformed() -> None:
    node, x = tree_ensemble(post_transform=1)
    plain, _ = tree_ensemble()
    (raw,) = evaluate(plain, [x])
    (soft,) = evaluate(node, [x])
    np.testing.assert_allclose(soft, np.exp(raw) / np.exp(raw).sum(1, keepdims=True), rtol=1e-5)


def test_what_can_be_evaluated() -> None:
    assert can_evaluate("", "Conv")
    assert can_evaluate("", "NonMaxSuppression")
    assert can_evaluate("ai.onnx.ml", "Scaler")
    assert can_evaluate("com.microsoft", "DynamicQuantizeLSTM")
    assert not can_evaluate("com.microsoft", "FusedMatMul")
    assert not can_evaluate("", "Mystery")


def test_an_op_that_writes_to_its_inputs_cannot_reach_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxloom.lowering.plan.program import Constants, HostNode, HostStep
    from onnxloom.lowering.runtime.host_ops import registry
    from onnxloom.lowering.runtime.host_step import HostRunner

    def double_in_place(_: Any, x: Any) -> list[Any]:
        x *= 2
        return [x]

    monkeypatch.setitem(registry._FUNCTIONS, ("", "Doubling"), double_in_place)  # pyright: ignore[reportPrivateUsage]
    node = helper.make_node("Doubling", ["a"], ["y"])
    nodes = (HostNode(node.SerializeToString(), "Doubling", "", ""),)
    step = HostStep(nodes, ("a",), ("y",), (0,), (1,), (), False, "", ("float32",))
    data = f32(3, 2)
    before = data.copy()
    (y,) = HostRunner(Constants([])).run(step, [data])
    np.testing.assert_array_equal(data, before)
    np.testing.assert_array_equal(y, 2 * before)


@pytest.mark.parametrize("shape", [(1, 6, 2, 3), (3, 2, 1, 2), (2, 1, 3, 5)])
@pytest.mark.parametrize("size", [1, 3, 4])
def test_lrn_normalizes_every_channel(shape: tuple[int, ...], size: int) -> None:
    # onnxruntime takes odd windows only.
    x = f32(*shape) * 5
    if size % 2:
        check("LRN", [x], size=size, alpha=0.5, beta=0.6, bias=2.0)
    node = helper.make_node("LRN", ["x"], ["y"], size=size, alpha=0.5, beta=0.6, bias=2.0)
    (got,) = evaluate(node, [x])
    before, after = (size - 1) // 2, size // 2
    sums = [
        (x[:, max(0, c - before) : c + after + 1] ** 2).sum(axis=1, keepdims=True) for c in range(shape[1])
    ]
    np.testing.assert_allclose(got, x / (2 + 0.5 / size * np.concatenate(sums, 1)) ** 0.6, rtol=2e-5)


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 2, 3, 4)])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_global_lp_pool(shape: tuple[int, ...], p: int) -> None:
    check("GlobalLpPool", [f32(*shape)], p=p)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_max_roi_pool(scale: float) -> None:
    rois = np.array(
        [[0, 0, 0, 5, 5], [1, 1, 1, 3, 6], [1, 6, 6, 9, 9], [0, 2, 2, 2, 2], [0, 9, 9, 12, 12]], np.float32
    )
    check("MaxRoiPool", [f32(2, 3, 7, 8), rois], pooled_shape=[2, 3], spatial_scale=scale)


@pytest.mark.parametrize("attributes", [{}, {"sorted": 0}, {"axis": 0}, {"axis": 1, "sorted": 0}])
@pytest.mark.parametrize("outputs", [1, 4])
def test_unique(attributes: dict[str, int], outputs: int) -> None:
    check("Unique", [ints(0, 3, np.float32, 4, 3)], outputs=outputs, **attributes)


def run(op: str, value: Any, domain: str = "", **attributes: Any) -> Any:
    return evaluate(helper.make_node(op, ["x"], ["y"], domain=domain, **attributes), [value])[0]


def test_categories_are_mapped_both_ways() -> None:
    table: dict[str, Any] = {"domain": "ai.onnx.ml", "cats_strings": ["a", "b"], "cats_int64s": [7, 3]}
    numbers = run("CategoryMapper", np.array([["b"], ["c"]], object), default_int64=9, **table)
    assert numbers.dtype == np.int64
    assert numbers.tolist() == [[3], [9]]
    assert run("CategoryMapper", np.array([3, 7, 4]), **table).tolist() == ["b", "a", "_Unused"]


def test_a_map_is_cast_dense_or_sparse() -> None:
    dense = run("CastMap", {5: 2.5, 1: 7.0}, domain="ai.onnx.ml")
    assert dense.dtype == np.float32
    assert dense.tolist() == [[7.0, 2.5]]
    sparse: dict[str, Any] = {"domain": "ai.onnx.ml", "map_form": "SPARSE", "max_map": 3}
    assert run("CastMap", {1: "4"}, cast_to="TO_INT64", **sparse).tolist() == [[0, 4, 0]]
    assert run("CastMap", {1: 4.0}, cast_to="TO_STRING", **sparse).tolist() == [["", "4.0", ""]]
    with pytest.raises(ValueError, match="key 3 of a sparse map of 3"):
        run("CastMap", {3: 1.0}, **sparse)


def test_multinomial_draws_by_log_probability() -> None:
    logits = np.log(np.array([[1, 3, 4], [0, 1, 0]], np.float32) + np.float32(1e-30))
    drawn = run("Multinomial", logits, sample_size=20_000, seed=1.0, dtype=onnx.TensorProto.INT64)
    assert drawn.dtype == np.int64
    assert drawn.shape == (2, 20_000)
    np.testing.assert_allclose(np.bincount(drawn[0]) / 20_000, [1 / 8, 3 / 8, 1 / 2], atol=0.02)
    assert set(drawn[1]) == {1}
    np.testing.assert_array_equal(drawn, run("Multinomial", logits, sample_size=20_000, seed=1.0, dtype=7))


def test_every_op_of_the_standard_can_be_evaluated() -> None:
    schemas = [schema for schema in onnx.defs.get_all_schemas() if not schema.deprecated]
    assert {s.name for s in schemas if not can_evaluate(s.domain, s.name)} == {"Gradient"}


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_grid_sample(mode: str, padding_mode: str, align_corners: int) -> None:
    options: dict[str, Any] = {
        "mode": mode, "padding_mode": padding_mode, "align_corners": align_corners, "tolerance": 1e-4,
    }  # fmt: skip
    grid = RNG.uniform(-2.5, 2.5, (2, 5, 7, 2)).astype(np.float32)
    check("GridSample", [f32(2, 3, 5, 4), grid], **options)
    check("GridSample", [f32(2, 3, 5, 4), grid[:, :0]], **options)
    if mode != "cubic":
        check("GridSample", [f32(1, 2, 3, 4, 5), f32(1, 2, 3, 2, 3)], **options)


@pytest.mark.parametrize(
    "bounds", [{}, {"start": -9}, {"end": -3}, {"start": 1, "end": 9}, {"start": 2, "end": 1}]
)
def test_shape_clamps_its_bounds(bounds: dict[str, int]) -> None:
    check("Shape", [f32(2, 3)], **bounds)


@pytest.mark.parametrize("axis", [-1, 1, -3])
@pytest.mark.parametrize("bias", [False, True])
def test_layer_normalization(axis: int, bias: bool) -> None:
    shape = (3, 4, 5)[axis:]
    parameters = [f32(*shape), *([f32(*shape)] if bias else [])]
    check("LayerNormalization", [f32(3, 4, 5), *parameters], outputs=3, axis=axis, epsilon=0.01)


@pytest.mark.parametrize("op", ["LayerNormalization", "RMSNormalization"])
def test_normalization_in_the_type_of_the_stash(op: str) -> None:
    x = RNG.standard_normal((2, 64)) + 100
    node = helper.make_node(op, ["x", "s"], ["y"], epsilon=1e-9, stash_type=onnx.TensorProto.DOUBLE)
    (y,) = evaluate(node, [x, np.full(64, 2.0)])
    centered = x - x.mean(-1, keepdims=True) if op == "LayerNormalization" else x
    expected = 2 * centered / np.sqrt((centered**2).mean(-1, keepdims=True) + np.float32(1e-9))
    np.testing.assert_allclose(y, expected, rtol=1e-12)


def test_sixteen_bit_numbers_are_not_summed_in_sixteen_bits() -> None:
    x = np.full((1, 4096), 30, np.float16)
    x[0, ::2] = 31
    for op in ("LayerNormalization", "RMSNormalization"):
        node = helper.make_node(op, ["x", "s"], ["y"])
        (y,) = evaluate(node, [x, np.ones(4096, np.float16)])
        wide = x.astype(np.float64)
        centered = wide - wide.mean() if op == "LayerNormalization" else wide
        np.testing.assert_allclose(y, centered / np.sqrt((centered**2).mean() + 1e-5), rtol=2e-3)


def test_rms_normalization_has_the_type_of_its_scale() -> None:
    x = f32(2, 8).astype(np.float16)
    node = helper.make_node("RMSNormalization", ["x", "s"], ["y"])
    (y,) = evaluate(node, [x, f32(8)])
    assert y.dtype == np.float32


def test_normalization_over_an_axis_of_no_element() -> None:
    node = helper.make_node("LayerNormalization", ["x", "s"], ["y", "mean"])
    y, mean = evaluate(node, [f32(2, 0), f32(0)])
    assert y.shape == (2, 0)
    assert mean.shape == (2, 1)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lp_normalization(p: int, axis: int) -> None:
    x = f32(3, 4, 2)
    x[1] = 0
    check("LpNormalization", [x], p=p, axis=axis)


def test_erf_of_doubles_has_their_precision() -> None:
    x = np.array([0.1, 0.5, 1.3, -2.2])
    np.testing.assert_array_equal(run("Erf", x), [math.erf(v) for v in x])
    assert run("Erf", x[:0]).shape == (0,)


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_log_softmax(axis: int) -> None:
    check("LogSoftmax", [f32(3, 4, 5) * 100], axis=axis)


def test_log_softmax_of_a_probability_that_is_rounded_to_zero() -> None:
    node = helper.make_node("LogSoftmax", ["x"], ["y"])
    (y,) = evaluate(node, [np.array([1000, 0], np.float32)])
    assert y.tolist() == [0, -1000]
    (y,) = evaluate(node, [np.array([0, 12], np.float16)])
    assert y.dtype == np.float16
    np.testing.assert_allclose(y.astype(np.float64), [-12, -6.144e-06], rtol=0.02)


def test_log_softmax_of_nothing() -> None:
    node = helper.make_node("LogSoftmax", ["x"], ["y"])
    assert evaluate(node, [f32(0, 3)])[0].shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_hard_swish(dtype: type) -> None:
    x = np.array([1.5, 0.3, -2.9, 4.0, -4.0], dtype)
    wanted = np.float64(x) * np.clip(np.float64(x) / 6 + 0.5, 0, 1)
    y = run("HardSwish", x)
    assert y.dtype == dtype
    np.testing.assert_allclose(y.astype(np.float64), wanted, 4 * np.finfo(dtype).eps, np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_mish(dtype: type) -> None:
    x = np.array([-14.0, -12.5, -9.25, -2, 0, 0.5, 3, 30, np.inf], dtype)
    with np.errstate(over="ignore"):
        wanted = np.float64(x) * np.tanh(np.log1p(np.exp(np.float64(x))))
    y = run("Mish", x)
    assert y.dtype == dtype
    limits = np.finfo(dtype)
    np.testing.assert_allclose(y.astype(np.float64), wanted, 4 * limits.eps, float(limits.smallest_subnormal))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(approximate: str) -> None:
    check("Gelu", [f32(5, 3) * 3], approximate=approximate)
    x = np.array([-1.5, 0.25, 3.0])
    bent = [math.erf(v / math.sqrt(2)) for v in x]
    if approximate == "tanh":
        bent = [math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)) for v in x]
    expected = 0.5 * x * (1 + np.array(bent))
    np.testing.assert_allclose(run("Gelu", x, approximate=approximate), expected, 1e-14)


def test_group_normalization_of_values_far_from_zero() -> None:
    x, scale, bias = f32(2, 4, 5) + 100, f32(4), f32(4)
    groups = x.astype(np.float64).reshape(2, 2, 10)
    centred = groups - groups.mean(axis=2, keepdims=True)
    normal = (centred / np.sqrt(groups.var(axis=2, keepdims=True) + 1e-5)).reshape(x.shape)
    expected = normal * scale.reshape(4, 1) + bias.reshape(4, 1)
    node = helper.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2)
    np.testing.assert_allclose(evaluate(node, [x, scale, bias])[0], expected, 1e-4, 1e-4)


def old_trees(*after: tuple[int, int]) -> onnx.NodeProto:
    """A tree of nodes that have these two after them, then two leaves."""
    count = len(after) + 2
    return helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1,
        nodes_treeids=[0] * count, nodes_nodeids=list(range(count)), nodes_featureids=[0] * count,
        nodes_modes=["BRANCH_LEQ"] * len(after) + ["LEAF"] * 2, nodes_values=[0.0] * count,
        nodes_truenodeids=[yes for yes, _ in after] + [0, 0],
        nodes_falsenodeids=[no for _, no in after] + [0, 0],
        target_treeids=[0, 0], target_nodeids=[count - 2, count - 1], target_ids=[0, 0],
        target_weights=[1.0, 2.0],
    )  # fmt: skip


@pytest.mark.parametrize("after", [[(0, 1)], [(1, 3), (2, 0)], [(3, 1), (2, 1)]])
def test_old_trees_that_do_not_end_are_refused(after: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="the nodes of a tree form a cycle"):
        evaluate(old_trees(*after), [np.array([[-1.0], [1.0]], np.float32)])


def test_old_trees_that_share_leaves_end() -> None:
    (y,) = evaluate(old_trees((1, 2), (2, 3)), [np.array([[-1.0], [1.0]], np.float32)])
    assert y.tolist() == [[1.0], [1.0]]
