"""Values that are known before all inputs of their op are constants: potential constants.

They stand on the op, with the pass that found them and the operands that are yet to become constants.
Other passes may read them; only the pass that wrote one may replace or clear it. They take effect at the
end of a traversal, when what was missing has been folded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter_ns

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import POTENTIAL
from onnxloom.dialects.onnx.attributes import ints_value
from onnxloom.dialects.onnx.constant import constant_attr, constant_value
from onnxloom.dialects.onnx.narrow import is_array, is_int_attr
from onnxloom.transforms.folding.fold_op import opted_out
from onnxloom.transforms.folding.folding import Fold, Folding, is_constant
from onnxloom.transforms.folding.numpy_op import Array


@dataclass(frozen=True)
class Potential:
    """What is known of an op ahead of its inputs."""

    origin: str
    """Name of the pass that found it."""

    values: Sequence[Array]
    """One per result."""

    missing: tuple[int, ...] = ()
    """Positions of the operands that were no constants; when they are, this takes effect."""


def potential_of(op: Operation) -> Potential | None:
    """What stands on an op; None for nothing, or for text that says nothing sensible."""
    found = op.attributes.get(POTENTIAL)
    if not isinstance(found, DictionaryAttr):
        return None
    origin, values, missing = (found.data.get(key) for key in ("origin", "values", "missing"))
    if not isinstance(origin, StringAttr) or not is_array(values) or not is_array(missing):
        return None
    arrays = [array for value in values.data if (array := constant_value(value)) is not None]
    positions = tuple(int(p.value.data) for p in missing.data if is_int_attr(p))
    if len(arrays) != len(op.results) or any(p not in range(len(op.operands)) for p in positions):
        return None
    return Potential(origin.data, arrays, positions)


def mark(op: Operation, potential: Potential) -> bool:
    """Keeps a value aside; False when another pass keeps one there."""
    if not _may_write(op, potential.origin):
        return False
    values: list[Attribute] = [constant_attr(value) for value in potential.values]
    op.attributes[POTENTIAL] = DictionaryAttr(
        {
            "origin": StringAttr(potential.origin),
            "values": ArrayAttr(values),
            "missing": ints_value(potential.missing),
        }
    )
    return True


def clear(op: Operation, origin: str) -> bool:
    """Takes the value away; False when it is another pass's."""
    if not _may_write(op, origin):
        return False
    op.attributes.pop(POTENTIAL, None)
    return True


def _may_write(op: Operation, origin: str) -> bool:
    found = potential_of(op)
    return found is None or found.origin == origin


def known_value(value: SSAValue) -> Array | None:
    """The array of a constant, or of a potential one."""
    if not isinstance(value, OpResult):
        return None
    if isinstance(value.op, onnx.ConstantOp):
        return constant_value(value) if is_constant(value) else None
    potential = potential_of(value.op)
    return None if potential is None else potential.values[value.index]


def take_effect(module: ModuleOp, folding: Folding) -> None:
    """Folds every op whose value was kept aside and whose missing inputs are constants by now."""
    for op in list(module.walk()):
        if POTENTIAL not in op.attributes or not folding.is_part_of_module(op):
            continue
        start = perf_counter_ns()
        fold = ripe(op)
        if fold is not None:
            folding.apply(op, fold, start)


def ripe(op: Operation) -> Fold | None:
    """The value kept aside, if nothing that it waits for is missing."""
    potential = potential_of(op)
    if potential is None or opted_out(op) is not None:
        return None
    if not all(is_constant(op.operands[index]) for index in potential.missing):
        return None
    return Fold(potential.values, what="potential constant")
