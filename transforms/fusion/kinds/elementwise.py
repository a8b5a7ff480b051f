"""`onnx.elementwise`: a connected DAG of elementwise ops as one loop over memory.

    x ──► Mul ──► Add ──► Relu ──► y        every op has the shape of the loop; inputs broadcast to it
           └────────────► z                 any number of results, all of the loop's full shape

A smaller value computed on the way (a scale of one channel) is taken in only when computing it again
for each element of the loop is cheap; it is never a result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import ClassVar, Final, Self, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.semantics import scalar_semantics, semantics_table
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.body import externals_of, is_cloned
from onnxloom.transforms.fusion.conditions import prove_full, to_conditions, to_equalities
from onnxloom.transforms.fusion.early import is_known_early
from onnxloom.transforms.fusion.estimate import estimate
from onnxloom.transforms.fusion.grow import Chain, grow, results_of
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.order import producer_in
from onnxloom.transforms.fusion.readers import not_elementwise
from onnxloom.transforms.fusion.spaces import Spaces, broadcast_reads, shape_of, why_not_aligned

MAX_RANK: Final = 8
"""Dims of the loop nest before adjacent ones are merged."""

MAX_INPUTS: Final = 16
"""Tensors read by one kernel, constants with more than one element included."""

MAX_RESULTS: Final = 8

MAX_READERS: Final = 64
"""Readers of one value up to which they leave the match to its producer; keeps detection linear."""

SMALL_LOOP: Final = 4096
"""Elements below which computing a cheap smaller value again costs less than a launch."""

CHEAP: Final[frozenset[type[Operation]]] = frozenset(
    {
        onnx.AbsOp, onnx.AddOp, onnx.AndOp, onnx.CastOp, onnx.ClipOp, onnx.EqualOp, onnx.GreaterOp,
        onnx.GreaterOrEqualOp, onnx.IdentityOp, onnx.LessOp, onnx.LessOrEqualOp, onnx.MaxOp, onnx.MinOp,
        onnx.MulOp, onnx.NegOp, onnx.NotOp, onnx.OrOp, onnx.ReluOp, onnx.SubOp, onnx.WhereOp, onnx.XorOp,
    }
)  # fmt: skip
"""Ops of about one instruction per vector."""


class ElementwiseFusion(FusionOpKindHelper):
    """A DAG of elementwise ops."""

    kind: ClassVar[str] = "onnx.elementwise"
    anchors: ClassVar[tuple[type[Operation], ...]] = tuple(semantics_table())
    max_op_count: ClassVar[int] = 64
    benefit: ClassVar[int] = 1
    """After every kind that has elementwise ops at its ends."""

    loop_rank: int
    """Rank of every result."""

    op_count: int
    """Ops of the chain."""

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        problem = _unfit(anchor, dims)
        if problem is not None:
            return problem
        walk = _Walk(dims, anchor.results[0])
        owner = walk.owner_of(anchor)
        if owner is not None:
            return Miss(f"belongs to the chain that starts with {owner.name}", owner=owner)

        chain = grow(anchor, walk.join, lead=walk.lead(anchor))
        ops = chain.best(lambda step: 0 < step.open_values <= MAX_RESULTS)
        match = walk.match(cls, ops, chain)
        if isinstance(match, Miss) and len(ops) > 1:
            # One result is always full: everything in the chain flows into it.
            match = walk.match(cls, chain.best(lambda step: step.open_values == 1), chain)
        return match

    def verify(self, body: Body) -> Miss | None:
        if len(body.ops) != self.op_count:
            return Miss(f"the body has {len(body.ops)} ops; expected {self.op_count}")
        for op in body.ops:
            semantics = scalar_semantics(op)
            if semantics is None:
                return Miss(f"{op.name} of this form is not elementwise")
            if broadcast_reads(op, semantics) is None:
                return Miss(f"the rank of an operand of {op.name} is not known")
        problem = why_not_aligned(body.ops)
        if problem is not None:
            return Miss(problem)
        for result in body.results:
            shape = shape_of(result)
            if shape is None or len(shape) != self.loop_rank:
                return Miss(f"a result has type {result.type}; expected rank {self.loop_rank}")
        if self.loop_rank > MAX_RANK:
            return Miss(f"a loop of rank {self.loop_rank} is above {MAX_RANK}")
        spaces = Spaces(to_equalities(self.dim_conditions, body.inputs))
        proofs = prove_full(body.ops, body.results, spaces)
        return proofs if isinstance(proofs, Miss) else None


def _unfit(op: Operation, dims: DimAnalysis) -> Miss | None:
    """Why `op` cannot be in any chain of this kind."""
    semantics = scalar_semantics(op)
    if semantics is None:
        return not_elementwise(op)
    if broadcast_reads(op, semantics) is None:
        return Miss(f"the rank of an operand of {op.name} is not known")
    shape = shape_of(op.results[0])
    if shape is None:
        return Miss(f"the rank of the result of {op.name} is not known")
    if len(shape) > MAX_RANK:
        return Miss(f"the result of {op.name} has rank {len(shape)}, above {MAX_RANK}")
    if is_known_early(op, dims):
        return Miss(f"{op.name} computes from shapes and constants alone, before any kernel runs")
    return None


FusionT = TypeVar("FusionT", bound=ElementwiseFusion)


class _Walk:
    """What may join a chain whose loop has the shape of `space`."""

    def __init__(self, dims: DimAnalysis, space: SSAValue):
        self.dims = dims
        self.space = space

    def owner_of(self, anchor: Operation) -> Operation | None:
        """The producer whose chain takes the anchor in anyway; at most a short walk."""
        block = anchor.parent
        assert block is not None
        for operand in anchor.operands:
            producer = producer_in(block, operand)
            if producer is None or scalar_semantics(producer) is None:
                continue
            if len(tuple(islice(operand.uses, MAX_READERS + 1))) > MAX_READERS:
                continue
            if not self._has_full_shape(operand) or _unfit(producer, self.dims) is not None:
                continue
            if anchor in grow(producer, self.join, until=anchor):
                return producer
        return None

    def lead(self, anchor: Operation) -> list[Operation]:
        """The producers the head of a chain takes in: those of smaller values."""
        block = anchor.parent
        assert block is not None
        taken: list[Operation] = []
        self._take_producers(Chain(block), anchor, taken)
        return taken

    def join(self, chain: Chain, op: Operation) -> list[Operation] | Miss:
        problem = _unfit(op, self.dims)
        if problem is not None:
            return problem
        if not self._has_full_shape(op.results[0]):
            return Miss(f"the result of {op.name} is not proven to have the shape of the loop")
        taken: list[Operation] = []
        problem = self._take_producers(chain, op, taken)
        if problem is not None:
            return problem
        taken.append(op)
        if len(chain) + len(taken) > ElementwiseFusion.max_op_count:
            return Miss(f"the chain has {len(chain)} ops already")
        if chain.input_count_with(taken) > MAX_INPUTS:
            return Miss(f"{op.name} would give the kernel more than {MAX_INPUTS} inputs")
        return taken

    def _take_producers(self, chain: Chain, op: Operation, taken: list[Operation]) -> Miss | None:
        """Takes in producers only the chain reads; a late one that cannot be is a reason to stop."""
        for operand in op.operands:
            producer = producer_in(chain.block, operand)
            if producer is None or producer in chain or producer in taken or is_cloned(operand):
                continue
            before = len(taken)
            problem = self._why_not_take(chain, op, operand, producer, taken)
            if problem is None:
                problem = self._take_producers(chain, producer, taken)
            if problem is None:
                taken.append(producer)
                continue
            del taken[before:]
            if chain.is_late(operand):
                return problem
        return None

    def _why_not_take(
        self, chain: Chain, op: Operation, operand: SSAValue, producer: Operation, taken: Sequence[Operation]
    ) -> Miss | None:
        late = f"{producer.name} comes after a value of the chain has been read outside"
        if _unfit(producer, self.dims) is not None:
            return Miss(late)
        readers = (use.operation for use in operand.uses)
        if not all(reader is op or reader in chain or reader in taken for reader in readers):
            return Miss(f"{late} and is itself read elsewhere")
        if self._has_full_shape(operand) or self._is_cheap_again(producer):
            return None
        return Miss(f"computing the smaller result of {producer.name} for each element is not cheap")

    def _has_full_shape(self, value: SSAValue) -> bool:
        shape = shape_of(value)
        if shape is None:
            return False
        if shape == shape_of(self.space) and DYNAMIC_INDEX not in shape:
            return True
        return self.dims.same_shape(value, self.space)

    def _is_cheap_again(self, producer: Operation) -> bool:
        ratio = repetition(producer.results[0], self.space)
        if ratio == 1:
            return True
        full = shape_of(self.space)
        assert full is not None
        is_small = DYNAMIC_INDEX not in full and math.prod(full) <= SMALL_LOOP
        return type(producer) in CHEAP and (ratio <= 4 or is_small)

    def match(self, cls: type[FusionT], ops: Sequence[Operation], chain: Chain) -> Match[FusionT] | Miss:
        if len(ops) < 2:
            alone = f"{ops[0].name} alone is not worth a fused op" if ops else "no legal chain"
            return chain.stops[0].within(alone) if chain.stops else Miss(alone)
        problem = why_not_aligned(ops)
        if problem is not None:
            return Miss(problem)
        results = results_of(ops)
        spaces = Spaces()
        proofs = prove_full(ops, results, spaces, self.dims)
        if isinstance(proofs, Miss):
            return proofs
        shape = shape_of(self.space)
        assert shape is not None
        conditions = to_conditions(proofs, externals_of(ops).inputs)
        helper = cls(len(shape), len(ops), dim_conditions=conditions)
        benefit = estimate(ops, results, self._recomputed(ops))
        if not benefit.is_worth_it():
            return Miss(f"not worth it: {benefit}")
        return Match(helper, tuple(ops), tuple(results), benefit, tuple(chain.stops))

    def _recomputed(self, ops: Sequence[Operation]) -> int:
        """Scalars computed more than once; unknown dims count as 1."""
        full = math.prod(d for d in shape_of(self.space) or () if d != DYNAMIC_INDEX)
        own = (math.prod(d for d in shape_of(op.results[0]) or () if d != DYNAMIC_INDEX) for op in ops)
        return sum(max(full - size, 0) for size in own)


def repetition(value: SSAValue, space: SSAValue) -> float:
    """How often each element of `value` is used in a loop over `space`.

    Infinite where a dim of 1 meets an unknown one; two unknown dims are taken to be equal.
    """
    own, full = shape_of(value), shape_of(space)
    if own is None or full is None:
        return math.inf
    ratio = 1.0
    padded = (1,) * (len(full) - len(own)) + own
    for mine, size in zip(padded, full, strict=True):
        if mine == 1 and size != 1:
            ratio *= math.inf if size == DYNAMIC_INDEX else max(size, 1)
    return ratio
