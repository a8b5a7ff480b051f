"""Which ops and fused chains are measured on their own? Shapes of transformers, batch 1, f32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np
import onnx

from benchmarks.architectures.layers import gelu, layer_norm
from benchmarks.case import Case, CaseWriter

Cases = Mapping[str, Callable[[], Case]]

GEMM_SHAPES: Final = (
    (128, 768, 768),
    (128, 768, 3072),
    (384, 1024, 1152),
    (1000, 2048, 1056),
    (49, 512, 2112),
    (1, 768, 3072),
)
"""M, K, N with a constant right operand; the last is bound by bandwidth."""


def matmul(m: int, k: int, n: int) -> Case:
    """A product with a constant right operand."""
    w = CaseWriter(f"matmul {m}x{k}x{n}")
    return w.case(w.op("MatMul", w.fed("x", m, k), w.normal((k, n), k**-0.5)))


def batched_matmul(batch: int, m: int, k: int, n: int) -> Case:
    """A batched product of two inputs."""
    w = CaseWriter(f"matmul {batch}x({m}x{k}x{n})")
    return w.case(w.op("MatMul", w.fed("a", batch, m, k), w.fed("b", batch, k, n)))


def matmul_bias_gelu(m: int, k: int, n: int) -> Case:
    """MatMul, bias and Gelu as exporters spell it (Div, Erf, Add, Mul, Mul)."""
    w = CaseWriter(f"matmul + bias + gelu {m}x{k}x{n}")
    product = w.op("MatMul", w.fed("x", m, k), w.normal((k, n), k**-0.5))
    return w.case(gelu(w, w.op("Add", product, w.normal((n,), 1.0))))


def matmul_bias_residual_relu(m: int, k: int, n: int) -> Case:
    """MatMul, bias, an added input, Relu."""
    w = CaseWriter(f"matmul + bias + residual + relu {m}x{k}x{n}")
    product = w.op("MatMul", w.fed("x", m, k), w.normal((k, n), k**-0.5))
    biased = w.op("Add", product, w.normal((n,), 1.0))
    return w.case(w.op("Relu", w.op("Add", biased, w.fed("residual", m, n))))


def attention(sequence: int, heads: int = 12, size: int = 64) -> Case:
    """softmax(q k^T / sqrt(size)) v, heads in the second dim."""
    w = CaseWriter(f"attention core S={sequence}")
    query, key, value = (w.fed(name, 1, heads, sequence, size) for name in ("q", "k", "v"))
    scores = w.op("MatMul", query, w.op("Transpose", key, perm=[0, 1, 3, 2]))
    weights = w.op("Softmax", w.op("Mul", scores, w.scalar(size**-0.5)), axis=-1)
    return w.case(w.op("MatMul", weights, value))


def layer_normalization(rows: int, size: int) -> Case:
    w = CaseWriter(f"LayerNorm {rows}x{size}")
    return w.case(layer_norm(w, w.fed("x", 1, rows, size), size, 1e-5))


def residual_layer_normalization(rows: int, size: int) -> Case:
    w = CaseWriter(f"residual + LayerNorm {rows}x{size}")
    total = w.op("Add", w.fed("x", 1, rows, size), w.fed("residual", 1, rows, size))
    return w.case(layer_norm(w, total, size, 1e-5))


def rms_normalization(rows: int, size: int) -> Case:
    """x / sqrt(mean(x * x) + epsilon) * scale, as exporters spell it."""
    w = CaseWriter(f"RMSNorm {rows}x{size}")
    x = w.fed("x", 1, rows, size)
    square = w.op("ReduceMean", w.op("Pow", x, w.scalar(2.0)), axes=[-1], keepdims=1)
    root = w.op("Sqrt", w.op("Add", square, w.scalar(1e-6)))
    return w.case(w.op("Mul", w.op("Div", x, root), w.around((size,), 1.0)))


def softmax(size: int) -> Case:
    """As many rows as attention on as many tokens has."""
    w = CaseWriter(f"softmax 1x12x{size}x{size}")
    return w.case(w.op("Softmax", w.fed("x", 1, 12, size, size), axis=-1))


def chain_cheap(rows: int, columns: int) -> Case:
    """Eight ops on operands of one shape."""
    w = CaseWriter("chain of 8: cheap")
    x = w.fed("x", rows, columns)
    others = [w.fed(f"a{number}", rows, columns) for number in range(2)]
    value = w.op("Add", w.op("Mul", x, others[0]), others[1])
    value = w.op("Mul", w.op("Relu", value), w.scalar(0.5))
    value = w.op("Sub", w.op("Add", value, others[0]), others[1])
    return w.case(w.op("Min", w.op("Max", value, w.scalar(-3.0)), w.scalar(3.0)))


def chain_tanh(rows: int, columns: int) -> Case:
    """Eight ops, one of them a tanh."""
    w = CaseWriter("chain of 8: tanh")
    x, other = w.fed("x", rows, columns), w.fed("a", rows, columns)
    value = w.op("Mul", w.op("Add", w.op("Mul", x, x), other), w.scalar(0.3))
    value = w.op("Mul", w.op("Add", w.op("Tanh", value), w.scalar(1.0)), x)
    return w.case(w.op("Relu", w.op("Sub", value, other)))


def chain_cast_where(rows: int, columns: int) -> Case:
    """Eight ops with a comparison, a selection and casts."""
    w = CaseWriter("chain of 8: cast and where")
    x, other = w.fed("x", rows, columns), w.fed("a", rows, columns)
    total = w.op("Add", w.op("Mul", x, w.scalar(2.0)), other)
    chosen = w.op("Where", w.op("Greater", total, w.scalar(0.0)), total, other)
    whole = w.op("Cast", w.op("Mul", chosen, w.scalar(100.0)), to=onnx.TensorProto.INT32)
    back = w.op("Cast", whole, to=onnx.TensorProto.FLOAT)
    return w.case(w.op("Sub", back, x))


def chain_broadcast(rows: int, columns: int) -> Case:
    """Eight ops on operands that broadcast along rows, columns and both."""
    w = CaseWriter("chain of 8: broadcast operands")
    shapes = [(columns,), (rows, 1), (), (columns,), (1, 1), (columns,), (1,)]
    operands = iter([w.weight(w.rng.standard_normal(shape).astype(np.float32)) for shape in shapes])
    value = w.fed("x", rows, columns)
    for op in ("Mul", "Add", "Add", "Mul", "Relu", "Min", "Mul", "Sub"):
        value = w.op(op, value) if op == "Relu" else w.op(op, value, next(operands))
    return w.case(value)


def _named(*cases: partial[Case]) -> Cases:
    return {" ".join([case.func.__name__, *map(str, case.args)]): case for case in cases}


GEMM: Final[Cases] = _named(
    *(partial(matmul, *shape) for shape in GEMM_SHAPES), partial(batched_matmul, 12, 128, 64, 128)
)
GEMM_GELU: Final[Cases] = _named(
    *(partial(matmul_bias_gelu, *shape) for shape in ((128, 768, 3072), (384, 768, 3072)))
)
GEMM_RESIDUAL: Final[Cases] = _named(
    *(partial(matmul_bias_residual_relu, *shape) for shape in ((128, 3072, 768), (384, 768, 768)))
)
ATTENTION: Final[Cases] = _named(partial(attention, 128), partial(attention, 384))
NORMS: Final[Cases] = _named(
    *(partial(layer_normalization, *shape) for shape in ((128, 768), (512, 1024))),
    *(partial(rms_normalization, *shape) for shape in ((128, 768), (512, 1024))),
    *(partial(residual_layer_normalization, *shape) for shape in ((128, 768), (512, 1024))),
)
SOFTMAX: Final[Cases] = _named(*(partial(softmax, size) for size in (128, 197, 256, 384, 512)))
CHAINS: Final[Cases] = _named(
    *(partial(chain, 1024, 1024) for chain in (chain_cheap, chain_tanh, chain_cast_where, chain_broadcast))
)
