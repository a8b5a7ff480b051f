"""GlobalAveragePool(x) -> ReduceMean(x, spatial axes), GlobalMaxPool(x) -> ReduceMax(x, spatial axes)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.transforms.layout.axes import last_type, layout_rank
from onnxloom.transforms.layout.editor import LayoutEditor
from onnxloom.transforms.layout.rule import Follow, LayoutRule
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class GlobalPoolingRule(LayoutRule):
    """A pool over all places of an image."""

    ops: ClassVar[tuple[type[Operation], ...]] = (onnx.GlobalAveragePoolOp, onnx.GlobalMaxPoolOp)
    min_opset: ClassVar[int] = 18

    def follow(self, graph: GraphIndex, op: Operation) -> Follow:
        data, result = op.operands[0], op.results[0]
        return Follow((data,), (result,))

    def rewrite(self, editor: LayoutEditor, op: Operation, follow: Follow) -> None:
        data, result = op.operands[0], op.results[0]
        rank = layout_rank(data)
        assert rank is not None
        op_class = onnx.ReduceMeanOp if isinstance(op, onnx.GlobalAveragePoolOp) else onnx.ReduceMaxOp
        axes = editor.constant(np.arange(1, rank - 1))
        fresh = editor.make(op_class, [editor.last(data), axes], [last_type(result)], name_from=op)
        editor.give(result, fresh.results[0])


RULES = (GlobalPoolingRule(),)
