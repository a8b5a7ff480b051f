"""FunctionAttention: values in each spelling, and why it declines."""

# ruff: noqa: E501 (lines of IR text)

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import float_attr, is_none
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.attention.function_attention import FunctionAttentionPattern as Pattern

SHAPES = {"q": "2x4x5x8", "k": "2x4x7x8", "v": "2x4x7x6", "s": "2x4x5x7", "m": "5x7"}


def attention(
    *,
    scores: str = "%s1 = onnx.Mul(%s0, %c)",
    last: str = "%s1",
    keys: str = "[0, 1, 3, 2]",
    queries: str = "%q",
    probabilities: str = "%p",
    after: str = "",
    axis: int = -1,
    returned: str = "%y",
    shapes: dict[str, str] | None = None,
    mask: str | None = None,
    element: str = "f32",
) -> str:
    """Attention in short form: `%r = onnx.Op(%a, %b)` stands for a line of generic text."""
    shape = {**SHAPES, **(shapes or {})}
    mask = mask or f"tensor<{shape['m']}x{element}>"
    lines = [
        f"%c = onnx.Constant dense<0.5> : tensor<{element}>",
        f"%zero = onnx.Constant dense<0.0> : tensor<{element}>",
        f"%low = onnx.Constant dense<-1.000000e+04> : tensor<{element}>",
        f'%kt = "onnx.Transpose"(%k) <{{perm = {keys}}}> : (tensor<{shape["k"]}x{element}>) -> tensor<*x{element}>',
        *([_line("%qs = onnx.Mul(%q, %c)", element, shape, mask)] if queries == "%qs" else []),
        _line(f"%s0 = onnx.MatMul({queries}, %kt)", element, shape, mask),
        *[_line(line, element, shape, mask) for line in filter(None, scores.split("\n"))],
        f'%p = "onnx.Softmax"({last}) <{{axis = {axis} : si64}}> : (tensor<*x{element}>) -> tensor<*x{element}>',
        *[_line(line, element, shape, mask) for line in filter(None, after.split("\n"))],
        _line(f"%y = onnx.MatMul({probabilities}, %v)", element, shape, mask),
    ]
    arguments = ", ".join(f"%{n}: tensor<{shape[n]}x{element}>" for n in ("q", "k", "v"))
    types = ", ".join([f"tensor<*x{element}>"] * len(returned.split(",")))
    body = "\n      ".join(lines)
    return f"""
    func.func @f({arguments}, %m: {mask}) -> ({types}) {{
      {body}
      onnx.Return {returned} : {types}
    }}"""


def _line(short: str, element: str, shape: dict[str, str], mask: str) -> str:
    result, _, call = short.strip().partition(" = ")
    name, _, operands = call.rstrip(")").partition("(")
    values = [value.strip() for value in operands.split(",")]
    scalars = dict.fromkeys(("%c", "%zero", "%low"), f"tensor<{element}>")
    named = {f"%{n}": f"tensor<{shape[n]}x{element}>" for n in ("q", "k", "v")}
    known = {**scalars, **named, "%m": mask, "%nan": "tensor<*xi1>", "%b": f"tensor<*x{element}>"}
    types = ", ".join(known.get(value, f"tensor<*x{element}>") for value in values)
    made = "i1" if name in ("onnx.IsNaN", "onnx.Not") else element
    return f'{result} = "{name}"({operands}) : ({types}) -> tensor<*x{made}>'


GUARD = "%nan = onnx.IsNaN(%p)\n%p1 = onnx.Where(%nan, %zero, %p)"


def the_op(module: ModuleOp) -> onnx.AttentionOp:
    (op,) = [op for op in module.walk() if isinstance(op, onnx.AttentionOp)]
    assert not any(isinstance(op, onnx.SoftmaxOp | onnx.MatMulOp) for op in module.walk())
    return op


@pytest.mark.parametrize(
    ("changes", "scale"),
    [
        ({}, 0.5),
        ({"scores": "%s1 = onnx.Mul(%c, %s0)"}, 0.5),
        ({"scores": "%s1 = onnx.Div(%s0, %c)"}, 2.0),
        ({"scores": "", "last": "%s0"}, 1.0),
        ({"queries": "%qs"}, 0.25),
        ({"queries": "%qs", "scores": "", "last": "%s0"}, 0.5),
        ({"keys": "[0, 2, 3, 1]", "shapes": {"k": "2x7x4x8"}}, 0.5),
        ({"axis": 3}, 0.5),
        ({"shapes": {"q": "?x4x?x8", "k": "?x4x?x8", "v": "?x4x?x6"}}, None),
    ],
)
def test_spellings(changes: dict[str, str], scale: float | None):
    if scale is None:
        assert "may be broadcast" in decline_reason(attention(**changes), Pattern)  # pyright: ignore
        return
    op = the_op(check_pattern(attention(**changes), Pattern, special_free(changes)))  # pyright: ignore
    assert float_attr(op, "scale") == scale and is_none(op.attn_mask)


