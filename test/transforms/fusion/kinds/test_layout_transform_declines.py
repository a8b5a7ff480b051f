"""Every reason why moving ops run one by one, and why a body is no chain of them."""

from __future__ import annotations

import pytest
from channels_last_text import ints
from fusion_reasons import checked, detected, stops
from ir_graphs import graph

from onnxloom.transforms.fusion.kinds.layout_transform import LayoutTransformFusion

X = "%x : tensor<4x16x32xf32>"
ALONE = "onnx.Transpose alone is one copy already: "
SWAP, BACK = ints("perm", [1, 0, 2]), ints("perm", [0, 2, 1])
FIRST = f"%a = Transpose %x {{{SWAP}}} : tensor<16x4x32xf32>"
LAST = f"%y = Transpose %a {{{BACK}}} : tensor<16x32x4xf32>"


def i64(name: str, *values: int) -> str:
    return f"{name} = dense<{list(values)}> : tensor<{len(values)}xi64>"


def then(*lines: str, results: str, inputs: str = X, first: str = FIRST) -> str:
    """A Transpose to 16x4x32, then lines, the last of which makes %y."""
    return graph(first, *lines, inputs=(inputs,), results=results)


def sliced(start: int, end: int, axis: int, step: int, result: str, **given: str) -> str:
    bounds = [i64("%s", start), i64("%e", end), i64("%d", axis), i64("%t", step)]
    return then(*bounds, f"%y = Slice %a %s %e %d %t : {result}", results=result, **given)


def test_a_chain_that_fits() -> None:
    text = then(LAST, results="tensor<16x32x4xf32>")
    assert detected(LayoutTransformFusion, text, "Transpose") == 2
    assert checked(LayoutTransformFusion(), text) is None


