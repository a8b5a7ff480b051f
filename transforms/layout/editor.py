"""How are ops rewritten one by one, so that the block is valid after each?

A rewritten op stands in front of the one it replaces. Values get a *twin*, the same tensor channels-last:
given by the op that makes it, or by a conversion in front of the first op that asks for it. Readers that stay
channels-first read a conversion of the twin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import AttributeValue, make, to_attribute
from onnxloom.dialects.onnx.annotations import OVERRIDABLE, is_kept
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.transforms.dim_analysis.facts import element_type
from onnxloom.transforms.fusion.spaces import shape_of
from onnxloom.transforms.layout.axes import last_type, layout_rank, permuted_type, to_first, to_last

_OpT = TypeVar("_OpT", bound=Operation)


class LayoutEditor:
    """Rewrites the ops of one block, from the first to the last."""

    def __init__(self, block: Block):
        self.block = block
        self._twins: dict[SSAValue, SSAValue] = {}
        self._broadcast: dict[tuple[SSAValue, int, bool], SSAValue] = {}
        self._renamed: dict[SSAValue, SSAValue] = {}
        """Value -> what is to be read instead. Rules know ops by what they read before."""

        self._place: Operation | None = None
        self._old: list[Operation] = []
        """Ops that are replaced, or may lose their last reader: each after those whose results it reads."""

        self._replaced: set[Operation] = set()
        """Those of them that others stand for."""

        self.conversions: list[SSAValue] = []
        """Channels-first values at the border of what is channels-last, one for each conversion."""

    def at(self, op: Operation) -> None:
        """Ops made from here on stand in front of `op`, which is replaced."""
        self._place = op
        self._old.append(op)
        self._replaced.add(op)

    def absorb(self, ops: Sequence[Operation]) -> None:
        """What these ops make is not needed, unless something else reads it."""
        self._old.extend(ops)

    def has_twin(self, value: SSAValue) -> bool:
        return value in self._twins

    def twin(self, value: SSAValue) -> SSAValue:
        return self._twins[value]

    def know(self, value: SSAValue, twin: SSAValue) -> None:
        """`twin` is `value` channels-last."""
        self._twins.setdefault(value, twin)

    def last(self, value: SSAValue) -> SSAValue:
        """The channels-last twin of a value that has a layout."""
        twin = self._twins.get(value)
        if twin is None:
            rank = layout_rank(value)
            assert rank is not None, "only values of known rank have a twin"
            array = known_array(value)
            if array is not None:
                twin = self.constant(array.transpose(to_last(rank)))
            else:
                twin = self.make(onnx.TransposeOp, [value], [last_type(value)], perm=to_last(rank)).transposed
                self.conversions.append(value)
            self._twins[value] = twin
        return twin

    def broadcast(self, value: SSAValue, rank: int, *, gives_rank: bool) -> SSAValue:
        """A value that is broadcast to a tensor of `rank` dims, so that its dims meet the same dims of the
        channels-last tensor.

        Constants lose leading dims of 1, unless the rank of the tensor may be theirs (`gives_rank`).
        """
        shape = shape_of(value)
        assert shape is not None and len(shape) <= rank
        if all(dim == 1 for dim in shape):
            return value
        key = (value, rank, gives_rank)
        if key not in self._broadcast:
            self._broadcast[key] = self._permuted(value, shape, rank, gives_rank)
        return self._broadcast[key]

    def _permuted(self, value: SSAValue, shape: tuple[int, ...], rank: int, gives_rank: bool) -> SSAValue:
        array = known_array(value)
        missing = rank - len(shape)
        if array is not None:
            full = array.reshape((1,) * missing + array.shape).transpose(to_last(rank))
            leading = 0 if gives_rank else next(axis for axis, dim in enumerate(full.shape) if dim != 1)
            return self.constant(full.reshape(full.shape[leading:]))
        if missing:
            axes = self.constant(np.arange(missing))
            element = element_type(value.type)
            assert element is not None
            type_ = TensorType(element, (*(1,) * missing, *shape))
            value = self.make(onnx.UnsqueezeOp, [value, axes], [type_]).expanded
        perm = to_last(rank)
        return self.make(onnx.TransposeOp, [value], [permuted_type(value.type, perm)], perm=perm).transposed

    def give(self, value: SSAValue, twin: SSAValue) -> None:
        """`twin` takes the place of a result of the replaced op, channels-last."""
        if twin.name_hint is None and value.name_hint is not None:
            twin.name_hint = f"{value.name_hint}_channels_last"
        self._twins[value] = twin

    def replace(self, value: SSAValue, fresh: SSAValue) -> None:
        """`fresh` takes the place of a value as it is; until the end both are there."""
        if fresh.name_hint is None:
            fresh.name_hint = value.name_hint
        self._renamed[value] = fresh

    # New ops.

    def make(
        self,
        op_class: type[_OpT],
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        *,
        name_from: Operation | None = None,
        **attributes: AttributeValue,
    ) -> _OpT:
        """An op in front of the replaced one."""
        op = make(op_class, operands, result_types, regions=(), attributes=None, **attributes)
        if name_from is not None and "onnx_node_name" in name_from.attributes:
            op.attributes["onnx_node_name"] = name_from.attributes["onnx_node_name"]
        return self.insert(op)

    def like(
        self,
        op: _OpT,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute] | None = None,
        **attributes: AttributeValue,
    ) -> _OpT:
        """A copy of `op` that reads other operands and gives channels-last what has a layout."""
        types = [last_type(r) if layout_rank(r) else r.type for r in op.results]
        changed = {
            name: to_attribute(value, type(op), name)
            for name, value in attributes.items()
            if value is not None
        }
        return self.insert(
            type(op).create(
                operands=operands,
                result_types=types if result_types is None else result_types,
                properties={**op.properties, **changed},
                attributes=dict(op.attributes),
            )
        )

    def constant(self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> SSAValue:
        return self.insert(onnx.make_constant(np.ascontiguousarray(array))).output

    def insert(self, op: _OpT) -> _OpT:
        assert self._place is not None
        self.block.insert_op_before(op, self._place)
        return op

    # The end.

    def finish(self) -> None:
        """Removes what is replaced; what still reads it reads a conversion."""
        for value, fresh in self._renamed.items():
            value.replace_all_uses_with(fresh)
        for op in reversed(self._old):
            if op not in self._replaced:
                _erase_unread(op)
                continue
            self._place = op
            for result in op.results:
                twin = self._twins.get(result)
                if result.first_use is None or twin is None:
                    continue
                rank = layout_rank(result)
                assert rank is not None
                back = self.make(onnx.TransposeOp, [twin], [result.type], perm=to_first(rank)).transposed
                back.name_hint = result.name_hint
                self.conversions.append(back)
                result.replace_all_uses_with(back)
            _erase(op)


def _erase(op: Operation) -> None:
    """Removes an op nobody reads, and the constants that only it reads."""
    operands = tuple(op.operands)
    op.detach()
    op.erase()
    for operand in operands:
        if isinstance(operand.owner, onnx.ConstantOp | onnx.NoValueOp):
            _erase_unread(operand.owner)


def _erase_unread(op: Operation) -> None:
    is_read = any(result.first_use is not None for result in op.results)
    if op.parent is not None and not is_read and OVERRIDABLE not in op.attributes and not is_kept(op):
        _erase(op)


def known_array(value: SSAValue) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None:
    """The array of a constant that nobody may override."""
    owner = value.owner
    if not isinstance(owner, onnx.ConstantOp) or OVERRIDABLE in owner.attributes:
        return None
    return constant_value(value)
