"""LSTM, GRU and RNN with all their attributes; f16 and bf16 are computed in f32, f32 and f64 as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import NoneType, TensorType
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent import Recurrence, build_recurrence
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_cells import Cell
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_forms import (
    directions_of,
    gru_cells,
    lstm_cells,
    rnn_cells,
)
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import bool_attr, opt_int_attr

_FORMS: dict[type[Operation], tuple[str, int, Callable[[Operation], Sequence[Cell]]]] = {
    onnx.LSTMOp: ("lstm", 4, lstm_cells),
    onnx.GRUOp: ("gru", 3, gru_cells),
    onnx.RNNOp: ("rnn", 1, rnn_cells),
}
"""Name, number of gates, cells."""


@lowering(onnx.LSTMOp, onnx.GRUOp, onnx.RNNOp)
def lower_recurrent(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Y, Y_h and, for LSTM, Y_c."""
    x, w, r, bias, lengths, h, c, peepholes = [*inputs, *[None] * (8 - len(inputs))]
    assert x is not None and w is not None and r is not None
    name, gates, cells = _FORMS[type(op)]
    recurrence = Recurrence(
        name=name,
        gates=gates,
        hidden=_hidden(op, r),
        batch_first=bool_attr(op, "layout"),
        backwards=directions_of(op),
        cells=cells(op),
        x=x,
        w=w,
        r=r,
        bias=bias,
        lengths=lengths,
        initial=[h, c] if name == "lstm" else [h],
        peepholes=peepholes,
        wants_y=not isinstance(op.results[0].type, NoneType),
    )
    # An omitted Y needs a value in its place, which nothing reads.
    return [x if value is None else value for value in build_recurrence(builder, recurrence)]


def _hidden(op: Operation, r: SSAValue) -> int:
    """The number of hidden units, from the weights or the attribute."""
    known = shape_of(r)[-1] if isinstance(r.type, TensorType) else -1
    hidden = known if known > 0 else opt_int_attr(op, "hidden_size")
    if hidden is None:
        raise Declined("the number of hidden units is not known at compile time")
    return hidden
