"""Mul(x, 2) -> Add(x, x): a rewrite pattern, and a pass that gives nodes names, in a file of their own.

x + x has the bits of 2 * x for floating point and for integers (both wrap), so the pattern is exact.
"""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from onnxloom.dialects import onnx
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import (
    MatchResult,
    Miss,
    PatternOptimization,
    Replacement,
    no_match,
)


class DoublingPattern(PatternOptimization):
    """A product with 2 becomes a sum."""

    name = "ExampleDoubling"
    start_ops = (onnx.MulOp,)

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        for doubled, factor in (op.operands, op.operands[::-1]):
            # One element: then it broadcasts to x, never x to it, unless its rank is higher.
            if not graph.is_constant_scalar(factor, 2, broadcast=True):
                continue
            if not graph.same_shape(doubled, op.results[0]):
                return no_match(op, "the factor broadcasts x to another rank")
            return MatchResult((op,), data=doubled)
        return no_match(op, "no operand is the constant 2")

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        (product,) = match.ops
        assert product is not None
        total = graph.make(onnx.AddOp, [match.data, match.data], name_from=product)
        return Replacement([total], {product.results[0]: total.results[0]})


@dataclass
class NamesGiven:
    """What the pass did; its `str` is what `onnxloom-opt --report` prints."""

    count: int = 0

    def __str__(self) -> str:
        return f"example-name-nodes: {self.count} named"


@dataclass(frozen=True)
class NameNodesPass(ModulePass):
    """Gives every node without a name one made of its op and a number."""

    name = "example-name-nodes"

    prefix: str = "node"

    report: NamesGiven = field(default_factory=NamesGiven, init=False, compare=False, repr=False)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.report.count = 0
        for number, node in enumerate(inner for inner in op.walk() if isinstance(inner, onnx.OnnxOp)):
            if node.results and "onnx_node_name" not in node.attributes:
                node.attributes["onnx_node_name"] = StringAttr(f"{self.prefix}_{number}")
                self.report.count += 1
