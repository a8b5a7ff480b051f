"""Every op with every element type: compiled, on the host, and by onnxruntime where it has the type.

Half-width floats are also compared with the host's f32 result, rounded once. `DIFFERENCES` lists what
onnxruntime does differently, and why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from element_values import FLOATS, Array, as_f64, code_of, dtype_of, same_bits, unpacked_name
from onnx import helper
from op_type_cases import TypedCase, takes_any_value, typed_cases, with_special_values

import onnxloom
from onnxloom.lowering.runtime.host_ops import evaluate

TOLERANCE = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float": 2.0**-17, "double": 1e-11}
"""Relative, per type."""
SMALLEST = {"float16": 2.0**-23, "bfloat16": 1e-7, "float": 1e-6, "double": 1e-12}

DIFFERENCES = {
    "ArgMax": "its extremes leave NaN out",
    "ArgMin": "its extremes leave NaN out",
    "Clip": "its limits leave NaN out",
    "GlobalMaxPool": "its maximum leaves NaN out",
    "MaxPool": "its maximum leaves NaN out",
    "MaxUnpool": "it takes indices for places of the shape without output_shape",
    "Pow": "integers to a float power of 2 or 3 are products that wrap",
    "ReduceProd": "its products of integers saturate",
    "ReduceSum": "its sums of 64-bit integers are sums of floats",
    "Shrink": "it computes integers and doubles as f32",
}
"""Op -> what onnxruntime does with some values."""

IN_SINGLE = ("AffineGrid", "DeformConv", "LayerNormalization", "RMSNormalization", "GroupNormalization")
"""Ops that the host computes in f32, wholly or in part."""

TYPED_BY_INPUT = ("BitCast", "EyeLike", "Constant", "OptionalGetElement")
"""Ops that mean something else in f32."""


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class Allowed:
    """How far results may be apart."""

    factor: float
    """Of `TOLERANCE`."""
    single: bool = False
    """Doubles may have been f32 on the way."""
    of_largest: bool = False
    """Sums: the error is one of the largest result."""


def _difference(got: Array, want: Array, allowed: Allowed) -> str | None:
    """What differs by more than rounding, None if nothing does."""
    if got.dtype.kind in "USO" and want.dtype.kind in "USO":
        same = got.astype(str) == want.astype(str)
    elif got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    else:
        same = _alike(got, want, allowed)
    bad = np.flatnonzero(~np.asarray(same).reshape(-1))
    if not bad.size:
        return None
    return f"{bad.size} of {got.size}: {got.reshape(-1)[bad[:3]]}, not {want.reshape(-1)[bad[:3]]}"


def _alike(got: Array, want: Array, allowed: Allowed) -> Array:
    name = unpacked_name(got.dtype)
    same = same_bits(got, want, name)
    if got.dtype.kind == "c":
        return np.isclose(got, want, equal_nan=True)
    if name not in TOLERANCE:
        return same
    x, y = as_f64(got), as_f64(want)
    kind = "float" if allowed.single and name == "double" else name
    size = np.abs(y)
    if allowed.of_largest and size.size:
        size = np.maximum(size, 0.1 * np.max(size, where=np.isfinite(size), initial=0.0))
    near = np.abs(x - y) <= allowed.factor * TOLERANCE[kind] * size + SMALLEST[kind]
    return same | (x == y) | near


def _results(case: TypedCase, inputs: dict[str, Array]) -> Sequence[Array | None] | None:
    """The host's; None where it does not have the type."""
    try:
        return evaluate(case.node, [inputs[name] if name else None for name in case.node.input])
    except Exception as error:
        if case.type_name == "float16":
            return _rounded_once(case)  # numpy's linear algebra has no halves
        assert case.type_name in ("string", "complex64", "complex128", "bool"), error
        return None


def _rounded_once(case: TypedCase) -> Sequence[Array | None]:
    """The host's results in f32, those of the case's type rounded to it."""
    narrow = dtype_of(case.type_name)
    wide = {n: v.astype(np.float32) if v.dtype == narrow else v for n, v in case.inputs.items()}
    results = evaluate(case.node, [wide[name] if name else None for name in case.node.input])
    kinds = [v.type.tensor_type.elem_type for v in case.model.graph.output]
    return [
        r.astype(narrow) if r is not None and r.dtype == np.float32 and k == code_of(case.type_name) else r
        for r, k in zip(results, kinds, strict=False)
    ]


def _peer(case: TypedCase) -> Sequence[Array] | None:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    create: Callable[..., Any] = onnxruntime.InferenceSession
    for opset in (25, 23, 21, 18):
        model = onnx.ModelProto.FromString(case.model.SerializeToString())
        model.ir_version = 11
        del model.opset_import[:]
        model.opset_import.append(helper.make_opsetid("", opset))
        try:
            session = create(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            return session.run(None, case.inputs)
        except Exception:
            continue  # it has no kernel for the type, or not at this opset
    return None


def check(case: TypedCase) -> str | None:
    """The first difference, None if there is none."""
    host = _results(case, case.inputs)
    if host is None:
        return None
    compiled = onnxloom.compile(case.model)
    results = list(compiled.run(case.inputs).values())
    # With other operands in f32 a type of 64 bits is not exact.
    single = any(v.dtype == np.float32 for v in case.inputs.values()) or case.op in IN_SINGLE
    sums = not takes_any_value(case.op) or case.op == "BatchNormalization"
    half = case.type_name in ("float16", "bfloat16")
    if half and case.op == "BatchNormalization":
        host = []  # its statistics are of halves on the host
    if (found := _first(results, host, Allowed(4, single, sums))) is not None:
        return f"host: {found}"
    if half and case.op not in TYPED_BY_INPUT:
        found = _first(results, _rounded_once(case), Allowed(1))
        if found is not None:
            return f"rounded once: {found}"
    peer = None if case.op in DIFFERENCES or case.type_name == "string" else _peer(case)
    if peer is not None and (found := _first(results, peer, Allowed(4, True, sums))) is not None:
        return f"onnxruntime: {found}"
    return None


def _first(results: Sequence[Array], others: Sequence[Array | None], allowed: Allowed) -> str | None:
    for got, want in zip(results, others, strict=False):
        found = None if want is None else _difference(np.asarray(got), np.asarray(want), allowed)
        if found is not None:
            return found
    return None


QUICK = [case for i, case in enumerate(typed_cases()) if i % 17 == 3]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in QUICK])
def test_a_sample_of_ops_and_types(case: TypedCase):
    assert check(case) is None
    if takes_any_value(case.op):
        assert check(with_special_values(case)) is None


@pytest.mark.full
def test_every_op_with_every_type():
    failures: dict[str, str] = {}
    count = 0
    for case in typed_cases(3):
        for each in (case, with_special_values(case, count)) if takes_any_value(case.op) else (case,):
            count += 1
            try:
                found = check(each)
            except Exception as error:
                found = f"{type(error).__name__}: {error}"
            if found is not None:
                failures.setdefault(f"{each.name} ({each.origin})", found)
    assert not failures, "\n".join(f"{name}: {why}" for name, why in failures.items())
    assert count > 5000


def test_the_types_of_the_standard_are_all_there():
    types = {case.type_name for case in typed_cases()}
    assert {*FLOATS[:9], "float4e2m1", "int2", "uint4", "bool", "string", "complex128"} <= types
