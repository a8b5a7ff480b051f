"""What may a pattern ask about the graph it rewrites?

One index stands for one block: the body of a function or of a control-flow op. Every question is
answered in constant time (lists in the time it takes to write them down), and never by an exception:
what is not known is None, what does not hold is False. A value read inside a nested region counts as
used by the op that holds the region.

The driver tells the index of every edit; `validate` compares it with a fresh look at the block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from onnx import defs
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import AttributeValue, make
from onnxloom.dialects.onnx.annotations import is_kept
from onnxloom.dialects.onnx.captures import captures
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.transforms.dim_analysis import DimAnalysis, DimExpr
from onnxloom.transforms.dim_analysis.facts import Shape, element_type, numbers
from onnxloom.transforms.rewriting import validate
from onnxloom.transforms.rewriting.block_order import BlockOrder
from onnxloom.transforms.rewriting.constants import ConstantValues, Number
from onnxloom.transforms.rewriting.new_ops import declared_result_types, padded, settle_types

_OpT = TypeVar("_OpT", bound=Operation)


class GraphIndex:
    """The values and ops of one block."""

    def __init__(
        self,
        graph: Block | FuncOp,
        dims: DimAnalysis | None = None,
        *,
        opset: int | None = None,
        keep: Callable[[Operation], bool] | None = None,
        constants: ConstantValues | None = None,
    ):
        """
        Args:
            graph: the block, or the function whose body it is.
            dims: what is known of the values; found out when left out.
            opset: version of the default domain that results may use; the newest when left out.
            keep: further ops that no rewrite may remove.
            constants: values computed so far, when several indexes share them.
        """
        self.block: Final[Block] = graph.body.block if isinstance(graph, FuncOp) else graph
        self.dims: Final = DimAnalysis.of(_root(self.block)) if dims is None else dims
        self.constants: Final = ConstantValues() if constants is None else constants
        self._opset = opset
        self._may_never_run = not isinstance(self.block.parent_op(), FuncOp)
        self._keep = keep
        self.order = BlockOrder()
        self.made: list[Operation] = []
        """Ops that `make` has made since the driver last looked through them."""

        self.outputs: dict[SSAValue, int] = {}
        """Values the block ends with -> how often."""

        self.captures: dict[SSAValue, int] = {}
        """Values that nested regions read -> how often."""

        for op in self.block.ops:
            self._count(op, 1)

    # The graph.

    def opset(self, domain: str = "") -> int:
        """The version of a domain that results may use; 0 for a domain nobody knows."""
        domain = "" if domain == "ai.onnx" else domain
        if domain == "" and self._opset is not None:
            return self._opset
        return _newest(domain)

    def producer(self, value: SSAValue) -> Operation | None:
        """The op of the block that makes a value; None for arguments and values of outer blocks."""
        owner = value.owner
        return owner if isinstance(owner, Operation) and owner.parent is self.block else None

    def is_of_block(self, value: SSAValue) -> bool:
        """Whether the value is made in the block or is an argument of it."""
        owner = value.owner
        return owner is self.block if isinstance(owner, Block) else owner.parent is self.block

    def producer_of(self, value: SSAValue, *op_classes: type[_OpT]) -> _OpT | None:
        """The producer, when it is of one of these classes."""
        owner = value.owner
        if isinstance(owner, op_classes) and owner.parent is self.block:
            return owner
        return None

    def uses(self, value: SSAValue) -> tuple[tuple[Operation, int], ...]:
        """(reader, operand index) in block order, readers in nested regions included."""
        found = [(user, op, index) for user, op, index in self._attached_uses(value)]
        if len(found) > 1:
            found.sort(key=lambda use: (self.order.position(use[0]), use[1] is not use[0], use[2]))
        return tuple((op, index) for _, op, index in found)

    def consumers(self, value: SSAValue) -> tuple[Operation, ...]:
        """The distinct ops of the block that read a value, in order; of a nested reader, its holder."""
        found = dict.fromkeys(user for user, _, _ in self._attached_uses(value))
        return tuple(found) if len(found) < 2 else tuple(sorted(found, key=self.order.position))

    def readers(self, value: SSAValue) -> Iterator[Operation]:
        """The ops of the block that read a value, once per use, in no order; stop early where it can be."""
        return (user for user, _, _ in self._attached_uses(value))

    def only_consumer(self, value: SSAValue) -> Operation | None:
        """The one op that reads a private value, however often; None for other values."""
        if not self.is_private(value):
            return None
        return next(user for user, _, _ in self._attached_uses(value))

    def successors(self, op: Operation) -> tuple[Operation, ...]:
        """The distinct ops of the block that read a result of `op`, in order."""
        found = dict.fromkeys(user for result in op.results for user, _, _ in self._attached_uses(result))
        return tuple(sorted(found, key=self.order.position))

    def predecessors(self, op: Operation) -> tuple[Operation, ...]:
        """The distinct ops of the block that make an operand of `op`, in operand order."""
        producers = (self.producer(operand) for operand in op.operands)
        return tuple(dict.fromkeys(producer for producer in producers if producer is not None))

    def position(self, op: Operation) -> int:
        """Grows along the block; says nothing else."""
        return self.order.position(op)

    def is_output(self, value: SSAValue) -> bool:
        """Whether the block ends with the value."""
        return value in self.outputs

    def is_used(self, value: SSAValue) -> bool:
        return next(self._attached_uses(value), None) is not None

    def is_used_more_than_once(self, value: SSAValue) -> bool:
        """Whether the value is an output, captured by a nested region, or read by two ops or more.

        `Mul(v, v)` alone is one reader.
        """
        if value in self.outputs or value in self.captures:
            return True
        first: Operation | None = None
        for user, _, _ in self._attached_uses(value):
            if first is not None and user is not first:
                return True
            first = user
        return False

    def is_used_by_subgraph(self, value: SSAValue) -> bool:
        """Whether a nested region reads the value."""
        return value in self.captures

    def is_private(self, value: SSAValue) -> bool:
        """Exactly one op reads the value; it is no output and no nested region reads it."""
        return self.is_used(value) and not self.is_used_more_than_once(value)

    def is_used_only_by(self, value: SSAValue, ops: Collection[Operation]) -> bool:
        """Whether all readers are among `ops`; what an op's regions read counts as read by the op."""
        return all(user in ops for user, _, _ in self._attached_uses(value))

    def is_kept(self, op: Operation) -> bool:
        """Whether no rewrite may remove the op."""
        return is_kept(op) or (self._keep is not None and self._keep(op))

    # Types and dims.

    def type_of(self, value: SSAValue) -> Attribute:
        return value.type

    def shape(self, value: SSAValue) -> Shape | None:
        """One expression per axis; None when the rank is not known or the value is no tensor."""
        return self.dims.shape(value)

    def rank(self, value: SSAValue) -> int | None:
        shape = self.dims.shape(value)
        return None if shape is None else len(shape)

    def dim(self, value: SSAValue, axis: int) -> DimExpr | None:
        """The dim of an axis, negative ones counted from the end."""
        shape = self.dims.shape(value)
        if shape is None or not -len(shape) <= axis < len(shape):
            return None
        return shape[axis]

    def static_shape(self, value: SSAValue) -> tuple[int, ...] | None:
        """The dims when all of them are numbers."""
        return numbers(self.dims.shape(value))

    def element_type(self, value: SSAValue) -> Attribute | None:
        return element_type(value.type)

    def dtype(self, value: SSAValue) -> np.dtype[Any] | None:
        element = element_type(value.type)
        return None if element is None else ELEMENT_TO_DTYPE.get(element)

    def same_dim(self, left: SSAValue, left_axis: int, right: SSAValue, right_axis: int) -> bool:
        """Whether two dims are provably equal."""
        dim = self.dim(left, left_axis)
        return dim is not None and dim == self.dim(right, right_axis)

    def same_shape(self, left: SSAValue, right: SSAValue) -> bool:
        """Whether two tensors provably have the same rank and dims."""
        return self.dims.same_shape(left, right)

    # Constants.

    def is_constant(self, value: SSAValue) -> bool:
        """Whether the value is a constant, or computed from constants by ops that always do the same."""
        return self.constants.is_constant(value)

    def constant(self, value: SSAValue) -> np.ndarray[Any, Any] | None:
        """The read-only array of a constant; None when there is none or it is too large to compute."""
        return self.constants.array(value)

    def constant_shape(self, value: SSAValue) -> tuple[int, ...] | None:
        """The shape of a constant, told without computing it."""
        return self.static_shape(value) if self.is_constant(value) else None

    def constant_scalar(self, value: SSAValue, broadcast: bool = False) -> Number | None:
        """The number in a constant of shape () or (1,); with `broadcast`, of any shape of ones."""
        shape = self.constant_shape(value)
        if shape is None or any(dim != 1 for dim in shape) or (len(shape) > 1 and not broadcast):
            return None
        return self.constants.number(value)

    def is_constant_scalar(
        self, value: SSAValue, number: Number | None = None, broadcast: bool = False
    ) -> bool:
        """Whether the value is such a constant, and equals `number` if given: 0.0 and -0.0 differ."""
        found = self.constant_scalar(value, broadcast)
        if found is None or number is None:
            return found is not None
        return found == number and (
            not isinstance(found, float) or bool(np.signbit(found)) == bool(np.signbit(float(number)))
        )

    def constant_ints(self, value: SSAValue) -> tuple[int, ...] | None:
        """The elements of an integer constant of rank 0 or 1."""
        dtype = self.dtype(value)
        if dtype is None or dtype.kind not in "iu" or not self.is_constant(value):
            return None
        array = self.constant(value)
        return None if array is None or array.ndim > 1 else tuple(array.reshape(-1).tolist())

    # New ops.

    def make(
        self,
        op_class: type[_OpT],
        operands: Sequence[SSAValue | None],
        *,
        result_types: Sequence[Attribute] | None = None,
        regions: Sequence[Region] = (),
        name_from: Operation | None = None,
        **attributes: AttributeValue,
    ) -> _OpT:
        """A detached op of the onnx dialect.

        Args:
            operands: None for an optional one that is left out; trailing ones need not be given.
            result_types: inferred when left out; then optional results are absent.
            name_from: an op whose node name the result takes over.
            **attributes: Python values or attributes; those that are None are left out.

        Raises:
            PassError: the types of the results cannot be told.
            ModelError: the shapes of the operands contradict each other.
        """
        values = padded(op_class, operands)
        declared = declared_result_types(op_class, values, result_types)
        op = make(op_class, values, declared, regions=regions, attributes=None, **attributes)
        self.made.append(op)
        settle_types(op, self.dims, may_never_run=self._may_never_run)
        if name_from is not None and "onnx_node_name" in name_from.attributes:
            op.attributes["onnx_node_name"] = name_from.attributes["onnx_node_name"]
        return op

    def make_constant(self, array: np.ndarray[Any, Any] | np.generic) -> onnx.ConstantOp:
        """A detached constant. The array is kept, not copied, when it is large."""
        return onnx.make_constant(array)

    # Upkeep, for the driver.

    def validate(self) -> None:
        """Compares the index with the block by brute force; raises PassError for the first difference."""
        validate.validate(self)

    def inserted(self, ops: Sequence[Operation], next_op: Operation) -> None:
        """`ops` were put in front of `next_op`."""
        self.order.inserted_before(ops, next_op)
        for op in ops:
            self._count(op, 1)

    def moved(self, op: Operation, next_op: Operation) -> None:
        """`op` was taken from its place and put in front of `next_op`."""
        self.order.inserted_before(op, next_op)

    def removed(self, op: Operation) -> None:
        """`op` is about to be detached."""
        self._count(op, -1)
        self.order.forget(op)

    def replaced(self, old: SSAValue, fresh: SSAValue) -> None:
        """All readers of `old` read `fresh` from here on."""
        for counts in (self.outputs, self.captures):
            count = counts.pop(old, 0)
            if count:
                counts[fresh] = counts.get(fresh, 0) + count

    def _count(self, op: Operation, sign: int) -> None:
        if op.has_trait(IsTerminator):
            for operand in op.operands:
                _add(self.outputs, operand, sign)
        for value in captures(op):
            _add(self.captures, value, sign)

    def _attached_uses(self, value: SSAValue) -> Iterator[tuple[Operation, Operation, int]]:
        """(op of the block, op that reads, operand index); ops that are not attached do not count."""
        block = self.block
        for use in value.uses:
            reader = use.operation
            holder: Operation | None = reader
            while holder is not None and holder.parent is not block:
                holder = holder.parent_op()
            if holder is not None:
                yield holder, reader, use.index


def _add(counts: dict[SSAValue, int], value: SSAValue, sign: int) -> None:
    count = counts.get(value, 0) + sign
    if count > 0:
        counts[value] = count
    else:
        counts.pop(value, None)


def _root(block: Block) -> Operation:
    """The function or module around a block."""
    op = block.parent_op()
    while op is not None and not isinstance(op, FuncOp | ModuleOp):
        op = op.parent_op()
    if op is None:
        raise ValueError("the block stands in no function; expected the body of a func.func or a part of one")
    return op


def _newest(domain: str) -> int:
    if domain == "":
        return defs.onnx_opset_version()
    versions = [schema.since_version for schema in defs.get_all_schemas() if schema.domain == domain]
    return max(versions, default=0)
