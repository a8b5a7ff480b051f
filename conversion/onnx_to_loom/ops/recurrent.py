"""LSTM, GRU and RNN with all their attributes, f32 and f64."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import NoneType, TensorType
from xdsl.ir import Operation, SSAValue

from onnxloom.conversion.onnx_to_loom.builder import KernelBuilder, shape_of
from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.recurrent import Recurrence, build_recurrence
from onnxloom.conversion.onnx_to_loom.recurrent_activations import Activation, activation_functions
from onnxloom.conversion.onnx_to_loom.recurrent_cells import Cell, Clip, GruCell, LstmCell, RnnCell
from onnxloom.conversion.onnx_to_loom.registry import Inputs, lowering
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import (
    bool_attr,
    floats_attr,
    int_attr,
    opt_float_attr,
    opt_int_attr,
    str_attr,
    strs_attr,
)

_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}

_FUNCTIONS: dict[type[Operation], tuple[str, ...]] = {
    onnx.LSTMOp: ("Sigmoid", "Tanh", "Tanh"),
    onnx.GRUOp: ("Sigmoid", "Tanh"),
    onnx.RNNOp: ("Tanh",),
}
"""The activation functions of one direction if none are given."""

_GATES: dict[type[Operation], int] = {onnx.LSTMOp: 4, onnx.GRUOp: 3, onnx.RNNOp: 1}


@lowering(onnx.LSTMOp, onnx.GRUOp, onnx.RNNOp)
def lower_recurrent(op: Operation, inputs: Inputs, builder: KernelBuilder) -> Sequence[SSAValue]:
    """Y, Y_h and, for LSTM, Y_c."""
    x, w, r, bias, lengths, h, c, peepholes = [*inputs, *[None] * (8 - len(inputs))]
    assert x is not None and w is not None and r is not None
    direction = str_attr(op, "direction", "forward")
    backwards = _DIRECTIONS.get(direction)
    if backwards is None:
        raise Declined(f"there is no direction {direction!r}")
    is_lstm = isinstance(op, onnx.LSTMOp)
    recurrence = Recurrence(
        name=type(op).__name__.removesuffix("Op").lower(),
        gates=_GATES[type(op)],
        hidden=_hidden(op, r),
        batch_first=bool_attr(op, "layout"),
        backwards=backwards,
        cells=_cells(op, len(backwards)),
        x=x,
        w=w,
        r=r,
        bias=bias,
        lengths=lengths,
        initial=[h, c] if is_lstm else [h],
        peepholes=peepholes,
        wants_y=not isinstance(op.results[0].type, NoneType),
    )
    results = build_recurrence(builder, recurrence)
    return [value if value is not None else x for value in results]


def _hidden(op: Operation, r: SSAValue) -> int:
    """The number of hidden units, from the weights or the attribute."""
    known = shape_of(r)[-1] if isinstance(r.type, TensorType) else -1
    hidden = known if known > 0 else opt_int_attr(op, "hidden_size")
    if hidden is None:
        raise Declined("the number of hidden units is not known at compile time")
    return hidden


def _cells(op: Operation, directions: int) -> list[tuple[str, Cell]]:
    defaults = _FUNCTIONS[type(op)]
    names = strs_attr(op, "activations") or defaults * directions
    count = len(defaults)
    if len(names) < count * directions:
        raise Declined(f"{len(names)} activations; expected {count * directions}")
    alphas, betas = floats_attr(op, "activation_alpha") or (), floats_attr(op, "activation_beta") or ()
    functions = activation_functions(names[: count * directions], alphas, betas)
    return [_cell(op, functions[count * d : count * (d + 1)]) for d in range(directions)]


def _cell(op: Operation, functions: Sequence[tuple[str, Activation]]) -> tuple[str, Cell]:
    keys, activations = zip(*functions, strict=True)
    limit = opt_float_attr(op, "clip")
    clip = Clip(limit if limit else None)
    if isinstance(op, onnx.LSTMOp):
        cell: Cell = LstmCell(activations, clip, bool_attr(op, "input_forget"))
    elif isinstance(op, onnx.GRUOp):
        cell = GruCell(activations, clip, int_attr(op, "linear_before_reset", 0) != 0)
    else:
        cell = RnnCell(activations, clip)
    return ", ".join(keys), cell
