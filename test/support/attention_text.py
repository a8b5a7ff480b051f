"""Functions with one Attention op, as IR text, for tests of what stands around it."""

from __future__ import annotations

from collections.abc import Sequence

SWAP = "perm = [0 : i64, 2 : i64, 1 : i64, 3 : i64]"
PARTS = "perm = [2 : i64, 0 : i64, 3 : i64, 1 : i64, 4 : i64]"


def tensor(dims: str, element: str = "f32") -> str:
    return f"tensor<{dims}x{element}>"


def swap(result: str, operand: str, source: str, target: str, element: str = "f32", perm: str = SWAP) -> str:
    types = f"({tensor(source, element)}) -> {tensor(target, element)}"
    return f'{result} = "onnx.Transpose"({operand}) <{{{perm}}}> : {types}'


def attention(
    operands: Sequence[tuple[str, str]],
    result: str,
    attributes: str = "",
    mask: tuple[str, str] | None = None,
) -> str:
    """`%0 = Attention(...)`; operands are (name, type)."""
    given = [*operands, mask or ("%none", "none"), *[("%none", "none")] * 3]
    names, types = (", ".join(column) for column in zip(*given, strict=True))
    kept = f" <{{{attributes}}}>" if attributes else ""
    return f'%0, %pk, %pv, %qk = "onnx.Attention"({names}){kept} : ({types}) -> ({result}, none, none, none)'


def function(
    inputs: Sequence[tuple[str, str]], lines: Sequence[str], results: Sequence[tuple[str, str]]
) -> str:
    """A function; inputs and results are (name, type)."""
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in inputs)
    names, types = (", ".join(column) for column in zip(*results, strict=True))
    body = "\n".join(f"  {line}" for line in ('%none = "onnx.NoValue"() <{value}> : () -> none', *lines))
    return f"func.func @f({arguments}) -> ({types}) {{\n{body}\n  onnx.Return {names} : {types}\n}}"


def swapped_heads(
    sizes: tuple[str, str, str, str, str, str, str],
    element: str = "f32",
    attributes: str = "",
    mask: str = "",
    past: str = "",
) -> str:
    """Q, K, V and the result with the heads of a row side by side.

    `sizes`: batch, heads, key heads, queries, keys, width, width of values; `mask`: its type; `past`: past
    keys, which are joined to the new ones and returned.
    """
    b, h, g, s, t, d, dv = sizes
    shapes = {"q": (h, s, d), "k": (g, t, d), "v": (g, t, dv)}
    inputs = [(f"%{n}", tensor(f"{b}x{r}x{c}x{w}", element)) for n, (c, r, w) in shapes.items()]
    lines = [
        swap(f"%{n}1", f"%{n}", f"{b}x{r}x{c}x{w}", f"{b}x{c}x{r}x{w}", element)
        for n, (c, r, w) in shapes.items()
    ]
    operands = [(f"%{n}1", tensor(f"{b}x{c}x{r}x{w}", element)) for n, (c, r, w) in shapes.items()]
    results: list[tuple[str, str]] = []
    if past:
        for n, w in (("k", d), ("v", dv)):
            old, joined = tensor(f"{b}x{g}x{past}x{w}", element), tensor(f"{b}x{g}x?x{w}", element)
            new = tensor(f"{b}x{g}x{t}x{w}", element)
            inputs.append((f"%past_{n}", old))
            lines.append(
                f'%{n}2 = "onnx.Concat"(%past_{n}, %{n}1) <{{axis = 2 : si64}}> : ({old}, {new}) -> {joined}'
            )
            results.append((f"%{n}2", joined))
        operands[1:] = results
    if mask:
        inputs.append(("%m", mask))
    plain = tensor(f"{b}x{h}x{s}x{dv}", element)
    lines.append(attention(operands, plain, attributes, ("%m", mask) if mask else None))
    lines.append(swap("%y", "%0", f"{b}x{h}x{s}x{dv}", f"{b}x{s}x{h}x{dv}", element))
    return function(inputs, lines, [*results, ("%y", tensor(f"{b}x{s}x{h}x{dv}", element))])


def parts_of_one(batch: str, heads: int, rows: str, width: int, places: Sequence[int] = (0, 1, 2)) -> str:
    """Q, K and V as parts of one tensor; `places` are their indices."""
    whole, first = f"{batch}x{rows}x3x{heads}x{width}", f"3x{batch}x{heads}x{rows}x{width}"
    part = tensor(f"{batch}x{heads}x{rows}x{width}")
    lines = [swap("%t", "%x", whole, first, perm=PARTS)]
    for name, place in zip("qkv", places, strict=True):
        lines.append(f"%i{name} = onnx.Constant dense<{place}> : tensor<i64>")
        types = f"({tensor(first)}, tensor<i64>) -> {part}"
        lines.append(f'%{name} = "onnx.Gather"(%t, %i{name}) <{{axis = 0 : si64}}> : {types}')
    lines.append(attention([(f"%{name}", part) for name in "qkv"], part))
    return function([("%x", tensor(whole))], lines, [("%0", part)])
