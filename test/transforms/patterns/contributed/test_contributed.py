# ruff: noqa: E501  (tables of cases)
"""Do ops of domain com.microsoft compute what onnxruntime computes, whatever their attributes and shapes?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import onnxloom
from onnxloom.conversion.onnx_import import import_model
from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.compile import CompileOptions
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.lowering.optimize import optimize_module

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A node of one contributed op with its inputs; None for one that is left out."""

    op: str
    inputs: Sequence[Array | None]
    outputs: int = 1
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constant: Sequence[int] = ()
    """Inputs that are initializers."""
    rows: Array | None = None
    """Per batch entry, how many rows of present keys and values `[batch, heads, rows, size]` mean anything."""

    def __str__(self) -> str:
        return self.op


def model_of(cases: Sequence[Case], dynamic: bool) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """One model with a node per case, so that its kernels are compiled in one go."""
    nodes: list[onnx.NodeProto] = []
    feeds: dict[str, Array] = {}
    held: list[onnx.TensorProto] = []
    outputs: list[onnx.ValueInfoProto] = []
    for number, case in enumerate(cases):
        names = ["" if x is None else f"x{number}_{i}" for i, x in enumerate(case.inputs)]
        results = [f"y{number}_{i}" for i in range(case.outputs)]
        nodes.append(helper.make_node(case.op, names, results, domain="com.microsoft", **case.attributes))
        for i, (name, x) in enumerate(zip(names, case.inputs, strict=True)):
            if x is not None and i in case.constant:
                held.append(onnx.numpy_helper.from_array(x, name))
            elif x is not None:
                feeds[name] = x
        outputs += [helper.make_empty_tensor_value_info(name) for name in results]
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), dims_of(x, dynamic))
        for name, x in feeds.items()
    ]
    graph = helper.make_graph(nodes, "contributed", infos, outputs, held)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


def dims_of(x: Array, dynamic: bool) -> list[int | str]:
    """Batch and length have no fixed dims in a dynamic model, equal ones one name; weights and tables have."""
    varies = dynamic and (x.ndim > 2 or x.dtype.kind == "i")
    return [f"n{size}" if varies and axis < 2 else size for axis, size in enumerate(x.shape)]


def check(cases: Sequence[Case], *, dynamic: bool, opt_level: int) -> None:
    model, feeds = model_of(cases, dynamic)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    want = iter([np.asarray(y) for y in session.run(None, feeds)])
    compiled = onnxloom.compile(model, opt_level=opt_level, cache=False)
    got = iter(compiled.run(feeds).values())
    for number, case in enumerate(cases):
        for _ in range(case.outputs):
            same(f"{case.op}, case {number}", case, next(got), next(want))


def same(what: str, case: Case, a: Array, b: Array) -> None:
    assert a.dtype == b.dtype and a.shape == b.shape, what
    if case.rows is not None and a.ndim == 4:
        meant = np.arange(a.shape[2])[:, None] < case.rows[:, None, None, None]
        a, b = a * meant, b * meant
    tolerance = 2e-5 * float(np.abs(b).max(initial=1.0))
    np.testing.assert_allclose(a, b, rtol=2e-5, atol=tolerance, err_msg=what)


