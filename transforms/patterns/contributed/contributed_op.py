"""How does an op of domain com.microsoft become ops of the standard? `ContributedOpPattern`.

A subclass names the op, its operands and the defaults of its attributes, and says as an expression what each
result is. Nothing else in onnxloom knows these ops: what they become is optimized and fused like any other.
Shapes, attributes and their defaults follow onnxruntime's documentation of its contributed operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.custom_ops import RUN_BY_CALLER, custom_op
from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor
from onnxloom.transforms.rewriting.declarative.build import check_replacement, type_problem
from onnxloom.transforms.rewriting.declarative.closeness import attribute_value
from onnxloom.transforms.rewriting.declarative.judge import Found, apply_match
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, PatternOptimization, Replacement, Stage

DOMAIN = "com.microsoft"


class ContributedOpPattern(PatternOptimization, abstract=True):
    """Base of patterns that replace one op of domain com.microsoft by an expression of standard ops."""

    op_type: ClassVar[str]
    """The op's name."""

    operands: ClassVar[tuple[str, ...]]
    """Names of all operands, in order."""

    is_variadic: ClassVar[bool] = False
    """Whether the last operand stands for any number of them."""

    attributes: ClassVar[Mapping[str, Any]] = {}
    """The op's attributes and what holds where one is absent; None for no default."""

    start_ops: ClassVar[tuple[type[Operation], ...]] = (onnx.CustomOp,)
    stage: ClassVar[Stage] = Stage.CONTRIBUTED
    adds_ops: ClassVar[str] = "one op is taken apart"

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | tuple[Tensor | None, ...] | Miss:
        """One expression per result, None for one that cannot be said; or why the op has to stay."""
        raise NotImplementedError

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        if not isinstance(op, onnx.CustomOp):
            return no_match(op, "it is no op of another domain")
        if (op.domain_name.data, op.function_name.data) != (DOMAIN, self.op_type):
            return no_match(op, f"it is not {DOMAIN}:{self.op_type}")
        if custom_op(DOMAIN, self.op_type) is not None:
            return no_match(op, RUN_BY_CALLER)
        if len(op.operands) > len(self.operands) and not self.is_variadic:
            return no_match(op, f"it has {len(op.operands)} operands; expected at most {len(self.operands)}")
        used = [index for index, value in enumerate(op.results) if graph.is_used(value)]
        match = self._match(graph, op, [op.results[index] for index in used])
        given = self.replacement(match.inputs, match)
        if isinstance(given, Miss):
            return given
        expressions = given if isinstance(given, tuple) else (given,)
        missing = [i for i in used if i >= len(expressions) or expressions[i] is None]
        if missing:
            return no_match(op, f"its result {missing[0]} is read, which nothing here computes")
        wanted = tuple(cast(Tensor, expressions[i]) for i in used)
        outputs = check_replacement(type(self).__name__, wanted, len(used))
        problem = type_problem(outputs)
        if problem is not None:
            return no_match(op, problem)
        return MatchResult(ops=(op,), data=Found(match, outputs), comment=self.op_type)

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        return apply_match(graph, match)

    def _match(self, graph: GraphIndex, op: onnx.CustomOp, outputs: list[SSAValue]) -> Match:
        values: dict[str, SSAValue | tuple[SSAValue, ...] | None] = dict.fromkeys(self.operands)
        for name, value in zip(self.operands, op.operands, strict=False):
            values[name] = None if is_none(value) else value
        if self.is_variadic:
            values[self.operands[-1]] = tuple(op.operands[len(self.operands) - 1 :])
        given = {name: attribute_value(op.attributes.get(name)) for name in self.attributes}
        attributes = {
            name: default if given[name] is None else given[name] for name, default in self.attributes.items()
        }
        return Match(graph, op, self.op_type, values, {}, attributes, outputs)
