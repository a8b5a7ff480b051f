"""Pass `fold-constants`: an op that reads constants only is evaluated and becomes a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.annotations import POTENTIAL
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.errors import ModelError
from onnxloom.transforms.folding.fold_op import fold_op
from onnxloom.transforms.folding.folding import Fold, Folding, Rule, is_constant
from onnxloom.transforms.folding.folding_pass import FoldingPass
from onnxloom.transforms.folding.numpy_op import Array
from onnxloom.transforms.folding.policy import SHARED_LIMIT, FoldingPolicy
from onnxloom.transforms.folding.potential import (
    Potential,
    clear,
    known_value,
    mark,
    take_effect,
)
from onnxloom.transforms.miss import Miss


@dataclass(frozen=True)
class FoldConstantsPass(FoldingPass):
    """Folds ops that read constants only, in bodies of control flow too, in one sweep."""

    name = "fold-constants"

    def rule(self, module: ModuleOp) -> Rule:
        policy = self.policy
        return lambda op: fold_constant_op(op, policy)

    def finish(self, module: ModuleOp, folding: Folding) -> Callable[[], None]:
        return lambda: take_effect(module, folding)


def fold_constant_op(op: Operation, policy: FoldingPolicy) -> Fold | Miss | None:
    """The results of an op whose operands are constants; None when they are not.

    Where potential constants are among them, what the results will be is kept aside.
    """
    if isinstance(op, onnx.ConstantOp | onnx.NoValueOp) or not op.results:
        return None
    if not all(map(is_constant, op.operands)):
        _keep_aside(op, policy)
        return None
    try:
        inputs = [constant_value(operand) for operand in op.operands]
    except ModelError as error:
        return Miss(f"an input cannot be read: {error}")
    if policy.memory_priority:
        shared = _shared_input(op, inputs)
        if shared is not None:
            return shared
    results = fold_op(op, inputs, policy)
    return results if isinstance(results, Miss) else Fold(results)


def _keep_aside(op: Operation, policy: FoldingPolicy) -> None:
    """Evaluates an op on constants and potential constants, or clears what was found earlier."""
    inputs = _known_inputs(op)
    results = None if inputs is None else fold_op(op, inputs, policy)
    arrays = [value for value in results if value is not None] if isinstance(results, list) else []
    if len(arrays) != len(op.results):
        if POTENTIAL in op.attributes:
            clear(op, FoldConstantsPass.name)
        return
    missing = tuple(index for index, operand in enumerate(op.operands) if not is_constant(operand))
    mark(op, Potential(FoldConstantsPass.name, arrays, missing))


def _known_inputs(op: Operation) -> list[Array | None] | None:
    inputs: list[Array | None] = []
    for operand in op.operands:
        array = known_value(operand)
        if array is None and not is_none(operand):
            return None
        inputs.append(array)
    return inputs


def _shared_input(op: Operation, inputs: list[Array | None]) -> Miss | None:
    """Why folding would keep the data of an input and add those of the result."""
    for index, (operand, array) in enumerate(zip(op.operands, inputs, strict=True)):
        if array is None or array.nbytes <= SHARED_LIMIT:
            continue
        if any(use.operation is not op for use in operand.uses):
            return Miss(f"input {index} of {array.nbytes} bytes is shared, and memory has priority")
    return None
