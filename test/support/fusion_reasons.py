"""What does a fusion kind say about a small function? Detection and the check of a body, asked directly."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.body import chain_ops
from onnxloom.transforms.fusion.epilogue import EpilogueFusion
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss


def function_of(text: str) -> FuncOp:
    return next(op for op in parse_module(text).ops if isinstance(op, FuncOp))


def first(function: FuncOp, name: str) -> Operation:
    return next(op for op in function.body.block.ops if op.name == f"onnx.{name}")


def detected(kind: type[FusionOpKindHelper], text: str, anchor: str) -> str | int:
    """Why there is no chain at the first op of a name, or how many ops there are in it."""
    found = _found(kind, text, anchor)
    return len(found.ops) if isinstance(found, Match) else found.reason


def stops(kind: type[FusionOpKindHelper], text: str, anchor: str) -> list[str]:
    """Why the chain at the first op of a name ends where it does."""
    found = _found(kind, text, anchor)
    assert isinstance(found, Match), found.reason
    return [stop.reason for stop in found.stops]


def _found(kind: type[FusionOpKindHelper], text: str, anchor: str) -> Match[FusionOpKindHelper] | Miss:
    function = function_of(text)
    return kind.detect_if_beneficial(DimAnalysis.of(function), first(function, anchor))


def checked(helper: FusionOpKindHelper, text: str) -> str | None:
    """What is wrong with the body of a function as the body of a fused op."""
    block = function_of(text).body.block
    end = block.last_op
    assert end is not None
    problem = helper.verify(Body(chain_ops(block)[:-1], tuple(end.operands), block.args))
    return None if problem is None else problem.reason


def unfit(kind: type[EpilogueFusion], text: str, product: str) -> str | None:
    """Why the first op of a name is no product of a kind."""
    problem = kind.unfit_product(first(function_of(text), product))
    return None if problem is None else problem.reason
