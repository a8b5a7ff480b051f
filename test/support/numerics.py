"""Does a compiled graph compute what the ONNX reference computes? For tests of kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
from onnx.defs import onnx_opset_version
from onnx.reference import ReferenceEvaluator

from onnxloom.dialects.onnx.dtypes import element_of_dtype, proto_of_element
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.runtime.model import CompiledModel

Array = np.ndarray[Any, Any]


def proto_type(array: Array) -> int:
    """TensorProto data type of an array."""
    return proto_of_element(element_of_dtype(array.dtype))


def graph_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    *,
    constants: Mapping[str, Array] | None = None,
    dynamic: bool = True,
) -> onnx.ModelProto:
    """A model; `outputs` are examples that give element types and ranks."""

    def info(name: str, array: Array) -> onnx.ValueInfoProto:
        # The length of a shape or of axes decides ranks: it stays static.
        lists = array.ndim == 1 and array.dtype == np.int64
        dims = [f"{name}_{i}" for i in range(array.ndim)] if dynamic and not lists else list(array.shape)
        return oh.make_tensor_value_info(name, proto_type(array), dims)

    initializers = [
        oh.make_tensor(name, proto_type(a), a.shape, a.tobytes(), raw=True)
        for name, a in (constants or {}).items()
    ]
    graph = oh.make_graph(
        list(nodes),
        "g",
        [info(n, a) for n, a in inputs.items()],
        [info(n, a) for n, a in outputs.items()],
        initializers,
    )
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", onnx_opset_version())], ir_version=10)


def compiled(model: onnx.ModelProto, *, opt_level: int = 0) -> CompiledModel:
    """The model compiled without fusion."""
    return compile_model(model, CompileOptions(opt_level=opt_level))


def reference(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """What the reference evaluator gives."""
    with np.errstate(all="ignore"):
        return [np.asarray(y) for y in ReferenceEvaluator(model).run(None, dict(inputs))]


def assert_close(got: Sequence[Any], want: Sequence[Array], rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Same shapes and types; floats within a tolerance, anything else equal."""
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        if b.dtype.kind in "biu":
            np.testing.assert_array_equal(a, b)
            continue
        eps = float((np if b.dtype.kind == "c" else ml_dtypes).finfo(b.dtype).eps)
        if b.dtype.kind != "c":
            a, b = a.astype(np.float64), b.astype(np.float64)
        np.testing.assert_allclose(a, b, rtol=max(rtol, 2 * eps), atol=max(atol, 2 * eps), equal_nan=True)


def check_op(
    name: str,
    cases: Sequence[Sequence[Array]],
    *,
    constants: Mapping[int, Array] | None = None,
    dynamic: bool = True,
    outputs: int = 1,
    rtol: float = 1e-5,
    **attrs: Any,
) -> None:
    """One op, compiled once with dynamic dims (or once per case), on each case's inputs.

    `constants` are operands by position that are initializers. The op must not run on the host.
    """
    fixed = dict(constants or {})
    count = len(cases[0]) + len(fixed)
    names = [f"c{i}" if i in fixed else f"x{i}" for i in range(count)]
    free = [n for i, n in enumerate(names) if i not in fixed]
    results = [f"y{i}" for i in range(outputs)]
    node = oh.make_node(name, names, results, **attrs)
    model: CompiledModel | None = None
    for arrays in cases:
        feeds = dict(zip(free, arrays, strict=True))
        held = {f"c{i}": a for i, a in fixed.items()}
        blank = {r: np.zeros((), np.float32) for r in results}
        probe = graph_model([node], feeds, blank, constants=held, dynamic=False)
        del probe.graph.output[:]
        probe.graph.output.extend(oh.make_empty_tensor_value_info(r) for r in results)
        want = reference(probe, feeds)
        if model is None or not dynamic:
            proto = graph_model(
                [node], feeds, dict(zip(results, want, strict=True)), constants=held, dynamic=dynamic
            )
            model = compiled(proto)
        got = list(model.run(feeds).values())
        assert_close(got, want, rtol)
        assert not model.host_counts, model.host_counts
