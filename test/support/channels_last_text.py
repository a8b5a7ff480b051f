"""Text of a convolution of channels-last tensors: Transpose, Conv, Transpose, Relu, Add."""

from __future__ import annotations

from collections.abc import Sequence

Dims = Sequence[int | str]


def conv_text(
    x: Dims,
    w: Dims,
    y: Dims,
    attributes: str = "",
    *,
    residual: Dims | None = None,
    element: str = "f32",
    has_bias: bool = True,
    has_epilogue: bool = True,
) -> str:
    """Of `x` (`[N, *spatial, C]`) by `w` (`[M, C, *kernel]`) with result `y` (`[N, *spatial, M]`)."""
    rank = len(x)
    given, weights, made, added = (
        _type(dims, element) for dims in (x, w, y, y if residual is None else residual)
    )
    inner, product = (_type([dims[0], dims[-1], *dims[1:-1]], element) for dims in (x, y))
    vector = _type(w[:1], element)
    bias, bias_type = ("%b", vector) if has_bias else ("%none", "none")
    lines = [
        f"func.func @f(%x: {given}, %w: {weights}, %b: {vector}, %r: {added}) -> {made} {{",
        '%none = "onnx.NoValue"() {value} : () -> none',
        f'%0 = "onnx.Transpose"(%x) {{{ints("perm", [0, rank - 1, *range(1, rank - 1)])}}}'
        f" : ({given}) -> {inner}",
        f'%1 = "onnx.Conv"(%0, %w, {bias}) {{{attributes}}} : ({inner}, {weights}, {bias_type}) -> {product}',
        f'%2 = "onnx.Transpose"(%1) {{{ints("perm", [0, *range(2, rank), 1])}}} : ({product}) -> {made}',
        f'%3 = "onnx.Relu"(%2) : ({made}) -> {made}',
        f'%4 = "onnx.Add"(%3, %r) : ({made}, {added}) -> {made}',
        f"onnx.Return {'%4' if has_epilogue else '%2'} : {made}",
    ]
    if not has_epilogue:
        del lines[5:7]
    return "\n".join([*lines, "}"])


def ints(name: str, values: Sequence[int]) -> str:
    """An attribute of integers."""
    return f"{name} = [{', '.join(f'{value} : si64' for value in values)}]"


def _type(dims: Dims, element: str) -> str:
    return f"tensor<{'x'.join(map(str, [*dims, element]))}>"
