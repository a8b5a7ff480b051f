"""How does a kind become a rewrite pattern for one anchor op?"""

from __future__ import annotations

import inspect
from typing import Any, Generic, TypeVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Match, Miss
from onnxloom.transforms.fusion.plugins import blaming_plugin

HelperT = TypeVar("HelperT", bound=FusionOpKindHelper)


class FusedPatternForOpKind(RewritePattern, Generic[HelperT]):
    """Adapts a kind to the creation pass; also an ordinary pattern for xDSL's drivers."""

    def __init__(self, anchor: type[Operation], helper: type[HelperT], dims: DimAnalysis | None = None):
        """`dims` is what is known of the module; made on first use when left out.

        Raises:
            TypeError: `helper` is not a complete kind, or does not start from `anchor`.
        """
        given: Any = helper
        if not (inspect.isclass(given) and issubclass(given, FusionOpKindHelper)):
            raise TypeError(f"{given!r} is not a subclass of FusionOpKindHelper")
        if helper.is_abstract:
            raise TypeError(f"{helper.__name__} is a base of kinds, not a kind: it has no 'kind'")
        if anchor not in helper.anchors:
            raise TypeError(f"{helper.__name__} does not start from {anchor.__name__}: not in its 'anchors'")
        self.anchor = anchor
        self.helper = helper
        self.dims = dims

    def detect(self, op: Operation, dims: DimAnalysis) -> Match[HelperT] | Miss | None:
        """The match at an op of the module; None when the pattern is not for such an op."""
        if type(op) is not self.anchor or FusionOpKindHelper.is_inside_fused_op(op):
            return None
        with blaming_plugin(self.helper):
            found: Any = self.helper.detect_if_beneficial(dims, op)
            if not isinstance(found, Match | Miss):
                where = f"{self.helper.__name__}.detect_if_beneficial"
                raise TypeError(f"{where} gives a {type(found).__name__}; expected a Match or a Miss")
        return found  # pyright: ignore[reportUnknownVariableType]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if type(op) is not self.anchor or FusionOpKindHelper.is_inside_fused_op(op):
            return
        dims = self.dims or DimAnalysis.of(_root(op))
        match = self.detect(op, dims)
        if isinstance(match, Match) and not isinstance(self.helper.fuse(match, rewriter), Miss):
            # The values of the chain are gone, their results are others.
            self.dims = None
        elif self.dims is None:
            self.dims = dims


def _root(op: Operation) -> Operation:
    while (parent := op.parent_op()) is not None:
        op = parent
    return op
