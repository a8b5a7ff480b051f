"""Modules before and after fusion: their compiled values, and the reference's."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from onnx.reference import ReferenceEvaluator
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_export import export_model
from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.transforms.fusion.create import FuseOpsPass
from onnxloom.transforms.fusion.unfuse import unfuse_ops

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui32": np.uint32,
}  # fmt: skip
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-3, -2.5, 65504.0]


def values(shape: Sequence[int], dtype: str, seed: int = 0) -> Array:
    """Random values; floats with NaN, infinities and both zeros among them."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(DTYPES[dtype])
    if kind.kind in "iu":
        low = 0 if kind.kind == "u" else -100
        return rng.integers(low, 100, shape).astype(kind)
    array = rng.standard_normal(shape) * 3
    flat = array.reshape(-1)
    count = min(len(SPECIAL), flat.size // 3)
    flat[rng.permutation(flat.size)[:count]] = SPECIAL[:count]
    return array.astype(kind)


def fused(module: ModuleOp, kind: str) -> ModuleOp:
    """A copy after fusion, which must have changed something."""
    copy = module.clone()
    step = FuseOpsPass(kinds=(kind,))
    step.apply(make_context(), copy)
    copy.verify()
    assert any(op.kind.data == kind for op in copy.walk() if isinstance(op, onnx.FusedOp)), str(step.report)
    return copy


def compiled(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    options = CompileOptions(opt_level=0)
    with np.errstate(all="ignore"):
        return compile_module(module, options)(*inputs)


def reference(module: ModuleOp, inputs: Sequence[Array]) -> list[Array]:
    """The standard's reference evaluator on the ops as they stand, fused ops inlined."""
    plain = module.clone()
    unfuse_ops(plain)
    evaluator: Any = ReferenceEvaluator(export_model(plain, opset=23))
    with np.errstate(all="ignore"):
        return evaluator.run(None, dict(zip(evaluator.input_names, inputs, strict=True)))


def assert_same(actual: Sequence[Array], expected: Sequence[Array], tolerance: float = 0.0) -> None:
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        if one.dtype.kind in "biu":
            np.testing.assert_array_equal(one, other)
            continue
        one, other = one.astype(np.float64), other.astype(np.float64)
        if tolerance:
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
            continue
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.signbit(one) & ~np.isnan(one), np.signbit(other) & ~np.isnan(other))


def lowered_as_one(module: ModuleOp, kind: str, inputs: Sequence[Array]) -> list[Array]:
    """The values of the fused module; falling back is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FusionFallbackWarning)
        return compiled(fused(module, kind), inputs)


def normal(shape: Sequence[int], element: str = "f32", seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[element])
