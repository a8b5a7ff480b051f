"""Dropout: values, and why it declines."""

from __future__ import annotations

import pytest

from onnxloom.dialects import onnx
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.canonicalization.dropout import DropoutPattern

X = "tensor<?x3xf32>"


def dropout(ratio: str = "none", mode: str = "none", mask: str = "none", returned: str = "%y") -> str:
    """`%r` and `%t` of these types: `dense<...> : type` for constants, a type for arguments."""
    arguments = [f"%x: {X}"]
    lines = ['%none = "onnx.NoValue"() {value} : () -> none']
    names: list[str] = []
    for name, given in (("%r", ratio), ("%t", mode)):
        if given == "none":
            names.append("%none")
            continue
        names.append(name)
        if given.startswith("dense"):
            lines.append(f"{name} = onnx.Constant {given}")
        else:
            arguments.append(f"{name}: {given}")
    types = ", ".join(given.rpartition(" : ")[2] for given in (X, ratio, mode))
    lines.append(f'%y, %m = "onnx.Dropout"(%x, {", ".join(names)}) : ({types}) -> ({X}, {mask})')
    results = ", ".join(X if name == "%y" else mask for name in returned.split(", "))
    lines.append(f"onnx.Return {returned} : {results}")
    body = "\n".join(lines)
    return f"func.func @f({', '.join(arguments)}) -> ({results}) {{\n{body}\n}}"


@pytest.mark.parametrize(
    "text",
    [
        dropout(),
        dropout("dense<0.5> : tensor<f32>"),
        dropout("tensor<f32>"),
        dropout("dense<0.5> : tensor<f32>", "dense<false> : tensor<i1>"),
        dropout("dense<0.5> : tensor<f32>", "dense<false> : tensor<1xi1>"),
        dropout("dense<0.0> : tensor<f32>", "dense<true> : tensor<i1>"),
        dropout("dense<-0.0> : tensor<1xf32>", "tensor<i1>"),
        dropout(mask="tensor<?x3xi1>"),
    ],
)
def test_nothing_is_dropped(text: str):
    module = check_pattern(text, DropoutPattern, times=1)
    assert not any(isinstance(op, onnx.DropoutOp) for op in module.walk())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (dropout(mask="tensor<?x3xi1>", returned="%y, %m"), "the mask is read"),
        (dropout("dense<0.5> : tensor<f32>", "dense<true> : tensor<i1>"), "training mode"),
        (dropout("none", "dense<true> : tensor<i1>"), "training mode"),
        (dropout("dense<0.5> : tensor<f32>", "tensor<i1>"), "training mode"),
        (dropout("tensor<f32>", "dense<true> : tensor<i1>"), "training mode"),
    ],
)
def test_declines(text: str, reason: str):
    assert reason in decline_reason(text, DropoutPattern)
