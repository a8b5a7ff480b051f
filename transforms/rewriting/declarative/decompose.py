"""How is one op replaced by several? A pattern whose left side is the op alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.onnx.access import attr, is_none
from onnxloom.dialects.onnx.op import OnnxOp
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.declarative.class_checks import check_hook
from onnxloom.transforms.rewriting.declarative.closeness import attribute_value
from onnxloom.transforms.rewriting.declarative.expressions import Tensor
from onnxloom.transforms.rewriting.declarative.judge import apply_match, judge
from onnxloom.transforms.rewriting.declarative.match import Inputs, Match
from onnxloom.transforms.rewriting.declarative.signature import signature_of
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import MatchResult, PatternOptimization, Replacement


class DecomposePattern(PatternOptimization, abstract=True):
    """Base of patterns that replace each op of `start_ops` by an expression.

    The inputs have the names of the op's operands, as in the standard; `match.attribute` knows all
    attributes. The expression has one value per result, up to the last one that anything reads.
    """

    adds_ops: ClassVar[str] = "one op is taken apart"

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any):
        if not abstract:
            _check(cls)
        super().__init_subclass__(abstract=abstract, **options)

    def requirements(self, match: Match) -> Miss | None:
        """What must hold: None, or `no_match(match.anchor, "why not")`."""
        return None

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | tuple[Tensor, ...] | Miss:
        """What goes to the place of the op, one expression per result; or why not after all."""
        raise NotImplementedError

    def match(self, graph: GraphIndex, op: Operation) -> MatchResult | Miss:
        assert isinstance(op, OnnxOp)
        found = _match_of(graph, op)
        return judge(self, found, ops=(op,))

    def apply(self, graph: GraphIndex, match: MatchResult) -> Replacement:
        return apply_match(graph, match)


def _match_of(graph: GraphIndex, op: OnnxOp) -> Match:
    signature = signature_of(type(op))
    present = [result for result in op.results if not is_none(result)]
    used = [index for index, result in enumerate(present) if graph.is_used(result)]
    outputs = present[: max(used, default=0) + 1]
    attributes = {name: attribute_value(attr(op, name)) for name in signature.attributes}
    return Match(graph, op, op.onnx_name, _inputs(op), {}, attributes, outputs)


def _inputs(op: OnnxOp) -> Mapping[str, SSAValue | tuple[SSAValue, ...] | None]:
    signature = signature_of(type(op))
    inputs: dict[str, SSAValue | tuple[SSAValue, ...] | None] = {}
    for index, operand in enumerate(signature.operands):
        if operand.is_variadic:
            inputs[operand.name] = tuple(op.operands[index:])
            continue
        value = op.operands[index] if index < len(op.operands) else None
        inputs[operand.name] = None if value is None or is_none(value) else value
    return inputs


def _check(cls: type[DecomposePattern]) -> None:
    starts = cast(object, cls.start_ops)
    if not isinstance(starts, tuple) or not starts:
        raise TypeError(f"{cls.__name__}: has no start_ops; expected the op classes that it takes apart")
    for start in cast(tuple[object, ...], starts):
        if not isinstance(start, type) or not issubclass(start, OnnxOp):
            raise TypeError(
                f"{cls.__name__}.start_ops holds {start!r}; expected op classes of the onnx dialect"
            )
    check_hook(cls, DecomposePattern, "requirements", ("self", "match"), is_required=False)
    check_hook(cls, DecomposePattern, "replacement", ("self", "inputs", "match"), is_required=True)
