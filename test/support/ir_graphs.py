"""Small functions as IR text, for tests of declarative patterns."""

from __future__ import annotations

from collections.abc import Sequence

T = "tensor<2x4xf32>"
"""The type of every value that has no other."""


def graph(*lines: str, inputs: Sequence[str] = (f"%x : {T}",), returns: str = "%y", results: str = T) -> str:
    """A function of lines `%r = Op %operand ... {attributes} [: result type]` and `%c = dense<2.0> : type`.

    Types are `T` where not given; `%none` is an input that is left out.
    """
    types: dict[str, str] = dict(piece.replace(" ", "").split(":") for piece in inputs)
    types["%none"] = "none"
    body = (
        ['  %none = "onnx.NoValue"() {value} : () -> none'] if any("none" in line for line in lines) else []
    )
    for line in lines:
        body.append("  " + _line(line, types))
    values = ", ".join(returns.split())
    signature = f"func.func @main({', '.join(inputs)}) -> ({results})"
    return "\n".join([f"{signature} {{", *body, f"  onnx.Return {values} : {results}", "}"])


def _line(line: str, types: dict[str, str]) -> str:
    attributes = ""
    if "{" in line:
        before, _, after = line.partition("{")
        inner, _, after = after.partition("}")
        attributes, line = f" {{{inner}}}", before + after
    text, _, given = (part.strip() for part in line.partition(" : "))
    names, _, rest = (part.strip() for part in text.partition("="))
    result = given or T
    results = names.split()
    for value in results:
        types[value] = result
    if "dense" in rest:
        return f"{names} = onnx.Constant {rest} : {result}"
    name, *operands = rest.split()
    operand_types = ", ".join(types[operand] for operand in operands)
    result_types = ", ".join([result] * len(results))
    arguments = f"({', '.join(operands)}){attributes} : ({operand_types}) -> ({result_types})"
    return f'{", ".join(results)} = "onnx.{name}"{arguments}'


def scalar(name: str, value: str, element: str = "f32") -> str:
    """A constant of rank 0."""
    return f"{name} = dense<{value}> : tensor<{element}>"