def special_free(changes: dict[str, object], mask: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Ordinary numbers: NaN and inf spread differently where a sum is computed in another order."""
    rng = np.random.default_rng(0)
    shape = {**SHAPES, **changes.get("shapes", {})}  # pyright: ignore
    feeds = {n: rng.standard_normal([int(d) for d in shape[n].split("x")]).astype("f4") for n in "qkvm"}
    return feeds if mask is None else {**feeds, "m": mask}


@pytest.mark.parametrize("order", ["%s1, %b", "%b, %s1"])
def test_an_added_mask_of_finite_numbers(order: str):
    scores = f"%s1 = onnx.Mul(%s0, %c)\n%b = onnx.Mul(%m, %low)\n%s2 = onnx.Add({order})"
    text = attention(scores=scores, last="%s2")
    assert "may hide all keys" in decline_reason(text, Pattern)
    cast = '%b = "onnx.Cast"(%m) <{to = 1 : si64}> : (tensor<5x7xi64>) -> tensor<*xf32>'
    text = attention(
        scores=scores.replace("%b = onnx.Mul(%m, %low)\n", ""), last="%s2", mask="tensor<5x7xi64>"
    )
    text = text.replace("%s0 =", f"{cast}\n      %s0 =")
    mask = np.random.default_rng(1).integers(-3, 3, (5, 7))
    assert not is_none(the_op(check_pattern(text, Pattern, special_free({}, mask))).attn_mask)


def test_a_mask_of_truth_values_with_a_guard():
    scores = "%s1 = onnx.Mul(%s0, %c)\n%s2 = onnx.Where(%m, %s1, %inf)"
    text = attention(scores=scores, last="%s2", mask="tensor<5x7xi1>", after=GUARD, probabilities="%p1")
    text = with_infinity(text)
    mask = np.random.default_rng(1).random((5, 7)) < 0.3
    mask[2] = False
    op = the_op(check_pattern(text, Pattern, special_free({}, mask)))
    assert not is_none(op.attn_mask)
    without = with_infinity(attention(scores=scores, last="%s2", mask="tensor<5x7xi1>"))
    assert "may hide all keys" in decline_reason(without, Pattern)
    finite = with_infinity(text.replace("0xFF800000", "-1.000000e+04"))
    assert "another score than -inf" in decline_reason(finite, Pattern)


def with_infinity(text: str) -> str:
    text = text.replace("(%m, %s1, %inf) : (tensor<5x7xi1>, tensor<*xf32>, tensor<*xf32>)",
                        "(%m, %s1, %inf) : (tensor<5x7xi1>, tensor<*xf32>, tensor<f32>)")  # fmt: skip
    if "%inf =" in text:
        return text
    return text.replace("%zero =", "%inf = onnx.Constant dense<0xFF800000> : tensor<f32>\n      %zero =", 1)


@pytest.mark.parametrize("hidden", [False, True])
def test_a_constant_causal_mask_hides_no_row(hidden: bool):
    rows = [[0.0 if j <= i + 2 and not (hidden and i == 1) else None for j in range(7)] for i in range(5)]
    words = ", ".join(
        "[" + ", ".join("0xFF800000" if x is None else "0.0" for x in row) + "]" for row in rows
    )
    text = attention(scores="%s1 = onnx.Mul(%s0, %c)\n%s2 = onnx.Add(%s1, %b)", last="%s2")
    text = text.replace(
        "tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>\n      %p",
        "tensor<*xf32>, tensor<5x7xf32>) -> tensor<*xf32>\n      %p",
    )
    text = text.replace("%zero =", f"%b = onnx.Constant dense<[{words}]> : tensor<5x7xf32>\n      %zero =", 1)
    if hidden:
        assert "may hide all keys" in decline_reason(text, Pattern)
    else:
        the_op(check_pattern(text, Pattern, special_free({})))


def masked(mask: str, shapes: dict[str, str] | None = None) -> str:
    """With a guard, so that the values of the mask do not matter."""
    scores = "%s1 = onnx.Mul(%s0, %c)\n%s2 = onnx.Add(%s1, %m)"
    return attention(scores=scores, last="%s2", mask=mask, after=GUARD, probabilities="%p1", shapes=shapes)


@pytest.mark.parametrize("dims", ["5x7", "1x7", "4x5x7", "2x1x1x7", "2x4x5x7"])
def test_masks_that_are_broadcast(dims: str):
    mask = np.random.default_rng(1).standard_normal([int(d) for d in dims.split("x")]).astype("f4")
    the_op(check_pattern(masked(f"tensor<{dims}xf32>"), Pattern, special_free({}, mask)))


@pytest.mark.parametrize(
    ("mask", "shapes", "reason"),
    [
        ("tensor<7xf32>", {}, "no rank from 2"),
        ("tensor<5x1xf32>", {}, "fewer keys"),
        ("tensor<5x?xf32>", {}, "fewer keys"),
        ("tensor<2x4x5x7xf32>", {"q": "2x4x1x8"}, "more dims"),
        ("tensor<?x7xf32>", {}, "more dims"),
    ],
)
def test_masks_that_are_not(mask: str, shapes: dict[str, str], reason: str):
    assert reason in decline_reason(masked(mask, shapes), Pattern)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"probabilities": "%s1"}, "no Softmax"),
        ({"axis": 2}, "not over the last axis of rank 4"),
        ({"shapes": {"q": "4x5x8", "k": "4x7x8", "v": "4x7x6"}, "keys": "[0, 2, 1]"}, "rank 4"),
        ({"returned": "%y, %p"}, "reads the probabilities"),
        ({"after": GUARD, "probabilities": "%p1", "returned": "%y, %p1"}, "the probabilities without NaN"),
        ({"after": GUARD, "probabilities": "%p1", "returned": "%y, %nan"}, "the probabilities without NaN"),
        ({"after": GUARD.replace("%zero", "%c"), "probabilities": "%p1"}, "no Softmax"),
        ({"after": GUARD.replace("IsNaN(%p)", "IsNaN(%s1)"), "probabilities": "%p1"}, "no Softmax"),
        ({"scores": "%s1 = onnx.Tanh(%s0)"}, "no matrix product"),
        ({"returned": "%y, %s0"}, "else reads the scores"),
        ({"returned": "%y, %s1"}, "else reads the scores"),
        ({"keys": "[1, 0, 3, 2]", "shapes": {"k": "4x2x7x8"}}, "in another way"),
        ({"shapes": {"k": "1x4x7x8"}}, "may be broadcast"),
        ({"shapes": {"v": "2x1x7x6"}}, "may be broadcast"),
        ({"shapes": {"v": "7x6"}}, "not all rank 4"),
        ({"scores": "%s1 = onnx.Mul(%s0, %low)"}, "not positive"),
        ({"scores": "%s1 = onnx.Mul(%s0, %zero)"}, "not positive"),
        ({"shapes": {"q": "2x?x5x8"}}, "heads is not known"),
        ({"shapes": {"q": "2x4x5x0", "k": "2x4x7x0"}}, "heads is not known"),
    ],
)
def test_declines(changes: dict[str, str], reason: str):
    text = attention(**changes)  # pyright: ignore
    if "%nan" in changes.get("returned", ""):
        text = text.replace("-> (tensor<*xf32>, tensor<*xf32>)", "-> (tensor<*xf32>, tensor<*xi1>)")
        text = text.replace("%nan : tensor<*xf32>, tensor<*xf32>", "%nan : tensor<*xf32>, tensor<*xi1>")
    assert reason in decline_reason(text, Pattern)


def test_keys_that_are_not_transposed():
    text = attention().replace("onnx.MatMul\"(%q, %kt) : (tensor<2x4x5x8xf32>, tensor<*xf32>)",
                               "onnx.MatMul\"(%q, %m) : (tensor<2x4x5x8xf32>, tensor<2x4x8x7xf32>)")  # fmt: skip
    text = text.replace("%m: tensor<5x7xf32>", "%m: tensor<2x4x8x7xf32>")
    assert "keys are not transposed" in decline_reason(text, Pattern)


def test_a_double_scale_that_is_no_f32():
    assert the_op(check_pattern(attention(element="f64"), Pattern, doubles()))
    text = attention(element="f64").replace("dense<0.5>", "dense<0.1>")
    assert "no f32 number" in decline_reason(text, Pattern)


def doubles() -> dict[str, np.ndarray]:
    return {name: array.astype("f8") for name, array in special_free({}).items()}


def test_a_shared_transpose_stays():
    text = attention(returned="%y, %kt")
    module = check_pattern(text, Pattern, special_free({}))
    assert any(isinstance(op, onnx.TransposeOp) for op in module.walk())


def test_older_models_keep_the_parts():
    with pytest.raises(AssertionError, match="did not fire"):
        check_pattern(attention(), Pattern, special_free({}), opset=22)
