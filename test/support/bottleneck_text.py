"""Text of chains of channels-last convolutions: Transpose, Conv, Transpose, Relu for each link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from channels_last_text import ints

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.constant import constant_attr
from onnxloom.dialects.onnx.dtypes import tensor_type_of

Dims = Sequence[int | str]


@dataclass(frozen=True)
class Link:
    """One convolution: its weights, the result `[N, H, W, M]`, attributes of the Conv."""

    weights: Sequence[int]
    result: Dims
    attributes: str = ""
    activates: bool = True


def chain_text(x: Dims, links: Sequence[Link], *, element: str = "f32", residual: Dims | None = None) -> str:
    """Of `x` by all links, weights and biases being constants of one value; `residual` is added at last."""
    final = links[-1].result
    given = f"%x: {_type(x, element)}" + ("" if residual is None else f", %r: {_type(residual, element)}")
    lines = [f"func.func @f({given}) -> {_type(final, element)} {{"]
    value, dims = "%x", x
    for i, link in enumerate(links):
        lines += _link(i, link, value, dims, element)
        value, dims = f"%y{i}", link.result
    if residual is not None:
        made = _type(final, element)
        lines.append(f'%z = "onnx.Add"({value}, %r) : ({made}, {_type(residual, element)}) -> {made}')
        value = "%z"
    return "\n".join([*lines, f"onnx.Return {value} : {_type(final, element)}", "}"])


def _link(i: int, link: Link, value: str, dims: Dims, element: str) -> list[str]:
    given, made, weights = (_type(d, element) for d in (dims, link.result, link.weights))
    inner, product = (_type([d[0], d[3], d[1], d[2]], element) for d in (dims, link.result))
    vector = _type(link.weights[:1], element)
    last = f"%t{i}" if link.activates else f"%y{i}"
    lines = [
        f"%w{i} = onnx.Constant dense<0.5> : {weights}",
        f"%b{i} = onnx.Constant dense<0.25> : {vector}",
        f'%a{i} = "onnx.Transpose"({value}) {{{ints("perm", [0, 3, 1, 2])}}} : ({given}) -> {inner}',
        f'%c{i} = "onnx.Conv"(%a{i}, %w{i}, %b{i}) {{{link.attributes}}} : ({inner}, {weights}, {vector})'
        f" -> {product}",
        f'{last} = "onnx.Transpose"(%c{i}) {{{ints("perm", [0, 2, 3, 1])}}} : ({product}) -> {made}',
    ]
    return [*lines, f'%y{i} = "onnx.Relu"(%t{i}) : ({made}) -> {made}'] if link.activates else lines


def fill_constants(module: Any, arrays: Sequence[Any]) -> None:
    """Gives the constants of a module these values, in order."""
    constants = [op for op in module.walk() if isinstance(op, onnx.ConstantOp)]
    for op, array in zip(constants, arrays, strict=True):
        assert op.results[0].type == tensor_type_of(array)
        op.properties["value"] = constant_attr(array)


def _type(dims: Dims, element: str) -> str:
    return f"tensor<{'x'.join(map(str, [*dims, element]))}>"
