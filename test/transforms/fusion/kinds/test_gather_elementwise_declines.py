"""Every reason why rows of tables are copied first, and why a body is no chain on them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fusion_reasons import checked, detected
from ir_graphs import graph

from onnxloom.transforms.fusion.kinds.gather_elementwise import GatherElementwiseFusion

W, IDS, R = "tensor<9x16xf32>", "tensor<2x3xi64>", "tensor<2x3x16xf32>"
INPUTS = (f"%w : {W}", f"%i : {IDS}")
ROWS = f"%g = Gather %w %i : {R}"


def chain(*lines: str, inputs: Sequence[str] = INPUTS, results: str = R) -> str:
    return graph(*lines, inputs=inputs, results=results)


FITS = chain(ROWS, f"%y = Neg %g : {R}")


def test_a_chain_that_fits() -> None:
    assert detected(GatherElementwiseFusion, FITS, "Gather") == 2
    assert checked(GatherElementwiseFusion(2), FITS) is None


def test_all_of_the_chain_and_its_lookups_join() -> None:
    text = chain(
        ROWS,
        f"%h = Gather %w %i : {R}",
        f"%a = Abs %x : {R}",
        f"%b = Add %a %h : {R}",
        f"%y = Add %b %g : {R}",
        inputs=(*INPUTS, f"%x : {R}"),
    )
    assert detected(GatherElementwiseFusion, text, "Gather") == 5


DETECTION = {
    "two readers": (
        chain(ROWS, f"%a = Neg %g : {R}", f"%y = Add %a %g : {R}"),
        "the rows are not read by one op alone",
    ),
    "known before kernels run": (
        chain(
            "%c = dense<[[1.0, 2.0]]> : tensor<1x2xf32>", "%p = dense<[0]> : tensor<1xi64>",
            "%g = Gather %c %p : tensor<1x2xf32>", "%y = Neg %g : tensor<1x2xf32>",
            results="tensor<1x2xf32>",
        ),
        "onnx.Gather computes from shapes and constants alone, before any kernel runs",
    ),
    "not elementwise": (chain(ROWS, f"%y = Softmax %g : {R}"), "onnx.Softmax is not elementwise"),
    "a result": (chain(ROWS.replace("%g", "%y")), "a value of the chain is a result of the graph"),
    "no kernel": (
        chain(ROWS.replace(R, "tensor<2x3x15xf32>"), f"%y = Neg %g : {R}"),
        "a lookup is not declared with the dims of its indices and of a row",
    ),
    "read elsewhere": (
        chain(ROWS, f"%a = Neg %g : {R}", f"%y = Abs %a : {R}", results=f"{R}, {R}")
        .replace("Return %y", "Return %y, %a"),
        "a value of the chain is read elsewhere",
    ),
    "two ends": (
        chain(ROWS, f"%a = Neg %g : {R}", f"%y = Abs %a : {R}", f"%z = Tanh %a : {R}", results=f"{R}, {R}")
        .replace("Return %y", "Return %y, %z"),
        "a value of the chain does not flow into its result",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DETECTION)
def test_why_there_is_no_chain(case: str) -> None:
    text, reason = DETECTION[case]
    assert detected(GatherElementwiseFusion, text, "Gather") == reason


def test_rows_that_a_branch_reads() -> None:
    text = f"""
