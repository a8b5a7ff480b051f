"""Products, convolutions and pools of com.microsoft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from peer_cases.case import Array, Case
from peer_cases.draw import Draw
from peer_cases.registry import Limit, cases_of

ACTIVATION_NUMBERS = {"LeakyRelu": 1, "HardSigmoid": 2, "Clip": 2, "Elu": 1, "Selu": 2, "ThresholdedRelu": 1,
                      "ParametricSoftplus": 2, "ScaledTanh": 2}  # fmt: skip


@cases_of("FusedMatMul")
def fused_matmul(draw: Draw) -> Case:
    m, k, n = draw.dim(), draw.dim(), draw.dim()
    swap, turned = [draw.often(), draw.often()], draw.often(0.2)
    batch = [draw.size(1, 3) for _ in range(draw.size(0, 2))]
    if turned and not batch:
        batch = [2]
    shapes: list[list[int]] = []
    for (rows, columns), transposed in zip([(m, k), (k, n)], swap, strict=True):
        rows, columns = (columns, rows) if transposed else (rows, columns)
        own = batch if turned or draw.often(0.7) else batch[len(batch) // 2 :]
        shapes.append([rows, *own, columns] if turned else [*own, rows, columns])
    if not turned and not batch and draw.often(0.2):
        shapes[0] = [k]
    attributes: dict[str, Any] = {"transA": int(swap[0]), "transB": int(swap[1])}
    if turned:
        attributes |= {"transBatchA": 1, "transBatchB": 1}
    attributes |= draw.some({"alpha": draw.number(-2, 2)})
    dtype = draw.one_of(np.float32, np.float32, np.float32, np.float64)
    op = "FusedMatMul" if turned or dtype is np.float64 or draw.often(0.7) else "TransposeMatMul"
    return Case([draw.normal(*s, dtype=dtype) for s in shapes], attributes, is_dynamic=draw.often(0.3), op=op)


@cases_of("FusedGemm")
def fused_gemm(draw: Draw) -> Case:
    m, k, n = draw.dim(), draw.dim(), draw.dim()
    attributes: dict[str, Any] = {"transA": draw.one_of(0, 1), "transB": draw.one_of(0, 1)}
    a = draw.normal(*((k, m) if attributes["transA"] else (m, k)))
    b = draw.normal(*((n, k) if attributes["transB"] else (k, n)))
    c = draw.normal(*draw.one_of([m, n], [n], [1, n], [m, 1], [1], []))
    attributes |= draw.some({"alpha": draw.number(-2, 2), "beta": draw.number(-2, 2)})
    # Selu asks for a number under a name that no schema has.
    name, numbers = _activation(
        draw,
        ("Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid", "Elu", "Softplus", "Softsign",
         "ThresholdedRelu", "ParametricSoftplus", "ScaledTanh"),
    )  # fmt: skip
    attributes["activation"] = name
    numbers = numbers or [0.3] * ACTIVATION_NUMBERS.get(name, 0)  # onnxruntime has no defaults
    for key, value in zip(("alpha", "beta", "gamma"), numbers, strict=False):
        attributes[f"activation_{key}"] = value
    return Case([a, b, draw.maybe(c, 0.8)], attributes, is_dynamic=draw.often(0.3))


def _activation(draw: Draw, names: Sequence[str]) -> tuple[str, list[float]]:
    name = draw.one_of(*names)
    numbers = sorted(draw.number(0.05, 0.9) for _ in range(ACTIVATION_NUMBERS.get(name, 0)))
    return name, numbers if name == "Clip" or draw.often(0.7) else []


def windows(draw: Draw, sizes: Sequence[int], kernel: Sequence[int], dilates: bool = True) -> dict[str, Any]:
    """Pads, strides and dilations of windows that fit into their padded image."""
    rank = len(sizes)
    found: dict[str, Any] = {"kernel_shape": list(kernel)}
    dilations = [1] * rank
    if dilates and draw.often(0.3):
        dilations = [draw.size(1, 2) for _ in range(rank)]
        found["dilations"] = dilations
    if draw.often(0.6):
        found["strides"] = [draw.size(1, 3) for _ in range(rank)]
    spans = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    if draw.often(0.2) and dilations == [1] * rank:
        found["auto_pad"] = draw.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
        if found["auto_pad"] == "VALID" and any(s > n for s, n in zip(spans, sizes, strict=True)):
            found["auto_pad"] = "SAME_UPPER"
        return found
    pads = [[draw.size(0, k - 1) for k in kernel] for _ in range(2)]
    for axis in range(rank):
        missing = spans[axis] - (sizes[axis] + pads[0][axis] + pads[1][axis])
        if missing > 0:
            pads[0][axis] += missing
    if any(any(p) for p in pads) or draw.often():
        found["pads"] = [*pads[0], *pads[1]]
    return found


@cases_of("FusedConv")
def fused_conv(draw: Draw) -> Case:
    rank, groups = draw.one_of(1, 2, 2, 2), draw.one_of(1, 1, 2, 3)
    depth, filters = draw.size(1, 3), draw.size(1, 3)
    sizes, kernel = [draw.size(1, 9) for _ in range(rank)], [draw.size(1, 3) for _ in range(rank)]
    attributes = windows(draw, sizes, kernel)
    attributes |= {"group": groups}
    name, numbers = _activation(draw, ("Relu", "LeakyRelu", "Sigmoid", "Tanh", "HardSigmoid", "Clip"))
    attributes["activation"] = name
    if numbers:
        attributes["activation_params"] = numbers
    x = draw.normal(draw.size(1, 2), depth * groups, *sizes)
    w, b = draw.normal(filters * groups, depth, *kernel), draw.normal(filters * groups)
    z = None
    if draw.often(0.3) and "auto_pad" not in attributes:
        z = draw.normal(x.shape[0], filters * groups, *_out_sizes(sizes, kernel, attributes))
    return Case(
        [x, w, draw.maybe(b, 0.7), z], attributes,
        constant=[1, 2] * draw.often(0.8), is_dynamic=draw.often(0.2), static=[1],
    )  # fmt: skip


def _out_sizes(sizes: Sequence[int], kernel: Sequence[int], given: dict[str, Any]) -> list[int]:
    rank = len(sizes)
    pads, strides = given.get("pads", [0] * 2 * rank), given.get("strides", [1] * rank)
    dilations = given.get("dilations", [1] * rank)
    return [
        (sizes[i] + pads[i] + pads[rank + i] - (dilations[i] * (kernel[i] - 1) + 1)) // strides[i] + 1
        for i in range(rank)
    ]


@cases_of("NhwcMaxPool", limit=Limit(), reason="no arithmetic")
def nhwc_max_pool(draw: Draw) -> Case:
    rank = draw.one_of(1, 2, 2, 2, 3)
    sizes, kernel = [draw.size(1, 8) for _ in range(rank)], [draw.size(1, 3) for _ in range(rank)]
    attributes = windows(draw, sizes, kernel) | draw.some({"ceil_mode": 1}, 0.3)
    x = draw.whole(draw.one_of(np.int8, np.uint8), draw.size(1, 2), *sizes, draw.size(1, 5))
    return Case([x], attributes, is_dynamic=draw.often(0.2))


@cases_of("MatMulIntegerToFloat")
def matmul_integer_to_float(draw: Draw) -> Case:
    return integer_product(draw, draw.one_of(np.uint8, np.uint8, np.int8), "first")


@cases_of("DynamicQuantizeMatMul", limit=Limit(relative=1e-4), reason="A is rounded to levels, at halves too")
def dynamic_quantize_matmul(draw: Draw) -> Case:
    return integer_product(draw, None, "second")


def integer_product(draw: Draw, left: Any, form: str) -> Case:
    """`form` says in which order the scales come."""
    m, k, n = draw.dim(), draw.size(1, 30), draw.size(1, 20)
    batch = [draw.size(1, 3) for _ in range(draw.size(0, 2))]
    right = np.int8 if left is np.int8 else draw.one_of(np.uint8, np.int8)
    b = draw.whole(right, *(batch if draw.often(0.2) else []), k, n)
    by_column = draw.often() and b.ndim == 2
    b_scale = draw.scale(n) if by_column else draw.one_of(draw.scale(), draw.scale(1))
    b_zero = draw.whole(right, n) if by_column else draw.whole(right, *b_scale.shape)
    bias = draw.maybe(draw.normal(n))
    constant = draw.one_of([], [1, 2, 3, 4, 5, 6], [1])
    is_dynamic = draw.often(0.3)
    if form == "second":
        inputs: list[Array | None] = [draw.normal(*batch, m, k), b, b_scale, draw.maybe(b_zero), bias]
        return Case(inputs, constant=constant, is_dynamic=is_dynamic, static=[1])
    a = draw.whole(left, *batch, m, k)
    a_scale = draw.one_of(draw.scale(), draw.scale(1))
    a_zero = draw.maybe(draw.whole(left, *a_scale.shape))
    inputs = [a, b, a_scale, b_scale, a_zero, draw.maybe(b_zero), bias]
    constant = [i for i in constant if i != 0]
    return Case(inputs, constant=constant, is_dynamic=is_dynamic, static=[1])


@cases_of("MatMulNBits", limit=Limit(relative=1e-4), reason="sums of up to 300 products, in another order")
def matmul_nbits(draw: Draw) -> Case:
    dtype = draw.one_of(np.float32, np.float32, np.float32, np.float16)
    bits, block = draw.one_of(4, 4, 4, 8, 2), draw.one_of(16, 32, 64, 128)
    n, k = draw.size(1, 40), draw.size(1, 300)
    blocks = -(-k // block)
    b = draw.whole(np.uint8, n, blocks, block * bits // 8)
    scales = draw.scale(*draw.one_of([n * blocks], [n, blocks])).astype(dtype)
    zeros = None
    if draw.often():
        packed = -(-blocks * bits // 8)
        zeros = draw.one_of(draw.whole(np.uint8, n, packed), draw.whole(np.uint8, n * packed))
        if draw.often(0.3):
            zeros = draw.uniform(0, 15, n, blocks).astype(dtype)
    rows = [
        *[draw.size(1, 3) for _ in range(draw.size(0, 1))],
        draw.one_of(1, 1, draw.size(1, 9), draw.dim()),
    ]
    order = draw.maybe((np.arange(blocks * block) // block).astype(np.int32)[:k], 0.2)
    # With g_idx, which is deprecated, onnxruntime misreads packed zero points and weights of 2 bits.
    if bits == 2 or (zeros is not None and zeros.dtype == np.uint8):
        order = None
    if order is not None and draw.often():
        order = draw.rng.permutation(order)
    inputs = [
        draw.normal(*rows, k, dtype=dtype), b, scales, zeros, order, draw.maybe(draw.normal(n, dtype=dtype)),
    ]  # fmt: skip
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block} | draw.some({"accuracy_level": 1}, 0.3)
    return Case(
        inputs, attributes, constant=[1, 2, 3, 4] * draw.often(0.9) + [5] * draw.often(0.2),
        is_dynamic=draw.often(0.3), static=[1, 2, 3],
    )  # fmt: skip
