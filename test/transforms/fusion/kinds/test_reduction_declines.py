"""Every reason why rows are reduced alone, why a chain ends, and why a body is none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fusion_reasons import checked, detected, stops
from ir_graphs import T, graph

from onnxloom.transforms.fusion.kinds.reduction import ReductionFusion

SUM = "onnx.ReduceSum"
AXES = "%axes = dense<[1]> : tensor<1xi64>"
ROWS = "tensor<2x1xf32>"
ALONE = "onnx.Softmax alone is not worth a fused op: "


def softmax(*lines: str, inputs: Sequence[str] = (f"%x : {T}",), results: str = T) -> str:
    """Neg, Softmax and further lines, the last of which makes %y."""
    return graph("%n = Neg %x", "%s = Softmax %n", *lines, inputs=inputs, results=results)


def reduce(*lines: str, attributes: str = "keepdims = 1 : si64", axes: str = AXES, result: str = ROWS) -> str:
    return graph(
        axes, "%n = Neg %x", f"%y = ReduceSum %n %axes {{{attributes}}} : {result}", *lines, results=result
    )


DETECTION = {
    "unknown rank": (
        graph("%y = Softmax %x : tensor<*xf32>", inputs=("%x : tensor<*xf32>",), results="tensor<*xf32>"),
        "Softmax",
        "the rank of an operand or of the result of onnx.Softmax is not known, or is 0",
    ),
    "half width": (
        graph("%y = Softmax %x : tensor<4xf16>", inputs=("%x : tensor<4xf16>",), results="tensor<4xf16>"),
        "Softmax",
        "onnx.Softmax of f16 to f16 is not fused",
    ),
    "not the last axis": (
        graph("%y = Softmax %x {axis = 0 : si64}"),
        "Softmax",
        "onnx.Softmax is not over the last axis",
    ),
    "no such axis": (
        graph("%y = Softmax %x {axis = 2 : si64}"),
        "Softmax",
        "axis 2 of onnx.Softmax is out of range",
    ),
    "axes that are not constant": (
        graph(f"%y = ReduceSum %x %a : {ROWS}", inputs=(f"%x : {T}", "%a : tensor<1xi64>"), results=ROWS),
        "ReduceSum",
        f"the axes of {SUM} are not constant",
    ),
    "no axes": (
        reduce(
            axes="%axes = dense<> : tensor<0xi64>", attributes="noop_with_empty_axes = 1 : si64", result=T
        ),
        "ReduceSum",
        f"{SUM} over no axes",
    ),
    "no axes given": (
        graph("%n = Neg %x", "%y = ReduceSum %n {noop_with_empty_axes = 1 : si64}"),
        "ReduceSum",
        f"{SUM} over no axes",
    ),
    "the first axis": (
        reduce(axes="%axes = dense<[0]> : tensor<1xi64>", result="tensor<1x4xf32>"),
        "ReduceSum",
        f"{SUM} reduces other axes than the last ones",
    ),
    "dims that are not those left": (
        reduce(result="tensor<4xf32>", attributes="keepdims = 0 : si64"),
        "ReduceSum",
        f"the result of {SUM} is not declared with the dims that are left",
    ),
    "unknown length": (
        graph(
            "%y = Softmax %x : tensor<2x?xf32>", inputs=("%x : tensor<2x?xf32>",), results="tensor<2x?xf32>"
        ),
        "Softmax",
        "the length of the rows of onnx.Softmax is not known",
    ),
    "another type of result": (
        graph("%n = Neg %x", "%y = Softmax %n : tensor<2x?xf32>", results="tensor<2x?xf32>"),
        "Softmax",
        "the result of onnx.Softmax has another type than its data",
    ),
    "another stash type": (
        graph(
            "%y = RMSNormalization %x %s {stash_type = 10 : si64}",
            inputs=(f"%x : {T}", "%s : tensor<4xf32>"),
        ),
        "RMSNormalization",
        "a stash type of onnx.RMSNormalization other than float",
    ),
    "a scale that is broadcast": (
        graph("%y = RMSNormalization %x %s", inputs=(f"%x : {T}", "%s : tensor<1xf32>")),
        "RMSNormalization",
        "scale or bias of onnx.RMSNormalization do not have the dims and type of a row",
    ),
    "known before kernels run": (
        graph(
            "%c = dense<[[1.0, 2.0]]> : tensor<1x2xf32>",
            "%y = Softmax %c : tensor<1x2xf32>",
            results="tensor<1x2xf32>",
        ),
        "Softmax",
        "onnx.Softmax computes from shapes and constants alone, before any kernel runs",
    ),
    "nothing around it": (
        graph("%y = Softmax %x"),
        "Softmax",
        f"{ALONE}a value of the chain is a result of the graph",
    ),
    "nobody reads it": (
        graph("%s = Softmax %x", "%y = Neg %x"),
        "Softmax",
        f"{ALONE}nothing outside reads the result of onnx.Softmax",
    ),
    "dims not proven": (
        graph(
            "%a = Add %x %z : tensor<?x4xf32>",
            "%y = Softmax %a : tensor<?x4xf32>",
            inputs=("%x : tensor<?x4xf32>", "%z : tensor<?x4xf32>"),
            results="tensor<?x4xf32>",
        ),
        "Softmax",
        "dim 0 of an operand is not proven to be that of the data",
    ),
    "no place for the data": (
        softmax("%y = Cast %s {to = 11 : si64} : tensor<2x4xf64>", results="tensor<2x4xf64>"),
        "Softmax",
        2,
    ),
}


@pytest.mark.parametrize("case", DETECTION)
def test_why_there_is_no_chain(case: str) -> None:
    text, anchor, reason = DETECTION[case]
    assert detected(ReductionFusion, text, anchor) == reason


JOINS = {
    "not elementwise": (
        softmax("%y = CumSum %s %z", inputs=(f"%x : {T}", "%z : tensor<i32>")),
        2,
        "onnx.CumSum is not elementwise",
    ),
    "a column": (
        softmax("%y = Mul %s %z", inputs=(f"%x : {T}", "%z : tensor<2x1xf32>")),
        2,
        "onnx.Mul reads an operand that is neither as large as the data nor a row",
    ),
    "a row": (softmax("%y = Mul %s %z", inputs=(f"%x : {T}", "%z : tensor<1x4xf32>")), 3, None),
    "larger": (
        softmax(
            "%y = Mul %s %z : tensor<3x2x4xf32>",
            inputs=(f"%x : {T}", "%z : tensor<3x2x4xf32>"),
            results="tensor<3x2x4xf32>",
        ),
        2,
        "the result of onnx.Mul is not declared with the dims of what it is computed with",
    ),
    "the data beside the result": (
        softmax("%y = Mul %s %n"),
        2,
        "onnx.Mul reads the data of the reduction beside its result",
    ),
    "an input that comes late": (
        softmax("%p = CumSum %s %z", "%y = Mul %s %p", inputs=(f"%x : {T}", "%z : tensor<i32>")),
        2,
        "an input of onnx.Mul is made after the chain has been read outside",
    ),
    "unknown rank": (
        softmax("%y = Mul %s %z", inputs=(f"%x : {T}", "%z : tensor<*xf32>")),
        2,
        "the rank of an operand of onnx.Mul is not known",
    ),
}


@pytest.mark.parametrize("case", JOINS)
def test_what_joins(case: str) -> None:
    text, count, reason = JOINS[case]
    assert detected(ReductionFusion, text, "Softmax") == count
    if reason is not None:
        assert reason in stops(ReductionFusion, text, "Softmax")


def test_a_chain_ends_at_the_largest_number_of_ops_and_inputs() -> None:
    lines = [f"%v{i} = Neg %{'x' if i == 0 else f'v{i - 1}'}" for i in range(40)]
    text = graph(*lines, "%s = Softmax %v39", *[line.replace("v", "w").replace("%x", "%s") for line in lines],
                 returns="%w39")  # fmt: skip
    assert detected(ReductionFusion, text, "Softmax") == 32
    assert "the chain has 32 ops already" in stops(ReductionFusion, text, "Softmax")
    adds = [f"%v{i + 1} = Add %{'s' if i == 0 else f'v{i}'} %i{i}" for i in range(13)]
    inputs = [f"%x : {T}", *(f"%i{i} : {T}" for i in range(13))]
    text = graph("%s = Softmax %x", *adds, inputs=inputs, returns="%v13")
    assert detected(ReductionFusion, text, "Softmax") == 12
    assert stops(ReductionFusion, text, "Softmax") == ["onnx.Add would give the kernel more than 12 inputs"]
    before = [f"%v{i + 1} = Add %{'x' if i == 0 else f'v{i}'} %i{i}" for i in range(13)]
    text = graph(*before, "%y = Softmax %v13", inputs=inputs)
    assert detected(ReductionFusion, text, "Softmax") == "the kernel would have 14 inputs; it takes 12"


def test_what_comes_before_joins() -> None:
    """Of ops before the reduction, those that nothing else reads, and that compute each element once."""
    assert detected(ReductionFusion, graph("%a = Abs %x", "%n = Neg %a", "%y = Softmax %n"), "Softmax") == 3
    shared = graph("%a = Abs %x", "%n = Neg %a", "%y = Softmax %n", returns="%y %a", results=f"{T}, {T}")
    assert detected(ReductionFusion, shared, "Softmax") == 2
    small = graph("%a = Abs %z : tensor<4xf32>", "%n = Mul %x %a", "%y = Softmax %n",
                  inputs=(f"%x : {T}", "%z : tensor<4xf32>"))  # fmt: skip
    assert detected(ReductionFusion, small, "Softmax") == 2
    diamond = graph("%a = Abs %x", "%n = Neg %a", "%m = Mul %n %a", "%y = Softmax %m")
    assert detected(ReductionFusion, diamond, "Softmax") == 4


TWO = graph("%n = Neg %x", "%y = Softmax %n")


def test_a_body_that_fits() -> None:
    assert checked(ReductionFusion(2, 1), TWO) is None


BODIES = {
    "another number of ops": (ReductionFusion(3, 1), TWO, "the body has 2 ops; expected 3"),
    "no reduction there": (ReductionFusion(2, 0), TWO, "onnx.Neg reduces no rows"),
    "behind the end": (ReductionFusion(2, 2), TWO, "the body has 2 ops; expected 2"),
    "a lead that leads elsewhere": (
        ReductionFusion(3, 2),
        graph("%n = Neg %x", "%m = Abs %x", "%y = Softmax %n"),
        "onnx.Abs does not make what is reduced",
    ),
    "an op that does not fit in front": (
        ReductionFusion(2, 1),
        graph("%n = CumSum %x %z", "%y = Softmax %n", inputs=(f"%x : {T}", "%z : tensor<i32>")),
        "onnx.CumSum is not elementwise",
    ),
    "an op that reads what comes before": (
        ReductionFusion(3, 1),
        graph("%n = Neg %x", "%s = Softmax %n", "%y = Mul %s %n"),
        "an op behind the reduction reads a value from before it",
    ),
    "a parameter that is made": (
        ReductionFusion(3, 2),
        graph(
            "%a = Abs %s : tensor<4xf32>",
            "%n = Neg %x : tensor<4xf32>",
            "%y = RMSNormalization %n %a : tensor<4xf32>",
            inputs=("%x : tensor<4xf32>", "%s : tensor<4xf32>"),
            results="tensor<4xf32>",
        ),
        "a parameter of onnx.RMSNormalization is made in the chain",
    ),
    "a value inside is a result": (
        ReductionFusion(3, 1),
        graph("%n = Neg %x", "%s = Softmax %n", "%y = Abs %s", returns="%y %s", results=f"{T}, {T}"),
        "a value inside of the chain is read outside",
    ),
    "the data is no result of its own": (
        ReductionFusion(3, 2),
        graph("%n = Neg %x", "%m = Abs %n", "%y = Softmax %m", returns="%y %n", results=f"{T}, {T}"),
        "a value inside of the chain is read outside",
    ),
    "the last value is no result": (
        ReductionFusion(2, 1),
        graph("%n = Neg %x", "%y = Softmax %n", returns="%n"),
        "nothing outside reads the result of onnx.Softmax",
    ),
    "no place for the data": (
        ReductionFusion(3, 1),
        graph(
            "%n = Neg %x",
            "%s = Softmax %n",
            "%y = Cast %s {to = 11 : si64} : tensor<2x4xf64>",
            results="tensor<2x4xf64>",
        ),
        "there is no place for the data: the last result has another type",
    ),
    "no place for the exponentials": (
        ReductionFusion(2, 0),
        graph(
            "%s = Softmax %x", "%y = Cast %s {to = 11 : si64} : tensor<2x4xf64>", results="tensor<2x4xf64>"
        ),
        "there is no place for the data: the last result has another type",
    ),
    "dims that no condition names": (
        ReductionFusion(2, 1),
        graph(
            "%a = Add %x %z : tensor<?x4xf32>",
            "%y = Softmax %a : tensor<?x4xf32>",
            inputs=("%x : tensor<?x4xf32>", "%z : tensor<?x4xf32>"),
            results="tensor<?x4xf32>",
        ),
        "no dim condition says that inputs 0 and 1 agree in dim 0",
    ),
    "an op that reads rows only": (
        ReductionFusion(2, 1),
        graph("%n = Neg %z", "%y = Softmax %n", inputs=("%z : tensor<1x4xf32>",)),
        "onnx.Neg reads nothing that has the dims of the data",
    ),
}


@pytest.mark.parametrize("case", BODIES)
def test_why_a_body_is_none(case: str) -> None:
    helper, text, reason = BODIES[case]
    assert checked(helper, text) == reason


def test_a_vector_along_an_axis_is_declined() -> None:
    image = "tensor<2x4x4x4xf32>"
    text = graph(
        f"%n = BatchNormalization %x %s %s %s %s : {image}", f"%y = Softmax %n : {image}",
        inputs=(f"%x : {image}", "%s : tensor<4xf32>"), results=image,
    )  # fmt: skip
    assert checked(ReductionFusion(2, 1), text) == "onnx.BatchNormalization reads a vector along an axis"


def test_a_mean_that_is_read_is_no_row() -> None:
    text = """
func.func @main(%x: tensor<2x4xf32>, %s: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>) {
  %y, %m, %d = "onnx.LayerNormalization"(%x, %s)
    : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, none)
  onnx.Return %y, %m : tensor<2x4xf32>, tensor<2x1xf32>
}"""
    reason = "onnx.LayerNormalization gives more than its first result"
    assert detected(ReductionFusion, text, "LayerNormalization") == reason
