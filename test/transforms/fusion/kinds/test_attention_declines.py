"""Every reason why an attention is not fused, why an op around it stays, and why a body is none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attention_text import PARTS, SWAP, attention, parts_of_one, swap, swapped_heads
from fusion_reasons import checked, detected

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.fusion.attention_sides import sides_of
from onnxloom.transforms.fusion.kinds.attention import AttentionFusion

NAMES = ("2", "4", "2", "5", "7", "8", "8")
FITS = swapped_heads(NAMES)
JOINED = swapped_heads(NAMES, past="?")
WHOLE = parts_of_one("2", 3, "5", 8)
INNER = {"q1": "tensor<2x4x5x8xf32>", "k1": "tensor<2x2x7x8xf32>", "0": "tensor<2x4x5x8xf32>"}
NOTHING = "no Transpose or Concat around the attention can be read through"
NO_MASK = "the mask of the attention does not have rank 2 to 4, or is one of one key"
NO_HEADS = "the query heads are not a known multiple of the key heads"
NO_WIDTH = "the width of a head is 0 or not known"


def found(text: str) -> str | int:
    return detected(AttentionFusion, text, "Attention")


def read_twice(text: str, value: str, type_: str) -> str:
    """The text with one more reader of a value."""
    return text.replace("onnx.Return", f'%more = "onnx.Neg"({value}) : ({type_}) -> {type_}\n  onnx.Return')


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def with_operand(index: int, type_: str) -> str:
    """One of the last operands given: 4 past key, 5 past value, 6 number of valid keys."""
    names, types = ["%none"] * 4, ["none"] * 4
    names[index - 3], types[index - 3] = "%z", type_
    return replaced(
        FITS,
        ("func.func @f(", f"func.func @f(%z: {type_}, "),
        ("%none, %none, %none, %none)", ", ".join(names) + ")"),
        ("none, none, none, none) ->", ", ".join(types) + ") ->"),
    )


@pytest.mark.parametrize("text, count", [(FITS, 5), (JOINED, 7), (WHOLE, 5)])
def test_what_fits(text: str, count: int) -> None:
    assert found(text) == count
    assert checked(AttentionFusion(), text) is None


DECLINES = {
    "rank 3": (
        replaced(
            FITS,
            (f"{INNER['q1']}, tensor", "tensor<2x5x32xf32>, tensor"),
            (f"-> {INNER['q1']}", "-> tensor<2x5x32xf32>"),
        ),
        "the operands of the attention do not have rank 4",
    ),
    "unknown rank": (
        replaced(FITS, (INNER["k1"], "tensor<*xf32>")),
        "the operands of the attention do not have rank 4",
    ),
    "nothing around it": (FITS.replace(SWAP, "perm = [0 : i64, 1 : i64, 2 : i64, 3 : i64]"), NOTHING),
    "keys joined to themselves": (
        replaced(
            JOINED,
            (
                "(%past_k, %k1) <{axis = 2 : si64}> : (tensor<2x2x?x8xf32>,",
                "(%k1, %k1) <{axis = 2 : si64}> : (tensor<2x2x7x8xf32>,",
            ),
        ),
        "an operand of the attention is made by moving another one",
    ),
    "queries are the mask": (
        replaced(
            swapped_heads(("1", "2", "2", "8", "8", "8", "8"), mask="tensor<1x2x8x8xf32>"),
            ("%v1, %m,", "%v1, %q1,"),
        ),
        "an operand of the attention is made by moving another one",
    ),
    "past keys of its own": (
        with_operand(4, "tensor<2x2x3x8xf32>"),
        "the attention has past keys or a number of valid keys of its own",
    ),
    "a number of valid keys": (
        with_operand(6, "tensor<2xi64>"),
        "the attention has past keys or a number of valid keys of its own",
    ),
    "present keys": (
        replaced(
            FITS,
            (
                "(tensor<2x4x5x8xf32>, none, none, none)",
                "(tensor<2x4x5x8xf32>, tensor<2x2x7x8xf32>, none, none)",
            ),
        ),
        "the attention has a second result",
    ),
    "a window to the left": (
        swapped_heads(NAMES, attributes="left_window_size = 2 : si64"),
        "attention within a window has no kernel",
    ),
    "a window to the right": (
        swapped_heads(NAMES, attributes="right_window_size = 2 : si64"),
        "attention within a window has no kernel",
    ),
    "softmax in another type": (
        swapped_heads(NAMES, attributes="softmax_precision = 11 : si64"),
        "attention with a softmax in another type has no kernel",
    ),
    "half width": (swapped_heads(NAMES, "f16"), "attention of element type f16 has no kernel"),
    "values of another type": (
        replaced(
            FITS,
            ("%v: tensor<2x7x2x8xf32>", "%v: tensor<2x7x2x8xf64>"),
            (
                f"(%v) <{{{SWAP}}}> : (tensor<2x7x2x8xf32>) -> tensor<2x2x7x8xf32>",
                f"(%v) <{{{SWAP}}}> : (tensor<2x7x2x8xf64>) -> tensor<2x2x7x8xf64>",
            ),
            ("tensor<2x2x7x8xf32>, none", "tensor<2x2x7x8xf64>, none"),
        ),
        "the operands of the attention differ in type",
    ),
    "past keys of another type": (
        replaced(
            JOINED,
            ("%past_k: tensor<2x2x?x8xf32>", "%past_k: tensor<2x2x?x8xf64>"),
            (
                "(%past_k, %k1) <{axis = 2 : si64}> : (tensor<2x2x?x8xf32>",
                "(%past_k, %k1) <{axis = 2 : si64}> : (tensor<2x2x?x8xf64>",
            ),
        ),
        "the operands of the attention differ in type",
    ),
    "an integer mask": (
        swapped_heads(NAMES, mask="tensor<5x7xi32>"),
        "the mask of the attention is neither of truth values nor of the type of the scores",
    ),
    "a mask of unknown rank": (
        swapped_heads(NAMES, mask="tensor<*xi1>"),
        "the mask of the attention is neither of truth values nor of the type of the scores",
    ),
    "a mask of rank 1": (swapped_heads(NAMES, mask="tensor<7xi1>"), NO_MASK),
    "a mask of one key": (swapped_heads(NAMES, mask="tensor<5x1xi1>"), NO_MASK),
    "heads that are not a multiple": (swapped_heads(("2", "3", "2", "5", "7", "8", "8")), NO_HEADS),
    "unknown query heads": (swapped_heads(("2", "?", "2", "5", "7", "8", "8")), NO_HEADS),
    "unknown key heads": (swapped_heads(("2", "4", "?", "5", "7", "8", "8")), NO_HEADS),
    "no key heads": (swapped_heads(("2", "4", "0", "5", "7", "8", "8")), NO_HEADS),
    "no width": (
        swapped_heads(("2", "4", "2", "5", "7", "0", "8"), attributes="scale = 1.0 : f32"),
        NO_WIDTH,
    ),
    "unknown width": (swapped_heads(("2", "4", "2", "5", "7", "?", "8")), NO_WIDTH),
    "nobody reads it": (
        replaced(FITS, ("onnx.Return %y : tensor<2x5x4x8xf32>", "onnx.Return %q : tensor<2x5x4x8xf32>")),
        "nothing reads the result of the attention",
    ),
}


@pytest.mark.parametrize("text, reason", list(DECLINES.values()), ids=list(DECLINES))
def test_declines(text: str, reason: str) -> None:
    assert found(text) == reason


def test_an_unknown_width_will_do_with_a_scale() -> None:
    assert found(swapped_heads(("2", "4", "2", "5", "7", "?", "8"), attributes="scale = 1.0 : f32")) == 5


def test_constants_are_attended_to_before_any_kernel_runs() -> None:
    lines = FITS.splitlines()
    for name, shape in (("q", "2x5x4x8"), ("k", "2x7x2x8"), ("v", "2x7x2x8")):
        lines.insert(1, f"  %{name} = onnx.Constant dense<1.0> : tensor<{shape}xf32>")
    lines[0] = "func.func @f() -> (tensor<2x5x4x8xf32>) {"
    reason = "the attention computes from constants alone, before any kernel runs"
    assert found("\n".join(lines)) == reason


# Ops that stay outside: how many are taken.

OTHER = "perm = [0 : i64, 1 : i64, 2 : i64, 3 : i64]"
SQUARE = swapped_heads(("2", "4", "4", "4", "4", "4", "4"))


def other_perm(text: str, value: str) -> str:
    return "\n".join(
        line.replace(SWAP, OTHER) if line.strip().startswith(f"%{value} =") else line
        for line in text.splitlines()
    )


STAYS = {
    "transposed queries read elsewhere": (read_twice(FITS, "%q1", INNER["q1"]), 4),
    "another Transpose of the keys": (other_perm(SQUARE, "k1"), 4),
    "another Transpose of the result": (other_perm(SQUARE, "y"), 4),
    "the result read elsewhere": (read_twice(FITS, "%0", INNER["0"]), 4),
    "the result read elsewhere before": (
        replaced(FITS, ("  %y =", '  %more = "onnx.Neg"(%0) : (T) -> T\n  %y ='.replace("T", INNER["0"]))),
        4,
    ),
    "transposed queries returned": (
        replaced(
            FITS,
            ("-> (tensor<2x5x4x8xf32>)", f"-> (tensor<2x5x4x8xf32>, {INNER['q1']})"),
            (
                "onnx.Return %y : tensor<2x5x4x8xf32>",
                f"onnx.Return %y, %q1 : tensor<2x5x4x8xf32>, {INNER['q1']}",
            ),
        ),
        4,
    ),
    "transposed queries of unknown rank": (
        replaced(
            FITS,
            ("%q: tensor<2x5x4x8xf32>", "%q: tensor<*xf32>"),
            (
                "(tensor<2x5x4x8xf32>) -> tensor<2x4x5x8xf32>\n  %k1",
                "(tensor<*xf32>) -> tensor<2x4x5x8xf32>\n  %k1",
            ),
        ),
        4,
    ),
    "joined keys read elsewhere": (read_twice(JOINED, "%k2", "tensor<2x2x?x8xf32>"), 5),
    "keys joined along another axis": (
        JOINED.replace('"onnx.Concat"(%past_k, %k1) <{axis = 2', '"onnx.Concat"(%past_k, %k1) <{axis = 0'),
        5,
    ),
    "past keys of unknown rank": (
        replaced(
            JOINED,
            ("%past_k: tensor<2x2x?x8xf32>", "%past_k: tensor<*xf32>"),
            (
                "(%past_k, %k1) <{axis = 2 : si64}> : (tensor<2x2x?x8xf32>",
                "(%past_k, %k1) <{axis = 2 : si64}> : (tensor<*xf32>",
            ),
        ),
        5,
    ),
    "new keys in front": (
        replaced(
            JOINED,
            (
                "(%past_k, %k1) <{axis = 2 : si64}> : (tensor<2x2x?x8xf32>, tensor<2x2x7x8xf32>)",
                "(%k1, %past_k) <{axis = 2 : si64}> : (tensor<2x2x7x8xf32>, tensor<2x2x?x8xf32>)",
            ),
        ),
        5,
    ),
    "three pieces": (
        replaced(
            JOINED,
            ("(%past_k, %k1) <{axis = 2 : si64}> : (", "(%past_k, %k1, %past_k) <{axis = 2 : si64}> : ("),
            (
                "tensor<2x2x?x8xf32>, tensor<2x2x7x8xf32>) -> tensor<2x2x?x8xf32>\n",
                "tensor<2x2x?x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x?x8xf32>) -> tensor<2x2x?x8xf32>\n",
            ),
        ).replace("(%past_v, %v1)", "(%past_v, %v1, %past_v)"),
        3,
    ),
}


@pytest.mark.parametrize("text, count", list(STAYS.values()), ids=list(STAYS))
def test_ops_that_stay(text: str, count: int) -> None:
    assert found(text) == count


PIECES = {
    "read elsewhere": read_twice(WHOLE, "%t", "tensor<3x2x3x5x8xf32>"),
    "a part read elsewhere": read_twice(WHOLE, "%q", "tensor<2x3x5x8xf32>"),
    "other dims": parts_of_one("2", 2, "2", 8).replace(PARTS, PARTS.replace("0 : i64, 3", "3 : i64, 0")),
    "another axis": WHOLE.replace("%iv) <{axis = 0", "%iv) <{axis = 1"),
    "a place that is not there": WHOLE.replace("dense<2>", "dense<3>"),
    "a place before the first": WHOLE.replace("dense<2>", "dense<-4>"),
    "a place that is not known": WHOLE.replace("%iv = onnx.Constant dense<2> : tensor<i64>", "").replace(
        "func.func @f(", "func.func @f(%iv: tensor<i64>, "
    ),
    "parts of no Transpose": WHOLE.replace(f'"onnx.Transpose"(%x) <{{{PARTS}}}>', '"onnx.Identity"(%x)'),
}


@pytest.mark.parametrize("text", list(PIECES.values()), ids=list(PIECES))
def test_parts_that_stay(text: str) -> None:
    assert found(text) == NOTHING


# The check of a body.


def test_bodies_that_are_none() -> None:
    helper = AttentionFusion()
    lines = [line for line in FITS.splitlines() if "onnx.Attention" not in line and "%y =" not in line]
    without = "\n".join(lines).replace("%y : tensor<2x5x4x8xf32>", "%q1 : tensor<2x4x5x8xf32>")
    without = without.replace("-> (tensor<2x5x4x8xf32>)", "-> (tensor<2x4x5x8xf32>)")
    assert checked(helper, without) == "there is no attention in the body"
    assert checked(helper, read_twice(FITS, "%q", "tensor<2x5x4x8xf32>")) == (
        "onnx.Neg is not read through by the attention"
    )
    inside = replaced(
        WHOLE,
        ("onnx.Return %0 : tensor<2x3x5x8xf32>", "onnx.Return %pk : none"),
        ("-> (tensor<2x3x5x8xf32>) {", "-> (none) {"),
    )
    assert checked(helper, inside) == "a value inside of the chain is read outside"
    assert checked(helper, other_perm(SQUARE, "k1")) == "onnx.Transpose is not read through by the attention"
    assert checked(helper, swapped_heads(NAMES, "f16")) == "attention of element type f16 has no kernel"


def test_parts_at_several_places_are_none() -> None:
    listed = replaced(
        WHOLE,
        ("%iv = onnx.Constant dense<2> : tensor<i64>", "%iv = onnx.Constant dense<2> : tensor<2xi64>"),
        (
            "(%t, %iv) <{axis = 0 : si64}> : (tensor<3x2x3x5x8xf32>, tensor<i64>)",
            "(%t, %iv) <{axis = 0 : si64}> : (tensor<3x2x3x5x8xf32>, tensor<2xi64>)",
        ),
    )
    assert checked(AttentionFusion(), listed) == NOTHING


# Ops of other blocks.

BRANCH = """
func.func @f(%c: tensor<i1>, %q: tensor<2x5x4x8xf32>, %p: tensor<2x4x3x8xf32>) -> tensor<2x4x5x8xf32> {{
  %none = "onnx.NoValue"() <{{value}}> : () -> none
  {outside}
  %r = "onnx.If"(%c) ({{
    {inside}
    "onnx.Yield"(%z) : (tensor<2x4x5x8xf32>) -> ()
  }}, {{
    %e = onnx.Constant dense<0.0> : tensor<2x4x5x8xf32>
    "onnx.Yield"(%e) : (tensor<2x4x5x8xf32>) -> ()
  }}) : (tensor<i1>) -> tensor<2x4x5x8xf32>
  onnx.Return %r : tensor<2x4x5x8xf32>
}}"""
HEADS = "tensor<2x4x5x8xf32>"
MOVE = swap("%k", "%q", "2x5x4x8", "2x4x5x8")
ATTEND = attention([("%k", HEADS)] * 3, HEADS)
BACK = swap("%w", "%0", "2x4x5x8", "2x5x4x8")
OWN = '%z = "onnx.Neg"(%0) : (T) -> T'.replace("T", HEADS)
LONG = "tensor<2x4x8x8xf32>"
JOIN = f'%j = "onnx.Concat"(%p, %k) <{{axis = 2 : si64}}> : (tensor<2x4x3x8xf32>, {HEADS}) -> {LONG}'
TAKE = f'%k = "onnx.Gather"(%t, %i) <{{axis = 0 : si64}}> : (tensor<3x2x4x5x8xf32>, tensor<i64>) -> {HEADS}'
PIECE = [
    '%o = "onnx.Identity"(%x) : (T) -> T'.replace("T", "tensor<2x5x3x4x8xf32>"),
    swap("%t", "%o", "2x5x3x4x8", "3x2x4x5x8", perm=PARTS),
    "%i = onnx.Constant dense<0> : tensor<i64>",
]


def taken(outside: Sequence[str], inside: Sequence[str]) -> list[str]:
    text = BRANCH.format(outside="\n  ".join(outside), inside="\n    ".join(inside))
    if "%x" in text:
        text = text.replace("(%c: tensor<i1>,", "(%c: tensor<i1>, %x: tensor<2x5x3x4x8xf32>,")
    ops = list(parse_module(text).walk())
    return [op.name for op in sides_of(next(op for op in ops if isinstance(op, onnx.AttentionOp))).ops]


def test_ops_of_other_blocks_stay() -> None:
    alone, both = ["onnx.Attention"], ["onnx.Transpose", "onnx.Attention"]
    assert taken([], [MOVE, ATTEND, OWN]) == both
    assert taken([MOVE], [ATTEND, OWN]) == alone
    used = '%z = "onnx.Reshape"(%w, %s) : (tensor<2x5x4x8xf32>, tensor<4xi64>) -> tensor<2x4x5x8xf32>'
    used = f"%s = onnx.Constant dense<[2, 4, 5, 8]> : tensor<4xi64>\n{used}"
    assert taken([MOVE, ATTEND], [BACK, used]) == both
    assert taken([MOVE], [ATTEND, BACK, used]) == [*alone, "onnx.Transpose"]


def test_parts_of_other_blocks_stay() -> None:
    own = [TAKE, ATTEND, OWN]
    assert taken([], [*PIECE, *own]) == ["onnx.Transpose", "onnx.Gather", "onnx.Attention"]
    assert taken(PIECE, own) == ["onnx.Attention"]


def test_joined_keys_that_another_block_returns_stay() -> None:
    attend = attention([("%q1", HEADS), ("%j", LONG), ("%j", LONG)], HEADS)
    query = '%q1 = "onnx.Neg"(%k2) : (T) -> T'.replace("T", HEADS)
    before = [MOVE, MOVE.replace("%k =", "%k2 ="), query, JOIN, attend]
    assert taken([*before], [OWN])[:2] == ["onnx.Transpose", "onnx.Concat"]
    given = BRANCH.replace("(%z) : (tensor<2x4x5x8xf32>)", "(%j) : (tensor<2x4x8x8xf32>)")
    text = given.format(outside="\n  ".join(before), inside="")
    ops = list(parse_module(text).walk())
    sides = sides_of(next(op for op in ops if isinstance(op, onnx.AttentionOp)))
    assert [op.name for op in sides.ops] == ["onnx.Attention"]


def test_queries_are_not_joined() -> None:
    """Keys and values are; the queries that are the joined keys are read as such."""
    same = replaced(
        JOINED,
        ('"onnx.Attention"(%q1, %k2', '"onnx.Attention"(%k2, %k2'),
        ("(tensor<2x4x5x8xf32>, tensor<2x2x?x8xf32>", "(tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>"),
    )
    expected = "an operand of the attention is made by moving another one"
    assert checked(AttentionFusion(), same) == expected
