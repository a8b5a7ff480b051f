"""Conv -> Transpose, Conv, Transpose: the triple that a channels-last kernel runs."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.fusion.kinds.conv_channels_last import ConvChannelsLastFusion
from onnxloom.transforms.fusion.spaces import shape_of
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.product_costs import convolution_saves
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.layout.triple import is_triple, make_triple
from onnxloom.transforms.miss import Miss
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class ConvolutionRule(LayoutRule):
    """A convolution that has a channels-last kernel."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.ConvOp,)

    def follow(self, graph: GraphIndex, op: Operation) -> Follow | Miss:
        assert isinstance(op, onnx.ConvOp)
        problem = ConvChannelsLastFusion.unfit_product(op)
        if problem is not None:
            return problem
        if any(dim < 0 for dim in shape_of(op.W) or ()):
            return Miss("the shape of a convolution's weights is not known")
        if is_triple(op, graph.block):
            return Miss("it works channels-last")
        return Follow((op.X,), (op.Y,), saves=convolution_saves(graph, op))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        make_triple(editor, op)


RULES = (ConvolutionRule(),)
