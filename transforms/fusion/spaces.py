"""Which dims does a value of a chain have, in terms of the dims of what the chain reads?

A dim is a number, or the unknown dim `(value, axis)` of an input. Each axis of a value is the set of
input dims that are broadcast together there. The same rules serve detection, where inputs are values
of the graph, and the check of a body, where they are block arguments: what detection may use beyond
the types is a list of equal dims, and it must write that list down as `dim_conditions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.dialects.onnx.semantics import ScalarSemantics, scalar_semantics

Symbol: TypeAlias = tuple[SSAValue, int]
"""A dynamic dim of an input: value and axis."""

Dim: TypeAlias = int | Symbol
Axis: TypeAlias = frozenset[Dim]
"""Dims broadcast together, without the ones; empty: the dim is 1."""

Space: TypeAlias = tuple[Axis, ...]
"""From the last axis to the first."""

Equality: TypeAlias = tuple[Symbol, Symbol]


def shape_of(value: SSAValue) -> tuple[int, ...] | None:
    """The dims of a ranked tensor, -1 where dynamic; None for any other value."""
    type_ = value.type
    return cast(TensorType[Attribute], type_).get_shape() if isinstance(type_, TensorType) else None


def element_of(value: SSAValue) -> Attribute | None:
    """Element type of a ranked tensor."""
    type_ = value.type
    return cast(TensorType[Attribute], type_).element_type if isinstance(type_, TensorType) else None


@dataclass(frozen=True)
class Read:
    """One operand of an elementwise op."""

    value: SSAValue

    trailing: int
    """How many dims follow it: 0 for numpy's broadcasting, more for a per-axis scale."""


def broadcast_reads(op: Operation, semantics: ScalarSemantics) -> tuple[Read, ...] | None:
    """The operands whose elements an elementwise op reads; None when a rank is not known."""
    reads: list[Read] = []
    for index in semantics.reads(op):
        operand = op.operands[index]
        shape, first = shape_of(operand), shape_of(op.operands[0])
        if shape is None or first is None:
            return None
        axis = semantics.axis(op, index)
        trailing = 0
        if axis is not None:
            trailing = max(len(first) - 1 - (axis + len(first) if axis < 0 else axis), 0)
        reads.append(Read(operand, trailing))
    return tuple(reads)


def why_not_aligned(
    ops: Iterable[Operation], made: Iterable[SSAValue] = (), reads: Iterable[Read] = ()
) -> str | None:
    """Why one kernel cannot read the operands of these elementwise ops, each at one place.

    A per-axis operand is read along its axis: it must come from outside, and always along that axis.
    `made` are values that the kernel makes besides, `reads` what it reads besides.
    """
    own = set(made)
    seen = {read.value: read.trailing for read in reads}
    for op in ops:
        semantics = scalar_semantics(op)
        for read in () if semantics is None else broadcast_reads(op, semantics) or ():
            if read.trailing and read.value in own:
                return f"{op.name} reads a value of the chain along one axis"
            if seen.setdefault(read.value, read.trailing) != read.trailing:
                return f"{op.name} reads a value along another axis than an op before it"
        own.update(op.results)
    return None


class Spaces:
    """The spaces of the values of one chain."""

    def __init__(self, equalities: Iterable[Equality] = ()):
        self._spaces: dict[SSAValue, Space | None] = {}
        self._parents: dict[Symbol, Dim] = {}
        for left, right in equalities:
            self._join(left, right)

    def assume(self, value: SSAValue, space: Space) -> None:
        """Sets the space of a value that is not made by an elementwise op."""
        self._spaces[value] = space

    def input(self, value: SSAValue) -> Space | None:
        """The space of something the chain reads; None when its rank is not known."""
        shape = shape_of(value)
        if shape is None:
            return None
        axes = [self._axis(value, axis, size) for axis, size in enumerate(shape)]
        return tuple(reversed(axes))

    def of(self, value: SSAValue, inside: Callable[[Operation], bool]) -> Space | None:
        """The space of any value; ops for which `inside` holds belong to the chain."""
        if value in self._spaces:
            return self._spaces[value]
        owner = value.owner
        space = None
        if isinstance(owner, Operation) and inside(owner):
            semantics = scalar_semantics(owner)
            reads = None if semantics is None else broadcast_reads(owner, semantics)
            if reads is not None:
                space = broadcast([self._shifted(self.of(r.value, inside), r.trailing) for r in reads])
        else:
            space = self.input(value)
        self._spaces[value] = space
        return space

    def _shifted(self, space: Space | None, trailing: int) -> Space | None:
        empty: Axis = frozenset()
        return None if space is None else (empty,) * trailing + space

    def find(self, dim: Dim) -> Dim:
        """The representative of all dims equal to this one."""
        while not isinstance(dim, int) and dim in self._parents:
            dim = self._parents[dim]
        return dim

    def _axis(self, value: SSAValue, axis: int, size: int) -> Axis:
        dim = self.find((value, axis)) if size == DYNAMIC_INDEX else size
        return frozenset() if dim == 1 else frozenset((dim,))

    def _join(self, left: Symbol, right: Symbol) -> None:
        a, b = self.find(_static(left)), self.find(_static(right))
        if a == b:
            return
        # A number stays the representative, so that all dims equal to it are that number.
        if isinstance(a, int):
            a, b = b, a
        if not isinstance(a, int):
            self._parents[a] = b


def _static(symbol: Symbol) -> Dim:
    value, axis = symbol
    shape = shape_of(value)
    return symbol if shape is None or shape[axis] == DYNAMIC_INDEX else shape[axis]


def broadcast(spaces: Sequence[Space | None]) -> Space | None:
    """The space of values broadcast together."""
    known = [space for space in spaces if space is not None]
    if len(known) != len(spaces) or not known:
        return None
    rank = max(map(len, known))
    empty: Axis = frozenset()
    return tuple(empty.union(*(space[a] for space in known if a < len(space))) for a in range(rank))


def missing(own: Space, full: Space) -> list[tuple[Axis, Axis]] | None:
    """The axes along which `own` may be smaller than `full`, the space of a broadcast it took part in.

    Each as (dims of own, dims it lacks). None when the ranks differ. A dim of own that is a number other
    than 1 is never smaller: the broadcast is legal only if it is the full dim.
    """
    if len(own) != len(full):
        return None
    gaps: list[tuple[Axis, Axis]] = []
    for mine, all_dims in zip(own, full, strict=True):
        lacking = all_dims - mine
        if lacking and not any(isinstance(dim, int) for dim in mine):
            gaps.append((mine, lacking))
    return gaps
