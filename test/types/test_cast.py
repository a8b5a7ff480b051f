"""Cast between all pairs of element types: compiled, on the host, by the reference and by onnxruntime.

Compiled and host results are the same bits; `_reference_differs` and `_peer_differs` say where others differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from element_values import FLOATS, INTEGERS, NUMBERS, Array, code_of, corners, dtype_of, same_bits
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import onnxloom
from onnxloom.lowering.runtime.host_ops import evaluate

FP8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
PACKED = ("int2", "uint2", "int4", "uint4")
PLAIN = ("float", "double", "float16", *(t for t in INTEGERS if t not in PACKED), "bool")
"""Types that onnxruntime exchanges as numpy's own."""


@dataclass(frozen=True)
class Form:
    """One Cast node."""

    target: str
    saturate: int = 1
    round_mode: str = "up"

    @property
    def attributes(self) -> dict[str, Any]:
        extra: dict[str, Any] = {} if self.saturate else {"saturate": 0}
        if self.round_mode != "up":
            extra["round_mode"] = self.round_mode
        return {"to": code_of(self.target), **extra}


def forms() -> list[Form]:
    """Every target, saturating and not, rounded in every way."""
    found = [Form(t) for t in NUMBERS]
    found += [Form(t, saturate=0) for t in (*FP8, "float8e8m0")]
    return found + [Form("float8e8m0", s, mode) for s in (0, 1) for mode in ("down", "nearest")]


def _model(source: str, chosen: Sequence[Form]) -> onnx.ModelProto:
    nodes = [helper.make_node("Cast", ["x"], [f"y{i}"], **form.attributes) for i, form in enumerate(chosen)]
    outputs = [helper.make_tensor_value_info(f"y{i}", code_of(f.target), ["n"]) for i, f in enumerate(chosen)]
    graph = helper.make_graph(
        nodes, "casts", [helper.make_tensor_value_info("x", code_of(source), ["n"])], outputs
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", onnx.defs.onnx_opset_version())], ir_version=13
    )


def _outside(x: Array, form: Form) -> Array:
    """Where a float has no integer of the type; what C leaves open."""
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32).astype(np.float64) if x.dtype != np.float64 else x
    limits = {"int2": (-2, 1), "uint2": (0, 3), "int4": (-8, 7), "uint4": (0, 15)}.get(form.target)
    if limits is None:
        info = np.iinfo(dtype_of(form.target))
        limits = (info.min, info.max)
    return ~((wide > float(limits[0]) - 1) & (wide < float(limits[1]) + 1))


def _reference_differs(source: str, form: Form, x: Array) -> Array:
    """Where the reference gives something else, for a reason.

    f8E8M0: it takes the magnitude of negative numbers, keeps zero without saturation, and infinity is NaN to
    it, against the table of Cast. A saturating cast of f8E5M2 to itself has no infinity. bf16 is rounded from
    f32, not from f64. Integers of what is out of range are those of ml_dtypes.
    """
    if form.target == "float8e8m0":
        with np.errstate(all="ignore"):
            wide = x.astype(np.float64)
        return ~((wide >= 2.0**-126) & (wide < 2.0**127)) | (source == "double")
    if source == form.target == "float8e5m2":
        return np.isinf(x.astype(np.float32))
    if source == "double" and form.target == "bfloat16":
        with np.errstate(all="ignore"):
            return x != x.astype(np.float32)
    if source in FLOATS and form.target in INTEGERS:
        return _outside(x, form)
    return np.zeros(x.shape, np.bool_)


