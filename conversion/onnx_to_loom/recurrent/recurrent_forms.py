"""What do the attributes of a recurrent op say? Directions, activation functions and cells."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from onnxloom.conversion.onnx_to_loom.decline import Declined
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_activations import Activation, activation_functions
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_cells import Cell, Clip, GruCell, LstmCell, RnnCell
from onnxloom.dialects.onnx.access import bool_attr, floats_attr, opt_float_attr, str_attr, strs_attr

_DIRECTIONS: dict[str, Sequence[bool]] = {
    "forward": (False,),
    "reverse": (True,),
    "bidirectional": (False, True),
}


def directions_of(op: Operation) -> Sequence[bool]:
    """One entry per direction: whether it walks backwards. Raises Declined for an unknown one."""
    direction = str_attr(op, "direction", "forward")
    backwards = _DIRECTIONS.get(direction)
    if backwards is None:
        raise Declined(f"there is no direction {direction!r}")
    return backwards


def _functions(op: Operation, defaults: Sequence[str]) -> Sequence[Sequence[Activation]]:
    """The activation functions of each direction; `defaults` are those of one if none are given."""
    directions, count = len(directions_of(op)), len(defaults)
    names = strs_attr(op, "activations") or [*defaults] * directions
    if len(names) < count * directions:
        raise Declined(f"there are {len(names)} activations; expected {count * directions}")
    alphas, betas = floats_attr(op, "activation_alpha") or (), floats_attr(op, "activation_beta") or ()
    functions = activation_functions(names[: count * directions], alphas, betas)
    return [functions[count * d : count * (d + 1)] for d in range(directions)]


def _clip(op: Operation) -> Clip:
    limit = opt_float_attr(op, "clip")
    return Clip(limit if limit else None)


def lstm_cells(op: Operation) -> Sequence[Cell]:
    """The cell of each direction of an LSTM."""
    input_forget = bool_attr(op, "input_forget", False)
    functions = _functions(op, ("Sigmoid", "Tanh", "Tanh"))
    return [LstmCell(f, _clip(op), input_forget) for f in functions]


def gru_cells(op: Operation) -> Sequence[Cell]:
    """The cell of each direction of a GRU."""
    linear = bool_attr(op, "linear_before_reset", False)
    return [GruCell(f, _clip(op), linear) for f in _functions(op, ("Sigmoid", "Tanh"))]


def rnn_cells(op: Operation) -> Sequence[Cell]:
    """The cell of each direction of an RNN."""
    return [RnnCell(f, _clip(op)) for f in _functions(op, ("Tanh",))]