func.func @f(%w: {W}, %i: {IDS}, %c: tensor<i1>) -> {R} {{
  %g = "onnx.Gather"(%w, %i) : ({W}, {IDS}) -> {R}
  %y = "onnx.If"(%c) ({{
    %a = "onnx.Neg"(%g) : ({R}) -> {R}
    "onnx.Yield"(%a) : ({R}) -> ()
  }}, {{
    %b = "onnx.RandomNormal"() {{shape = [2 : si64, 3 : si64, 16 : si64]}} : () -> {R}
    "onnx.Yield"(%b) : ({R}) -> ()
  }}) : (tensor<i1>) -> {R}
  onnx.Return %y : {R}
}}"""
    assert detected(GatherElementwiseFusion, text, "Gather") == "the rows are read in another block"


SHORT = "the rows of a table are too short, or their length is not known"
DECLARED = "a lookup is not declared with the dims of its indices and of a row"
UNKNOWN = "the rank of the table or of the result is not known, or too high"
NO_INDICES = "the rank of a table or of its indices is not known, or there is one index alone"
BESIDE = "onnx.Add reads an operand that has neither the dims of a row nor one element"
NO_FLOW = "a value of the chain does not flow into its result"


def added(operand: str) -> str:
    return chain(ROWS, f"%y = Add %g %z : {R}", inputs=(*INPUTS, f"%z : {operand}"))


BODIES = {
    "number of ops": (
        chain(ROWS, f"%a = Neg %g : {R}", f"%y = Neg %a : {R}"), "the body has 3 ops; expected 2",
    ),
    "no lookup": (
        chain(f"%a = Neg %x : {R}", f"%y = Neg %a : {R}", inputs=(f"%x : {R}",)),
        "no rows are looked up, or nothing is computed with them",
    ),
    "nothing computed": (
        chain(ROWS, f"%y = Gather %w %i : {R}"), "no rows are looked up, or nothing is computed with them",
    ),
    "a result without a rank": (
        chain(ROWS, "%y = Neg %g : tensor<*xf32>", results="tensor<*xf32>"), UNKNOWN,
    ),
    "a table without a rank": (FITS.replace(W, "tensor<*xf32>"), UNKNOWN),
    "many dims": (
        FITS.replace(R, "tensor<1x1x1x1x1x1x2x3x16xf32>").replace(IDS, "tensor<1x1x1x1x1x1x2x3xi64>"),
        UNKNOWN,
    ),
    "short rows": (FITS.replace("x16x", "x15x"), SHORT),
    "rows of unknown length": (FITS.replace("x16x", "x?x"), SHORT),
    "another row": (
        chain(ROWS, "%y = Neg %g : tensor<2x3x17xf32>", results="tensor<2x3x17xf32>"),
        "the result is not declared with the dims of a row",
    ),
    "a row alone": (
        chain("%g = Gather %w %i : tensor<16xf32>", "%y = Neg %g : tensor<16xf32>",
              inputs=(f"%w : {W}", "%i : tensor<i64>"), results="tensor<16xf32>"),
        "the result is not declared with the dims of a row",
    ),
    "one index": (
        chain("%g = Gather %w %i : tensor<16xf32>", "%y = Add %g %z : tensor<3x16xf32>",
              inputs=(f"%w : {W}", "%i : tensor<i64>", "%z : tensor<3x16xf32>"), results="tensor<3x16xf32>"),
        NO_INDICES,
    ),
    "indices without a rank": (FITS.replace(IDS, "tensor<*xi64>"), NO_INDICES),
    "the last axis": (
        FITS.replace("(%w, %i)", "(%w, %i) {axis = 1 : si64}"), "a lookup is not along the first axis",
    ),
    "a lookup without a rank": (chain(ROWS.replace(R, "tensor<*xf32>"), f"%y = Neg %g : {R}"), DECLARED),
    "a lookup of another rank": (
        chain(ROWS.replace(R, "tensor<3x16xf32>"), f"%y = Neg %g : {R}"), DECLARED,
    ),
    "a lookup of other rows": (
        chain(ROWS.replace(R, "tensor<2x3x8xf32>"), f"%y = Neg %g : {R}"), DECLARED,
    ),
    "not elementwise": (chain(ROWS, f"%y = Softmax %g : {R}"), "onnx.Softmax is not elementwise"),
    "an operand of another row": (added("tensor<8xf32>"), BESIDE),
    "an operand of a higher rank": (added("tensor<1x2x3x16xf32>"), BESIDE),
    "an operand of unknown dims": (added("tensor<2x3x?xf32>"), BESIDE),
    "an operand without a rank": (added("tensor<*xf32>"), NO_FLOW),
    "another result": (
        FITS.replace("Return %y", "Return %g"), "the body does not yield what its last op makes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BODIES)
def test_what_is_wrong_with_a_body(case: str) -> None:
    text, reason = BODIES[case]
    assert checked(GatherElementwiseFusion(2), text) == reason


def test_tables_of_other_rows() -> None:
    other = "tensor<9x1x16xf32>"
    text = chain(ROWS, f"%h = Gather %v %i : {R}", f"%y = Add %g %h : {R}", inputs=(*INPUTS, f"%v : {other}"))
    assert checked(GatherElementwiseFusion(3), text) == "the rows of two tables are not alike"


def test_a_value_that_goes_nowhere() -> None:
    for line in (f"%a = Neg %x : {R}", f"%a = Gather %w %i : {R}"):
        text = chain(ROWS, line, f"%y = Neg %g : {R}", inputs=(*INPUTS, f"%x : {R}"))
        assert checked(GatherElementwiseFusion(3), text) == NO_FLOW


def test_a_vector_along_an_axis() -> None:
    q, u = "tensor<9x16xui8>", "tensor<2x3x16xui8>"
    text = chain(
        f"%g = Gather %q %i : {u}",
        f"%y = DequantizeLinear %g %s %z {{axis = 1 : si64}} : {R}",
        inputs=(f"%q : {q}", f"%i : {IDS}", "%s : tensor<3xf32>", "%z : tensor<3xui8>"),
    )
    assert checked(GatherElementwiseFusion(2), text) == "onnx.DequantizeLinear reads a vector along an axis"