def _peer_differs(source: str, form: Form, x: Array) -> Array:
    """Where onnxruntime gives something else, for a reason.

    It rounds f64 to f32 first; rounds where the standard truncates to 2 and 4 bits; gives 448 for 480 that
    does not saturate, and NaN for what overflows f8E5M2; -0.0 of fp8 is true to it; the integers of NaN and
    infinity depend on the float type.
    """
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64 if x.dtype.kind in "iufb" else np.float32).astype(np.float64)
        singles = x.astype(np.float32)
    if form.target in PACKED and source in FLOATS:
        return wide != np.trunc(wide)
    if form.target == "bool" and source in FLOATS:
        return (wide == 0) | (wide == 2.0**-127)
    if form.target in INTEGERS and source in FLOATS:
        return ~np.isfinite(wide)
    excused = np.zeros(x.shape, np.bool_)
    if source == "double" and form.target in FLOATS:
        excused |= x != singles
    if form.target == "float8e4m3fn" and not form.saturate:
        excused |= np.abs(wide) == 480
    if form.target == "float8e5m2" and not form.saturate:
        excused |= np.isfinite(wide) & (np.abs(wide) >= 61440)
    return excused


def _expect(got: Array, want: Array, form: Form, x: Array, excused: Array, who: str) -> None:
    bad = np.flatnonzero(~same_bits(got, want, form.target) & ~excused)
    assert not bad.size, (
        f"{form}: {bad.size} differ from {who}, first {x[bad[0]]!r}: {got[bad[0]]!r}, not {want[bad[0]]!r}"
    )


every_source = pytest.mark.parametrize("source", NUMBERS)


@every_source
def test_compiled_casts_are_those_of_the_host_and_the_reference(source: str):
    chosen = forms()
    x, model = corners(source), _model(source, forms())
    compiled = onnxloom.compile(model)
    results = compiled.run({"x": x})
    assert compiled.host_steps == 0
    for i, form in enumerate(chosen):
        (host,) = evaluate(model.graph.node[i], [x])
        _expect(results[f"y{i}"], host, form, x, np.zeros(x.shape, np.bool_), "the host")
        reference = _reference(source, form, x)
        if reference is None:
            continue
        _expect(results[f"y{i}"], reference, form, x, _reference_differs(source, form, x), "the reference")


def _reference(source: str, form: Form, x: Array) -> Array | None:
    """None where ml_dtypes does not convert from one of its types to another."""
    try:
        with np.errstate(all="ignore"):
            results: Any = ReferenceEvaluator(_model(source, [form])).run(None, {"x": x})
            return results[0]
    except TypeError:
        assert source not in PLAIN and form.target not in PLAIN
        return None


@every_source
def test_host_casts_are_those_of_onnxruntime(source: str):
    """Of the pairs that it casts between."""
    x = corners(source)
    compared = 0
    for node, form in zip(_model(source, forms()).graph.node, forms(), strict=True):
        peer = _peer(source, form, x)
        if peer is None:
            continue
        (host,) = evaluate(node, [x])
        if peer.dtype != host.dtype:
            with np.errstate(all="ignore"):
                host = host.astype(np.float32)
            bad = np.flatnonzero(~same_bits(host, peer, "float") & ~_peer_differs(source, form, x))
            assert not bad.size, f"{form}: {x[bad[:4]]} gives {host[bad[:4]]}, onnxruntime {peer[bad[:4]]}"
        else:
            _expect(host, peer, form, x, _peer_differs(source, form, x), "onnxruntime")
        compared += 1
    assert compared or source.startswith(("float6", "float4"))


def _peer(source: str, form: Form, x: Array) -> Array | None:
    """What onnxruntime gives, None where it does not cast; as f32 where it has no such numpy type."""
    result = "y" if form.target in PLAIN else "z"
    nodes = [helper.make_node("Cast", ["x"], ["y"], **form.attributes)]
    if result == "z":
        nodes.append(helper.make_node("Cast", ["y"], ["z"], to=code_of("float")))
    kind = code_of(form.target if result == "y" else "float")
    graph = helper.make_graph(
        nodes,
        "cast",
        [],
        [helper.make_tensor_value_info(result, kind, None)],
        [numpy_helper.from_array(x, "x")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    create: Callable[..., Any] = onnxruntime.InferenceSession
    try:
        session = create(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, {})[0]
    except Exception as error:
        known = ("NOT_IMPLEMENTED", "INVALID_GRAPH", "Type Error", "NotImplemented", "TypeInferenceError")
        assert any(word in str(error) or word in type(error).__name__ for word in known), error
        return None
