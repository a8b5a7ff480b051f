"""com.microsoft MatMulIntegerToFloat, DynamicQuantizeMatMul and MatMulNBits, as their schemas define them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxloom.lowering.runtime.host_ops.registry import Attributes, replaces

Array = np.ndarray[Any, Any]
DOMAIN = "com.microsoft"


def _product(a: Array, zero: Any, b: Array, b_zero: Any, scale: Array, bias: Any) -> Sequence[Any]:
    left, right = (
        x.astype(np.int64) - (0 if z is None else np.asarray(z, np.int64))
        for x, z in ((a, zero), (b, b_zero))
    )
    y = (left @ right).astype(np.float32) * scale.astype(np.float32)
    return [np.asarray(y if bias is None else y + bias, np.float32)]


@replaces("MatMulIntegerToFloat", domain=DOMAIN)
def matmul_integer_to_float(
    attributes: Attributes,
    a: Array,
    b: Array,
    a_scale: Array,
    b_scale: Array,
    a_zero: Any = None,
    b_zero: Any = None,
    bias: Any = None,
) -> Sequence[Any]:
    """`(A - zero) @ (B - zero) * scales + bias`."""
    return _product(a, a_zero, b, b_zero, a_scale * b_scale, bias)


@replaces("DynamicQuantizeMatMul", domain=DOMAIN)
def dynamic_quantize_matmul(
    attributes: Attributes, a: Array, b: Array, b_scale: Array, b_zero: Any = None, bias: Any = None
) -> Sequence[Any]:
    """The same on A as DynamicQuantizeLinear has it."""
    low, high = np.float32(min(a.min(initial=0.0), 0.0)), np.float32(max(a.max(initial=0.0), 0.0))
    scale = np.float32((high - low) / np.float32(255)) or np.float32(1)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    levels = np.clip(np.rint(a / scale) + zero, 0, 255).astype(np.uint8)
    return _product(levels, np.uint8(zero), b, b_zero, scale * b_scale, bias)


@replaces("MatMulNBits", domain=DOMAIN)
def matmul_nbits(
    attributes: Attributes,
    a: Array,
    b: Array,
    scales: Array,
    zeros: Any = None,
    order: Any = None,
    bias: Any = None,
) -> Sequence[Any]:
    """`A @ dequantized(B) + bias`."""
    depth, columns, block = (int(attributes.get(name)) for name in ("K", "N", "block_size"))
    bits, blocks = int(attributes.get("bits", 4)), -(-depth // block)
    order = np.arange(depth) // block if order is None else order[:depth]
    levels = _fields(b.reshape(columns, -1), bits)[:, :depth].astype(np.float32)
    zero: Any = np.float32(1 << (bits - 1))
    if zeros is not None:
        known = _fields(zeros.reshape(columns, -1), bits) if zeros.dtype == np.uint8 else zeros
        zero = known.reshape(columns, -1)[:, :blocks].astype(np.float32)[:, order]
    weights = (levels - zero) * scales.reshape(columns, blocks).astype(np.float32)[:, order]
    y = a.astype(np.float32) @ weights.T
    return [(y if bias is None else y + bias.astype(np.float32)).astype(a.dtype)]


def _fields(packed: Array, bits: int) -> Array:
    """Numbers of some bits as bytes, those in the low bits first."""
    parts = [(packed >> np.uint8(at)) & np.uint8((1 << bits) - 1) for at in range(0, 8, bits)]
    return np.stack(parts, axis=-1).reshape(packed.shape[0], -1)
