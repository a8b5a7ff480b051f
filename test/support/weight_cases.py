"""Small models of a linear op with weights and an affine op beside it, as IR text, and what they become."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module

_COUNT = [0]


def dense(shape: Sequence[int], *, low: float = -2.0, high: float = 2.0) -> str:
    """`dense<...>` of seeded numbers."""
    _COUNT[0] += 1
    array = np.random.default_rng(_COUNT[0]).uniform(low, high, tuple(shape)).astype(np.float32)
    return f"dense<{array.tolist()}>"


def tensor(shape: Sequence[int | None], element: str = "f32") -> str:
    dims = ["?" if dim is None else str(dim) for dim in shape]
    return f"tensor<{'x'.join([*dims, element])}>"


def constant(name: str, shape: Sequence[int], numbers: str = "", attributes: str = "") -> str:
    return f"%{name} = onnx.Constant {attributes} {numbers or dense(shape)} : {tensor(shape)}\n"


def normalization(name: str, data: str, data_type: str, channels: int, properties: str = "") -> str:
    """A BatchNormalization of random parameters."""
    lines = [constant(f"{name}_{part}", [channels]) for part in ("gamma", "beta", "mean")]
    lines.append(constant(f"{name}_var", [channels], dense([channels], low=0.1, high=3.0)))
    vector = tensor([channels])
    return "".join(lines) + (
        f'%{name}, %{name}_m, %{name}_v = "onnx.BatchNormalization"(%{data}, %{name}_gamma, %{name}_beta, '
        f"%{name}_mean, %{name}_var) <{{{properties}}}> : ({data_type}, {', '.join([vector] * 4)}) -> "
        f"({data_type}, none, none)\n"
    )


def function(inputs: str, body: str, result: str, results: str = "%y") -> ModuleOp:
    """`results`: the values returned; `result`: their types."""
    none = '%none = "onnx.NoValue"() {value} : () -> none\n'
    end = f"onnx.Return {results} : {result}\n"
    return parse_module(f"func.func @f({inputs}) -> ({result}) {{\n{none}{body}{end}}}")


def computing(module: ModuleOp) -> list[str]:
    """Names of the ops that compute something."""
    skipped = (onnx.ConstantOp, onnx.NoValueOp, onnx.ReturnOp)
    ops = next(iter(module.ops)).regions[0].block.ops
    return [op.name.removeprefix("onnx.") for op in ops if not isinstance(op, skipped)]