MOVES = {
    "rank of the source": (
        then("%y = Transpose %a : tensor<*xf32>", results="tensor<*xf32>", inputs="%x : tensor<*xf32>"),
        "the rank of the source is not known",
    ),
    "empty source": (
        then(LAST, results="tensor<16x32x4xf32>", inputs="%x : tensor<4x16x0xf32>"),
        "the source has no elements",
    ),
    "element type": (
        then(LAST, results="tensor<16x32x4xf32>", inputs="%x : tensor<4x16x32xcomplex<f64>>"),
        "kernels do not copy elements of type complex<f64>",
    ),
    "rank of a result": (
        then("%y = Transpose %a : tensor<*xf32>", results="tensor<*xf32>"),
        "the rank of the result of onnx.Transpose is not known",
    ),
    "another rank": (
        then("%y = Transpose %a : tensor<16x32xf32>", results="tensor<16x32xf32>"),
        "the result of onnx.Transpose does not have the rank it is declared with",
    ),
    "another dim": (
        then(f"%y = Transpose %a {{{BACK}}} : tensor<16x31x4xf32>", results="tensor<16x31x4xf32>"),
        "dim 1 of the result of onnx.Transpose is declared as 31; expected 32",
    ),
    "no permutation": (
        then("%y = Transpose %a {perm = [0 : si64, 0 : si64, 1 : si64]} : tensor<16x16x4xf32>",
             results="tensor<16x16x4xf32>"),
        "the perm of onnx.Transpose is no permutation of 3 dims",
    ),
    "computing": (
        then("%y = Neg %a : tensor<16x4x32xf32>", results="tensor<16x4x32xf32>"),
        "onnx.Neg does more than move elements",
    ),
    "rank of a shape": (
        then(i64("%s", -1), "%y = Reshape %a %s : tensor<64x32xf32>", results="tensor<64x32xf32>"),
        "the result of onnx.Reshape does not have the rank it is declared with",
    ),
    "two dims not told": (
        graph(FIRST, "%y = Reshape %a %s : tensor<?x?xf32>", inputs=(X, "%s : tensor<2xi64>"),
              results="tensor<?x?xf32>"),
        "more than one dim of the result of onnx.Reshape is not known",
    ),
    "an empty result": (
        then(i64("%s", 0, -1), "%y = Reshape %a %s {allowzero = 1 : si64} : tensor<0x?xf32>",
             results="tensor<0x?xf32>"),
        "the result of onnx.Reshape has no elements",
    ),
    "dims that do not follow": (
        then(i64("%s", 5, -1), "%y = Reshape %a %s : tensor<5x?xf32>", results="tensor<5x?xf32>"),
        "the dims of the result of onnx.Reshape do not follow from those of its operand",
    ),
    "more elements": (
        then(i64("%s", 16, 256), "%y = Reshape %a %s : tensor<16x256xf32>", results="tensor<16x256xf32>"),
        "the dims of the result of onnx.Reshape do not follow from those of its operand",
    ),
    "fewer elements": (
        then(i64("%s", 16, 64), "%y = Reshape %a %s : tensor<16x64xf32>", results="tensor<16x64xf32>"),
        "the dims of the result of onnx.Reshape do not follow from those of its operand",
    ),
    "a cut through dims": (
        then(i64("%s", 8, 192), "%y = Reshape %a %s : tensor<8x192xf32>", results="tensor<8x192xf32>",
             inputs="%x : tensor<4x12x32xf32>",
             first=f"%a = Transpose %x {{{SWAP}}} : tensor<12x4x32xf32>"),
        "onnx.Reshape cuts through dims that are not next to each other in the source",
    ),
    "axes": (
        graph(FIRST, "%y = Unsqueeze %a %s : tensor<16x1x4x32xf32>", inputs=(X, "%s : tensor<1xi64>"),
              results="tensor<16x1x4x32xf32>"),
        "the axes of onnx.Unsqueeze are not constant",
    ),
    "no axes": (
        then("%y = Squeeze %a %none : tensor<16x4x32xf32>", results="tensor<16x4x32xf32>"),
        "the axes of onnx.Squeeze are not constant",
    ),
    "not 1": (
        then(i64("%s", 0), "%y = Squeeze %a %s : tensor<4x32xf32>", results="tensor<4x32xf32>"),
        "onnx.Squeeze takes out a dim that may not be 1",
    ),
    "bounds": (
        graph(FIRST, i64("%s", 0), "%y = Slice %a %s %e %none %none : tensor<?x4x32xf32>",
              inputs=(X, "%e : tensor<1xi64>"), results="tensor<?x4x32xf32>"),
        "the bounds of onnx.Slice are not constant",
    ),
    "number of bounds": (
        then(i64("%s", 0, 0), i64("%e", 1), "%y = Slice %a %s %e %none %none : tensor<1x4x32xf32>",
             results="tensor<1x4x32xf32>"),
        "the bounds of onnx.Slice are not as many as its axes",
    ),
    "an unknown dim": (
        sliced(0, 2, 1, 1, "tensor<16x?x32xf32>", inputs="%x : tensor<?x16x32xf32>",
               first=f"%a = Transpose %x {{{SWAP}}} : tensor<16x?x32xf32>"),
        "onnx.Slice cuts dim 1, the size of which is not known",
    ),
    "no step": (
        sliced(0, 2, 1, 0, "tensor<16x2x32xf32>"),
        "onnx.Slice goes through dim 1 in steps of 0 from 0",
    ),
    "backwards from outside": (
        sliced(-9, -20, 1, -1, "tensor<16x?x32xf32>"),
        "onnx.Slice goes through dim 1 in steps of -1 from -9",
    ),
    "nothing left": (sliced(2, 2, 1, 1, "tensor<16x0x32xf32>"), "the result of onnx.Slice has no elements"),
    "a cut of two rows": (
        then(i64("%r", 64, 32), "%b = Reshape %a %r : tensor<64x32xf32>", i64("%s", 0), i64("%e", 9),
             i64("%d", 0), i64("%t", 1), "%y = Slice %b %s %e %d %t : tensor<9x32xf32>",
             results="tensor<9x32xf32>"),
        "onnx.Slice cuts dim 0, which is not one row of the source",
    ),
    "indices": (
        then(i64("%i", 0, 1), "%y = Gather %a %i : tensor<2x4x32xf32>", results="tensor<2x4x32xf32>"),
        "onnx.Gather takes more than one constant index",
    ),
    "an index of rank 2": (
        then("%i = dense<[[0]]> : tensor<1x1xi64>", "%y = Gather %a %i : tensor<1x1x4x32xf32>",
             results="tensor<1x1x4x32xf32>"),
        "onnx.Gather takes more than one constant index",
    ),
    "an index outside": (
        then(i64("%i", 16), "%y = Gather %a %i : tensor<1x4x32xf32>", results="tensor<1x4x32xf32>"),
        "the index of onnx.Gather is not proven to be in its dim",
    ),
    "an index of an unknown dim": (
        then(i64("%i", 3), "%y = Gather %a %i {axis = 1 : si64} : tensor<16x1x32xf32>",
             results="tensor<16x1x32xf32>", inputs="%x : tensor<?x16x32xf32>",
             first=f"%a = Transpose %x {{{SWAP}}} : tensor<16x?x32xf32>"),
        "the index of onnx.Gather is not proven to be in its dim",
    ),
    "expanded to a lower rank": (
        then(i64("%s", 2), "%y = Expand %a %s : tensor<2xf32>", results="tensor<2xf32>"),
        "the result of onnx.Expand does not have the rank it is declared with",
    ),
    "expanded to more dims than declared": (
        then(i64("%s", 2, 16, 4, 32), "%y = Expand %a %s : tensor<16x4x32xf32>",
             results="tensor<16x4x32xf32>"),
        "the result of onnx.Expand does not have the rank it is declared with",
    ),
    "expanded where it is not 1": (
        then(i64("%s", 2, 1, 1), "%y = Expand %a %s : tensor<2x4x32xf32>", results="tensor<2x4x32xf32>"),
        "dim 0 of the result of onnx.Expand does not follow from its operand",
    ),
    "expanded to an unknown size": (
        graph(FIRST, "%y = Expand %a %s : tensor<?x16x4x32xf32>", inputs=(X, "%s : tensor<4xi64>"),
              results="tensor<?x16x4x32xf32>"),
        "dim 0 of the result of onnx.Expand does not follow from its operand",
    ),
    "something else": (
        graph(FIRST, f"%y = Transpose %z {{{BACK}}} : tensor<16x32x4xf32>",
              inputs=(X, "%z : tensor<16x4x32xf32>"), results="tensor<16x32x4xf32>"),
        "onnx.Transpose reads something else than the source and what is made of it",
    ),
    "first": (
        then(LAST, results="tensor<16x32x4xf32>").replace("onnx.Transpose", "onnx.Neg", 1),
        "the chain begins with onnx.Neg; expected an op that copies",
    ),
    "nothing saved": (
        then(i64("%s", 16, 128), "%y = Reshape %a %s : tensor<16x128xf32>", results="tensor<16x128xf32>"),
        "1 copies are needed in place of 1",
    ),
    "many loops": (
        graph(
            f"%a = Transpose %x {{{ints('perm', [6, 5, 4, 3, 2, 1, 0])}}} : tensor<16x2x2x2x2x2x2xf32>",
            f"%y = Transpose %a {{{ints('perm', [1, 2, 3, 4, 5, 6, 0])}}} : tensor<2x2x2x2x2x2x16xf32>",
            inputs=("%x : tensor<2x2x2x2x2x2x16xf32>",), results="tensor<2x2x2x2x2x2x16xf32>",
        ),
        "a copy with 7 loops",
    ),
    "short rows": (
        then(i64("%s", 16, 32), "%b = Reshape %a %s : tensor<16x32xf32>",
             "%y = Transpose %b {perm = [1 : si64, 0 : si64]} : tensor<32x16xf32>",
             results="tensor<32x16xf32>", inputs="%x : tensor<4x16x8xf32>",
             first=f"%a = Transpose %x {{{SWAP}}} : tensor<16x4x8xf32>"),
        "only 4 elements of a result lie next to each other in the source",
    ),
    "no rows": (
        then(i64("%s", 0), i64("%e", 32), i64("%d", 2), i64("%t", 2),
             "%b = Slice %a %s %e %d %t : tensor<16x4x16xf32>",
             f"%y = Transpose %b {{{BACK}}} : tensor<16x16x4xf32>", results="tensor<16x16x4xf32>"),
        "only 0 elements of a result lie next to each other in the source",
    ),
    "repeated": (
        then(f"%b = Transpose %a {{{BACK}}} : tensor<16x32x4xf32>", i64("%s", 2, 16, 32, 4),
             "%y = Expand %b %s : tensor<2x16x32x4xf32>", results="tensor<2x16x32x4xf32>"),
        "elements that are repeated would be transposed each time",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MOVES)
def test_what_is_wrong_with_a_body(case: str) -> None:
    text, reason = MOVES[case]
    assert checked(LayoutTransformFusion(), text) == reason


def many(count: int) -> str:
    """Transposes there and back again."""
    lines = [f"%a{i} = Transpose %a{i - 1} {{{BACK}}} : tensor<4x16x16xf32>" for i in range(1, count)]
    first = f"%a0 = Transpose %x {{{BACK}}} : tensor<4x16x16xf32>"
    return graph(
        first,
        *lines,
        inputs=("%x : tensor<4x16x16xf32>",),
        returns=f"%a{count - 1}",
        results="tensor<4x16x16xf32>",
    )


def test_a_chain_has_a_last_op() -> None:
    assert stops(LayoutTransformFusion, many(17), "Transpose") == ["the chain has 16 ops already"]
    assert checked(LayoutTransformFusion(), many(17)) == "the body has 17 ops; expected at most 16"


DETECTION = {
    "known before kernels run": (
        graph(
            "%c = dense<[[1.0, 2.0]]> : tensor<1x2xf32>", "%y = Transpose %c : tensor<2x1xf32>",
            results="tensor<2x1xf32>",
        ),
        "onnx.Transpose computes from shapes and constants alone, before any kernel runs",
    ),
    "nothing after it": (
        graph(FIRST.replace("%a", "%y"), inputs=(X,), results="tensor<16x4x32xf32>"),
        f"{ALONE}onnx.Return does more than move elements",
    ),
    "nobody reads it": (
        graph(FIRST, "%y = Neg %x : tensor<4x16x32xf32>", inputs=(X,), results="tensor<4x16x32xf32>"),
        f"{ALONE}nothing reads the result",
    ),
    "the source": (
        then(LAST, results="tensor<16x32x4xf32>", inputs="%x : tensor<4x16x0xf32>"),
        "the source has no elements",
    ),
    "read by what computes": (
        then("%y = Neg %a : tensor<16x4x32xf32>", results="tensor<16x4x32xf32>"),
        f"{ALONE}onnx.Neg does more than move elements",
    ),
    "read elsewhere": (
        then(LAST.replace("%y", "%b"), "%c = Neg %a : tensor<16x4x32xf32>", results="tensor<16x32x4xf32>")
        .replace("Return %y", "Return %b"),
        f"{ALONE}2 copies are needed in place of 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DETECTION)
def test_why_there_is_no_chain(case: str) -> None:
    text, reason = DETECTION[case]
    assert detected(LayoutTransformFusion, text, "Transpose") == reason
