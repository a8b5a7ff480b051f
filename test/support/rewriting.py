"""Small graphs and patterns for tests of the rewriting engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import parse_module, print_module
from onnxloom.dialects.verify_module import verify_module
from onnxloom.transforms.rewriting.driver import RewriteOptions, optimize
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)
from onnxloom.transforms.rewriting.report import RewriteReport

T = "tensor<4x4xf32>"


def function(*lines: str, arguments: str = f"%x: {T}", returned: str = "y") -> ModuleOp:
    """A function of `T`s: `y = Neg x` per line; a line that begins with `%` is text as it stands."""
    body = [line if line.startswith("%") else _op(line) for line in lines]
    names = [f"%{name}" for name in returned.split()]
    types = ", ".join([T] * len(names))
    body.append(f"onnx.Return {', '.join(names)} : {types}" if names else "onnx.Return")
    return parse_module(f"func.func @f({arguments}) -> ({types}) {{\n" + "\n".join(body) + "\n}")


def _op(line: str) -> str:
    result, _, rest = line.partition(" = ")
    name, *operands = rest.split()
    types = ", ".join([T] * len(operands))
    return f'%{result} = "onnx.{name}"({", ".join("%" + o for o in operands)}) : ({types}) -> {T}'


def body(module: ModuleOp) -> Block:
    return next(op for op in module.ops if isinstance(op, FuncOp)).body.block


def index_of(module: ModuleOp, **options: Any) -> GraphIndex:
    return GraphIndex(body(module), **options)


def value(module: ModuleOp, name: str) -> SSAValue:
    """The value of this name, wherever it is."""
    for op in module.walk():
        for result in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            if result.name_hint == name:
                return result
    raise AssertionError(f"no value %{name}")


def op_of(module: ModuleOp, name: str) -> Operation:
    owner = value(module, name).owner
    assert isinstance(owner, Operation)
    return owner


def text_of(module: ModuleOp) -> str:
    import io

    stream = io.StringIO()
    print_module(module, stream)
    return stream.getvalue()


def ops(module: ModuleOp) -> list[str]:
    """Names of the ops of the function, without the terminator."""
    return [op.name.removeprefix("onnx.") for op in body(module).ops][:-1]


def rewrite(
    module: ModuleOp, *patterns: type[PatternOptimization] | PatternOptimization, **options: Any
) -> int:
    """Rewrites with every check there is."""
    report = options.pop("report", None)
    count = optimize(module, list(patterns), RewriteOptions(check_index=True, **options), report)
    verify_module(module)
    return count


def report_of(module: ModuleOp, *patterns: type[PatternOptimization], **options: Any) -> RewriteReport:
    report = RewriteReport()
    rewrite(module, *patterns, report=report, **options)
    return report


def renames(source: type[Operation], target: type[Operation], **members: Any) -> type[PatternOptimization]:
    """A pattern that replaces one unary op by another."""

    class Renames(PatternOptimization, abstract=True):
        start_ops: ClassVar[tuple[type[Operation], ...]] = (source,)

        def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
            return MatchResult((op,))

        def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
            (op,) = match.ops
            assert op is not None
            made = graph.make(target, [op.operands[0]])
            return Replacement([made], {op.results[0]: made.results[0]})

    name = f"{source.name}_to_{target.name}".replace("onnx.", "")
    return type(name, (Renames,), {"name": name, **members})


def pattern(
    start: type[Operation],
    match: Callable[[GraphIndex, Any], MatchResult | Miss],
    apply: Callable[[GraphIndex, Any], Replacement],
    name: str = "Test",
    **members: Any,
) -> type[PatternOptimization]:
    """A pattern of two functions."""
    functions = {
        "match": lambda self, graph, op: match(graph, op),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        "apply": lambda self, graph, found: apply(graph, found),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    }
    return type(name, (PatternOptimization,), {"name": name, "start_ops": (start,), **functions, **members})


def inverse_pair(op: type[Operation], *, private: bool = True, **members: Any) -> type[PatternOptimization]:
    """Op(Op(x)) -> x, for an inner result that nothing else reads."""

    def match(graph: GraphIndex, outer: Operation) -> MatchResult | Miss:
        inner = graph.producer_of(outer.operands[0], op)
        if inner is None:
            return no_match(outer, "no pair")
        if private and not graph.is_private(inner.results[0]):
            return no_match(outer, "the inner result is read elsewhere")
        return MatchResult((inner, outer)) if private else MatchResult((outer,), (inner,))

    def apply(graph: GraphIndex, found: MatchResult) -> Replacement:
        outer = found.ops[-1]
        assert outer is not None
        inner = outer.operands[0].owner
        assert isinstance(inner, Operation)
        return Replacement([], {outer.results[0]: inner.operands[0]})

    return pattern(op, match, apply, f"{op.name.removeprefix('onnx.')}Pair", **members)


NEG_PAIR = inverse_pair(onnx.NegOp)


def declines(report: RewriteReport) -> str:
    """The reasons of all patterns, joined."""
    return "; ".join(str(d) for found in report.patterns.values() for d in found.declines)