def normal(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def activations(rng: np.random.Generator) -> list[Case]:
    x = normal(rng, 2, 5, 8)
    return [
        Case("Gelu", [x]),
        Case("BiasGelu", [x, normal(rng, 8)]),
        Case("FastGelu", [x]),
        Case("FastGelu", [x, normal(rng, 8)]),
        Case("QuickGelu", [x]),
        Case("QuickGelu", [x], attributes={"alpha": float(rng.uniform(0.5, 2))}),
    ]


def products(rng: np.random.Generator) -> list[Case]:
    a, b = normal(rng, 2, 3, 4, 5), normal(rng, 2, 3, 5, 6)
    swapped = {
        "transA": np.ascontiguousarray(a.swapaxes(-1, -2)),
        "transB": np.ascontiguousarray(b.swapaxes(-1, -2)),
    }
    moved = np.ascontiguousarray(np.moveaxis(a, 2, 0))
    return [
        Case("FusedMatMul", [a, b], attributes={"alpha": 0.5}),
        Case("FusedMatMul", [swapped["transA"], b], attributes={"transA": 1}),
        Case("FusedMatMul", [a, swapped["transB"]], attributes={"transB": 1, "alpha": 2.0}),
        Case("FusedMatMul", [moved, b], attributes={"transBatchA": 1}),
        Case("FusedMatMul", [normal(rng, 4), b[..., :4, :]], attributes={"transA": 1}),
        Case("TransposeMatMul", [a, swapped["transB"]], attributes={"transB": 1}),
        Case("FusedGemm", [normal(rng, 4, 5), normal(rng, 6, 5), normal(rng, 6)], attributes={"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.3}),
        Case("FusedGemm", [normal(rng, 4, 5), normal(rng, 5, 6), normal(rng, 6)], attributes={"activation": "Relu", "alpha": 0.7}),
    ]  # fmt: skip


def convolutions(rng: np.random.Generator) -> list[Case]:
    x, w, b = normal(rng, 1, 3, 9, 8), normal(rng, 4, 3, 3, 3), normal(rng, 4)
    pads = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    return [
        Case("FusedConv", [x, w, b], attributes={**pads, "activation": "Relu"}, constant=[1, 2]),
        Case("FusedConv", [x, w, b], attributes={**pads, "activation": "LeakyRelu", "activation_params": [0.2]}, constant=[1, 2]),
        Case("FusedConv", [x, w, b], attributes={**pads, "activation": "HardSigmoid", "activation_params": [0.3, 0.4]}, constant=[1, 2]),
        Case("FusedConv", [x, w, b], attributes={**pads, "activation": "Clip", "activation_params": [-0.5, 0.5]}, constant=[1, 2]),
        Case("FusedConv", [x, w, b, normal(rng, 1, 4, 9, 8)], attributes={**pads, "activation": "Relu"}, constant=[1, 2]),
    ]  # fmt: skip


def normalizations(rng: np.random.Generator) -> list[Case]:
    x, skip, gamma, beta, bias = normal(rng, 2, 5, 8), normal(rng, 2, 5, 8), *normal(rng, 3, 8)
    eps = {"epsilon": 1e-5}
    ids, segments = (rng.integers(0, n, (2, 5)).astype(np.int32) for n in (20, 2))
    tables = [normal(rng, 20, 8), normal(rng, 9, 8)]
    mask = rng.integers(0, 2, (2, 5)).astype(np.int32)
    return [
        Case("SkipLayerNormalization", [x, skip, gamma], attributes=eps),
        Case("SkipLayerNormalization", [x, skip, gamma, beta, bias], outputs=4, attributes=eps),
        Case("SkipSimplifiedLayerNormalization", [x, skip, gamma], attributes=eps),
        Case("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], attributes=eps),
        Case("EmbedLayerNormalization", [ids, segments, *tables, normal(rng, 2, 8), gamma, beta, mask], outputs=2, attributes=eps),
        Case("EmbedLayerNormalization", [ids, None, *tables, None, gamma, beta], outputs=2, attributes=eps),
        Case("EmbedLayerNormalization", [ids, None, *tables, None, gamma, beta, None, ids % 9], outputs=2, attributes=eps),
    ]  # fmt: skip


def rotations(rng: np.random.Generator) -> list[Case]:
    angles = rng.uniform(0, 6, (10, 4)).astype(np.float32)
    caches = [np.cos(angles), np.sin(angles)]
    ids = rng.integers(0, 10, (2, 5)).astype(np.int64)
    first = np.array([3], np.int64)
    return [
        Case("RotaryEmbedding", [normal(rng, 2, 3, 5, 8), ids, *caches]),
        Case("RotaryEmbedding", [normal(rng, 2, 5, 24), ids, *caches]),
        Case("RotaryEmbedding", [normal(rng, 2, 5, 24), first, *caches], attributes={"interleaved": 1}),
        Case("RotaryEmbedding", [normal(rng, 2, 3, 5, 8), first, *caches]),
    ]


def attentions(rng: np.random.Generator) -> list[Case]:
    x, w, b = normal(rng, 2, 5, 16), normal(rng, 16, 48) / 4, normal(rng, 48)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    lengths = np.array([3, 5], np.int32)
    square = rng.integers(0, 2, (2, 5, 5)).astype(np.int32)
    past = normal(rng, 2, 2, 4, 3, 4)
    heads = {"num_heads": 4}
    q, k, v = normal(rng, 3, 2, 5, 16)
    longer = normal(rng, 2, 7, 16)
    past_k, past_v = normal(rng, 2, 2, 4, 3, 4)
    return [
        Case("Attention", [x, w, b], attributes=heads),
        Case("Attention", [x, w, b], attributes={**heads, "unidirectional": 1, "scale": 0.3}),
        Case("Attention", [x, w, b, mask], attributes=heads),
        Case("Attention", [x, w, b, lengths], attributes=heads),
        Case("Attention", [x, w, b, square], attributes=heads),
        Case("Attention", [x, w, b, None, past], outputs=2, attributes={**heads, "unidirectional": 1}),
        Case("Attention", [x, w, b, None, None, normal(rng, 2, 4, 5, 5)], attributes=heads),
        Case("Attention", [x, normal(rng, 16, 40) / 4, normal(rng, 40)], attributes={**heads, "qkv_hidden_sizes": [16, 16, 8]}),
        Case("MultiHeadAttention", [q, k, v], attributes=heads),
        Case("MultiHeadAttention", [q, longer, longer, b], attributes=heads),
        Case("MultiHeadAttention", [q, k, v, b, mask], attributes=heads),
        Case("MultiHeadAttention", [q, k, v, None, None, normal(rng, 1, 4, 5, 5)], attributes={**heads, "scale": 0.4}),
        Case("MultiHeadAttention", [q, k, v, None, None, None, past_k, past_v], outputs=3, attributes=heads),
        Case("MultiHeadAttention", [q, k, v, b], attributes={**heads, "unidirectional": 1}),
        Case("MultiHeadAttention", [q, normal(rng, 2, 4, 7, 4), normal(rng, 2, 4, 7, 4)], attributes=heads),
    ]  # fmt: skip


def grouped(rng: np.random.Generator) -> list[Case]:
    heads = {"num_heads": 4, "kv_num_heads": 2}
    angles = rng.uniform(0, 6, (20, 8)).astype(np.float32)
    caches = [np.cos(angles), np.sin(angles)]
    rotary = {**heads, "do_rotary": 1}
    q, k, v = normal(rng, 2, 1, 64), normal(rng, 2, 1, 32), normal(rng, 2, 1, 32)
    past = [*normal(rng, 2, 2, 2, 6, 16)]
    equal = [np.array([6, 6], np.int32), np.array(7, np.int32)]
    uneven = [np.array([3, 6], np.int32), np.array(7, np.int32)]
    prompt = [normal(rng, 2, 5, 64), normal(rng, 2, 5, 32), normal(rng, 2, 5, 32)]
    none = [*np.zeros((2, 2, 2, 0, 16), np.float32)]
    start = [np.array([4, 4], np.int32), np.array(5, np.int32)]
    return [
        Case("GroupQueryAttention", [*prompt, *none, *start], outputs=3, attributes=heads),
        Case("GroupQueryAttention", [*prompt, None, None, *start], outputs=3, attributes=heads),
        Case("GroupQueryAttention", [q, k, v, *past, *equal], outputs=3, attributes=heads),
        Case("GroupQueryAttention", [q, k, v, *past, *uneven], outputs=3, attributes=heads, rows=uneven[0] + 1),
        Case("GroupQueryAttention", [q, k, v, *past, *equal, *caches], outputs=3, attributes=rotary),
        Case("GroupQueryAttention", [*prompt, *none, *start, *caches], outputs=3, attributes={**rotary, "rotary_interleaved": 1}),
        Case("GroupQueryAttention", [q, k, v, *past, *equal], outputs=3, attributes={**heads, "local_window_size": 3}),
        Case("GroupQueryAttention", [q, k, v, *past, *equal], outputs=3, attributes={**heads, "softcap": 5.0, "scale": 0.4}),
        Case("GroupQueryAttention", [normal(rng, 2, 1, 128), None, None, *past, *equal], outputs=3, attributes=heads),
        Case("GroupQueryAttention", [q, k, v, *past, np.array([2, 2], np.int32), np.array(3, np.int32)], outputs=3, attributes=heads, rows=np.array([3, 3])),
    ]  # fmt: skip


FAMILIES = [activations, products, convolutions, normalizations, rotations, attentions, grouped]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_results_are_onnxruntimes(family: Callable[[np.random.Generator], list[Case]]) -> None:
    check(family(np.random.default_rng(3)), dynamic=True, opt_level=3)


def test_they_run_without_any_optimization() -> None:
    rng = np.random.default_rng(4)
    cases = [case for family in FAMILIES for case in family(rng)[:2]]
    check(cases, dynamic=False, opt_level=0)


def test_softmax_of_a_biased_tensor() -> None:
    rng = np.random.default_rng(5)
    x, bias = normal(rng, 2, 5, 8), normal(rng, 2, 1, 8)
    model, feeds = model_of(
        [Case("BiasSoftmax", [x, bias], attributes={"axis": 2, "is_inner_broadcast": 0})], True
    )
    (y,) = onnxloom.compile(model, cache=False).run(feeds).values()
    raised = np.exp(x + bias)
    np.testing.assert_allclose(y, raised / raised.sum(-1, keepdims=True), rtol=1e-5, atol=1e-6)


def test_packed_numbers_of_no_rows_have_a_shape_on_the_host() -> None:
    """Among dims of 0 the host, like onnxruntime, infers no other."""
    data, scales = np.zeros((6, 32), np.uint8), np.ones((6, 2), np.float32)
    attributes = {"bits": 4, "block_size": 32, "quantize_axis": 1}
    case = Case(
        "GatherBlockQuantized", [data, np.zeros((0, 1), np.int64), scales], 1, attributes, constant=[0, 2]
    )
    model, feeds = model_of([case], False)
    module = import_model(model)
    optimize_module(module, make_context(), CompileOptions(opt_level=0))
    assert "GatherBlockQuantized" not in str(module)
    (y,) = evaluate_module(module, feeds).values()
    assert y.shape == (0, 1, 64)
