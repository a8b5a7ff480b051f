"""Text of a pool of channels-last tensors: Transpose, MaxPool or AveragePool, Transpose."""

from __future__ import annotations

from collections.abc import Sequence

from channels_last_text import ints

Dims = Sequence[int | str]


def pool_text(x: Dims, y: Dims, attributes: str, *, name: str = "MaxPool", element: str = "f32") -> str:
    """From `x` (`[N, *spatial, C]`) to `y`."""
    rank = len(x)
    given, made = (_type(dims, element) for dims in (x, y))
    inner, pooled = (_type([dims[0], dims[-1], *dims[1:-1]], element) for dims in (x, y))
    results, types = ("%1:2", f"({pooled}, none)") if name == "MaxPool" else ("%1", pooled)
    result = "%1#0" if name == "MaxPool" else "%1"
    return "\n".join(
        [
            f"func.func @f(%x: {given}) -> {made} {{",
            f'%0 = "onnx.Transpose"(%x) {{{ints("perm", [0, rank - 1, *range(1, rank - 1)])}}}'
            f" : ({given}) -> {inner}",
            f'{results} = "onnx.{name}"(%0) {{{attributes}}} : ({inner}) -> {types}',
            f'%2 = "onnx.Transpose"({result}) {{{ints("perm", [0, *range(2, rank), 1])}}}'
            f" : ({pooled}) -> {made}",
            f"onnx.Return %2 : {made}",
            "}",
        ]
    )


def _type(dims: Dims, element: str) -> str:
    return f"tensor<{'x'.join(map(str, [*dims, element]))}>"
