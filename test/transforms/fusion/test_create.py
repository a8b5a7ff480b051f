"""The creation pass: order, disjoint claims, further rounds, the report, and time linear in the ops."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Self

import pytest
from calls import count_calls
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.errors import PassError
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.create import FuseOpsPass, fuse_ops
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.kinds.elementwise import ElementwiseFusion
from onnxloom.transforms.fusion.kinds.matmul_epilogue import MatMulEpilogueFusion
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.report import FusionReport

T = "tensor<4x4xf32>"


def module_of(lines: list[str], returned: str) -> ModuleOp:
    body = "\n".join(lines)
    return parse_module(f"func.func @f(%x: {T}) -> {T} {{\n{body}\nonnx.Return %{returned} : {T}\n}}")


def unary(result: str, op: str, operand: str) -> str:
    return f'%{result} = "onnx.{op}"(%{operand}) : ({T}) -> {T}'


def binary(result: str, op: str, left: str, right: str) -> str:
    return f'%{result} = "onnx.{op}"(%{left}, %{right}) : ({T}, {T}) -> {T}'


def chain(length: int) -> ModuleOp:
    lines = [unary(f"v{i}", "Neg", f"v{i - 1}" if i else "x") for i in range(length)]
    return module_of(lines, f"v{length - 1}")


def fused_ops(module: ModuleOp) -> list[onnx.FusedOp]:
    return [op for op in module.walk() if isinstance(op, onnx.FusedOp)]


def op_counts(module: ModuleOp) -> list[int]:
    return [len(ElementwiseFusion.retrieve_ops_and_output_values(op).ops) for op in fused_ops(module)]


def run(module: ModuleOp, options: FuseOpsPass | None = None) -> FusionReport:
    step = options or FuseOpsPass()
    step.apply(make_context(), module)
    module.verify()
    return step.report


def test_a_long_chain_is_cut_into_pieces_of_the_largest_size():
    module = chain(150)
    report = run(module)
    limit = ElementwiseFusion.max_op_count
    assert op_counts(module) == [limit, limit, 150 - 2 * limit]
    assert len(report.chains) == 3


def test_what_a_better_kind_leaves_over_is_fused_too():
    # The product takes Add and Neg; the chain that also had them is looked at again without them.
    lines = [
        unary("a", "Sin", "x"),
        binary("m", "MatMul", "x", "a"),
        binary("s", "Add", "m", "a"),
        unary("n", "Neg", "s"),
        unary("o", "Softmax", "n"),
        binary("p", "Mul", "o", "n"),
        unary("q", "Abs", "p"),
    ]
    module = module_of(lines, "q")
    report = run(module)
    assert [(c.kind, c.ops) for c in report.chains] == [
        ("onnx.matmul_epilogue", ("MatMul", "Add", "Neg")),
        ("onnx.elementwise", ("Mul", "Abs")),
    ]


def test_two_chains_that_would_wait_for_each_other_are_not_both_built():
    # Sin -> Cos through a Softmax of Exp, and Exp -> Abs through a Softmax of Sin: each chain alone has
    # a place, whichever stands first takes it from the other.
    lines = [
        unary("a", "Sin", "x"),
        unary("b", "Exp", "x"),
        unary("sa", "Softmax", "a"),
        unary("sb", "Softmax", "b"),
        binary("c", "Mul", "a", "sb"),
        binary("d", "Mul", "b", "sa"),
        binary("e", "MatMul", "c", "d"),
    ]
    module = module_of(lines, "e")
    run(module, FuseOpsPass(kinds=("onnx.elementwise",)))
    assert sum(op_counts(module)) == 4 or len(fused_ops(module)) <= 1
    assert_defined_before_used(module)


class Greedy(FusionOpKindHelper):
    """Claims a Neg and what reads it, and forgets that the Neg is read elsewhere too."""

    kind: ClassVar[str] = "test.greedy"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.NegOp,)
    max_op_count: ClassVar[int] = 1000

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        reader = next(iter(anchor.results[0].uses)).operation
        return Match(cls(), (anchor, reader), reader.results)

    def verify(self, body: Body) -> Miss | None:
        return None


def test_a_claim_that_cannot_be_built_leaves_its_ops_to_others():
    module = module_of([unary("a", "Neg", "x"), unary("b", "Exp", "a"), binary("c", "Add", "b", "a")], "c")
    report = fuse_ops(module, [Greedy, ElementwiseFusion])
    assert [(c.kind, c.ops) for c in report.chains] == [("onnx.elementwise", ("Neg", "Exp", "Add"))]


def test_neighbours_that_no_stop_names_are_listed():
    lines = [unary("s", "Softmax", "x"), unary("a", "Neg", "s"), unary("b", "Exp", "a")]
    report = fuse_ops(module_of([*lines, unary("c", "LogSoftmax", "b")], "c"), [ElementwiseFusion])
    (chain,) = report.chains
    assert chain.ops == ("Neg", "Exp")
    assert [stop.text for stop in chain.stops] == ["onnx.LogSoftmax is not elementwise"]
    assert chain.left_out == (f"onnx.Softmax -> {T}: no kind starts from it or takes it along",)
    assert f"    left out: {chain.left_out[0]}" in str(report)


def test_what_could_not_be_built_says_why():
    lines = [unary("a", "Neg", "x"), unary("b", "Softmax", "a"), binary("c", "MatMul", "b", "a")]
    report = fuse_ops(module_of(lines, "c"), [Greedy])
    assert [(d.kind, d.anchor) for d in report.declines] == [("test.greedy", f"onnx.Neg -> {T}")]
    assert "read outside" in report.declines[0].reason.text
    assert report.declines[0].reason.file == "transforms/fusion/build.py"


def assert_defined_before_used(module: ModuleOp) -> None:
    for function in module.ops:
        seen: set[Operation] = set()
        for op in function.regions[0].block.ops:
            for operand in op.operands:
                assert not isinstance(operand.owner, Operation) or operand.owner in seen
            seen.add(op)


def test_running_twice_changes_nothing():
    module = chain(10)
    run(module)
    before = str(module)
    report = run(module)
    assert str(module) == before
    assert not report.chains


def test_the_report_is_the_same_from_run_to_run_and_names_file_and_line():
    lines = [
        unary("a", "Sin", "x"),
        unary("b", "Hardmax", "a"),
        unary("c", "Exp", "b"),
        unary("d", "Abs", "c"),
    ]
    texts = {str(run(module_of(lines, "d"))) for _ in range(3)}
    (text,) = texts
    assert "fused 1 chain, declined 1 anchor" in text
    assert (
        f"fused onnx.elementwise at onnx.Exp -> {T}, Exp Abs: saves 1 launch and 128 bytes of traffic" in text
    )
    assert "declined onnx.elementwise at onnx.Sin" in text
    assert re.search(r"onnx\.Hardmax is not elementwise \(transforms/fusion/\w+\.py:\d+\)", text)


def test_every_decline_has_reason_file_and_line():
    report = run(module_of([unary("a", "Sin", "x"), binary("m", "MatMul", "a", "x")], "m"))
    assert [d.kind for d in report.declines] == [
        "onnx.elementwise",
        "onnx.quantized_chain",
        "onnx.matmul_epilogue",
    ]
    for decline in report.declines:
        assert decline.reason.text and decline.reason.file.endswith(".py") and decline.reason.line > 0
    assert "MatMul" in report.declines[0].reason.text


def test_the_report_belongs_to_the_last_run():
    step = FuseOpsPass()
    assert run(chain(3), step).chains
    assert not run(chain(1), step).chains


def test_no_kinds_is_no_fusion():
    module = chain(3)
    before = str(module)
    assert not fuse_ops(module, []).chains
    assert not run(module, FuseOpsPass(disable_fused_op=True)).chains
    assert not run(module, FuseOpsPass(kinds=())).chains
    assert str(module) == before


def test_an_unknown_kind_is_an_error_that_lists_the_known_ones():
    with pytest.raises(PassError, match="'onnx.nothing'; known: .*onnx.elementwise, "):
        run(chain(2), FuseOpsPass(kinds=("onnx.nothing",)))


def test_longer_kinds_are_tried_first():
    assert MatMulEpilogueFusion.benefit > ElementwiseFusion.benefit


def wide(length: int) -> ModuleOp:
    """One value read by many pairs of ops: chains with many results."""
    lines = [unary("y", "Sin", "x")]
    for i in range(length // 2):
        lines.append(binary(f"a{i}", "Mul", "y", "x"))
        lines.append(unary(f"b{i}", "Softmax", f"a{i}"))
    return module_of(lines, "y")


def ladder(length: int) -> ModuleOp:
    """Softmax between any two elementwise ops, each also read by the next but one."""
    lines = [unary("v0", "Sin", "x"), unary("v1", "Softmax", "v0")]
    for i in range(2, length):
        op = (
            unary(f"v{i}", "Softmax", f"v{i - 1}")
            if i % 2
            else binary(f"v{i}", "Add", f"v{i - 1}", f"v{i - 2}")
        )
        lines.append(op)
    return module_of(lines, f"v{length - 1}")


@pytest.mark.parametrize("make", [chain, wide, ladder])
def test_time_is_linear_in_the_number_of_ops(make: Callable[[int], ModuleOp]):
    def calls(length: int) -> int:
        module = make(length)
        return count_calls(lambda: FuseOpsPass().apply(make_context(), module))

    calls(100)
    small, large = calls(250), calls(2000)
    # Eight times the ops; quadratic would be sixty-four times the work.
    assert large < 12 * small, f"{small} calls for 250 ops, {large} for 2000"
