"""RNN, GRU and LSTM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import str_attr
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.facts import Inferred, Result, Rule
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.rules.common import first_ranked


def recurrent_results(query: OpQuery, hidden: DimExpr | None, element: Attribute | None) -> Sequence[Result]:
    """All states, the last state, and (LSTM) the last cell state."""
    shape = first_ranked(query, 3) or (None, None, None)
    batch_first = query.int_attr("layout", 0) == 1
    batch, length = (shape[0], shape[1]) if batch_first else (shape[1], shape[0])
    directions = DimExpr.of(2 if str_attr(query.op, "direction", "forward") == "bidirectional" else 1)
    if batch_first:
        states, last = [batch, length, directions, hidden], [batch, directions, hidden]
    else:
        states, last = [length, directions, batch, hidden], [directions, batch, hidden]
    final = Inferred(last, element)
    return [Inferred(states, element), final, final][: len(query.op.results)]


def _recurrent(query: OpQuery) -> Sequence[Result]:
    recurrence = query.shape(2)
    hidden = recurrence[2] if recurrence is not None and len(recurrence) == 3 else None
    size = query.int_attr("hidden_size", 0)
    return recurrent_results(query, DimExpr.of(size) if size else hidden, query.element(0))


RULES: Final[dict[type[Operation], Rule]] = {
    onnx.RNNOp: _recurrent,
    onnx.GRUOp: _recurrent,
    onnx.LSTMOp: _recurrent,
}
