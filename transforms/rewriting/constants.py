"""Which values are known before the model runs, and what are they?

Arrays are computed when asked for and kept; only results of a bounded size are computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import numpy as np
from xdsl.dialects.builtin import NoneType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import DO_NOT_FOLD, OVERRIDABLE, is_kept
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.transforms.dim_analysis.facts import element_type, static_dims

Number: TypeAlias = int | float | bool
Array: TypeAlias = np.ndarray[Any, Any]

MAX_COMPUTED: Final = 1 << 16
"""Elements of the largest array that is computed; constants of the model may be larger."""


class ConstantValues:
    """What is known of the constants of a module; shared by the indexes of its blocks."""

    def __init__(self, evaluator: Any = None):
        self._evaluator = evaluator
        self._is_constant: dict[SSAValue, bool] = {}
        self._arrays: dict[SSAValue, Array | None] = {}
        self._numbers: dict[SSAValue, Number | None] = {}

    def is_constant(self, value: SSAValue) -> bool:
        """Whether a value is a constant or computed from constants by deterministic ops."""
        owner = value.owner
        if isinstance(owner, onnx.ConstantOp):
            return _is_fixed(owner)
        if isinstance(owner, Block):
            return False
        known = self._is_constant.get(value)
        return self._decide(owner, value) if known is None else known

    def told(self, value: SSAValue) -> bool | None:
        """What was said of a value before; None when nobody asked."""
        return self._is_constant.get(value)

    def changed(self, readers: Iterable[Operation]) -> None:
        """Some ops read other values than before: what was said of them, and what follows, is put right."""
        pending = list(readers)
        while pending:
            op = pending.pop()
            said = [self._is_constant[result] for result in op.results if result in self._is_constant]
            if not said or said[0] == self._is_computable(op):
                continue
            if said[0]:
                # Rare: a constant gave way to what cannot be computed. All is asked again.
                self._is_constant.clear()
                return
            for result in op.results:
                self._is_constant[result] = True
                self._arrays.pop(result, None)
                self._numbers.pop(result, None)
                pending.extend(use.operation for use in result.uses)

    def _is_computable(self, op: Operation) -> bool:
        return self._may_be_computed(op) and all(
            isinstance(operand.owner, onnx.NoValueOp) or self.is_constant(operand) for operand in op.operands
        )

    def _decide(self, owner: Operation, value: SSAValue) -> bool:
        """One walk over what is not decided; linear over all questions together."""
        pending = [owner]
        known = self._is_constant
        while pending:
            op = pending[-1]
            if all(result in known for result in op.results):
                pending.pop()
                continue
            missing: list[Operation] = []
            answer = self._may_be_computed(op)
            if answer:
                for operand in op.operands:
                    maker = operand.owner
                    if isinstance(maker, onnx.NoValueOp) or (
                        isinstance(maker, onnx.ConstantOp) and _is_fixed(maker)
                    ):
                        continue
                    if isinstance(maker, Block | onnx.ConstantOp) or known.get(operand) is False:
                        answer = False
                        break
                    if operand not in known:
                        missing.append(maker)
            if answer and missing:
                pending.extend(missing)
                continue
            known.update((result, answer) for result in op.results)
            pending.pop()
        return known[value]

    @staticmethod
    def _may_be_computed(op: Operation) -> bool:
        if not op.operands or op.regions or not is_side_effect_free(op):
            return False
        return DO_NOT_FOLD not in op.attributes and not is_kept(op)

    def array(self, value: SSAValue) -> Array | None:
        """The read-only array of a constant; None when it is none or is not computed."""
        if isinstance(value.owner, onnx.ConstantOp):
            # The attribute keeps its array where that costs anything.
            return constant_value(value) if _is_fixed(value.owner) else None
        if value not in self._arrays:
            self._arrays[value] = self._compute(value) if self.is_constant(value) else None
        return self._arrays[value]

    def number(self, value: SSAValue) -> Number | None:
        """The only element of a constant as a Python number; None for strings and complex numbers."""
        if value not in self._numbers:
            array = self.array(value)
            item = None if array is None or array.size != 1 else array.item()
            self._numbers[value] = item if isinstance(item, int | float) else None
        return self._numbers[value]

    def _compute(self, value: SSAValue) -> Array | None:
        """Producers first, so that a long chain needs no deep stack."""
        if self._evaluator is None:
            return None
        pending: list[Operation] = [_maker(value)]
        while pending:
            op = pending[-1]
            inputs: list[Array | None] = []
            missing: list[Operation] = []
            for operand in op.operands:
                if isinstance(operand.type, NoneType):
                    inputs.append(None)
                elif isinstance(operand.owner, onnx.ConstantOp):
                    inputs.append(constant_value(operand))
                elif operand in self._arrays:
                    inputs.append(self._arrays[operand])
                else:
                    missing.append(_maker(operand))
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if op.results[0] not in self._arrays:
                self._arrays.update(zip(op.results, self._evaluate(op, inputs), strict=True))
        return self._arrays[value]

    def _evaluate(self, op: Operation, inputs: list[Array | None]) -> list[Array | None]:
        nothing: list[Array | None] = [None] * len(op.results)
        lost = any(
            found is None and not isinstance(operand.type, NoneType)
            for found, operand in zip(inputs, op.operands, strict=True)
        )
        if lost or not all(_is_small(result) for result in op.results):
            return nothing
        from onnxloom.transforms.folding.evaluator import CannotEvaluate

        try:
            found = list(self._evaluator.evaluate(op, inputs))
        except CannotEvaluate:
            return nothing
        for array in found:
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        return [*found, *nothing[len(found) :]]


def _is_fixed(op: onnx.ConstantOp) -> bool:
    """Whether nobody may give another value when the model runs."""
    return OVERRIDABLE not in op.attributes


def _maker(value: SSAValue) -> Operation:
    owner = value.owner
    assert isinstance(owner, Operation), "a constant is made by an op"
    return owner


def _is_small(value: SSAValue) -> bool:
    """Whether a result is known to be small enough to compute; absent ones are."""
    if element_type(value.type) is None:
        return isinstance(value.type, NoneType)
    dims = static_dims(value)
    if dims is None or None in dims:
        return False
    return math.prod([dim for dim in dims if dim is not None]) <= MAX_COMPUTED
