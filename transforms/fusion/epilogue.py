"""What joins a product (MatMul, Conv, ...) as its epilogue? Shared by the kinds that are named after one.

    product ──► Add(bias) ──► Gelu ──► Add(residual) ──► y

The epilogue has the product's own shape throughout and one result; inside, values may be read several
times (an activation spelled out in Div, Erf, Add and Mul). Of two products that meet in an Add, the
later one takes the Add: the earlier result is there when the later one is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, bf16, f16, f32, f64
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.semantics import scalar_semantics
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.body import externals_of
from onnxloom.transforms.fusion.conditions import prove_full, to_conditions, to_equalities
from onnxloom.transforms.fusion.estimate import estimate
from onnxloom.transforms.fusion.grow import Chain, Step, grow, results_of
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.order import producer_in
from onnxloom.transforms.fusion.readers import not_elementwise
from onnxloom.transforms.fusion.spaces import (
    Equality,
    Read,
    Space,
    Spaces,
    broadcast_reads,
    element_of,
    shape_of,
    why_not_aligned,
)

MAX_INPUTS: Final = 12
"""Tensors read by one kernel: the factors, then what the epilogue reads."""

ELEMENTS: Final = (bf16, f16, f32, f64)
"""Element types of the products with a tile kernel."""

PRODUCERS: Final = (
    onnx.MatMulOp,
    onnx.GemmOp,
    onnx.ConvOp,
    onnx.ConvTransposeOp,
    onnx.MatMulIntegerOp,
    onnx.ConvIntegerOp,
    onnx.QLinearConvOp,
    onnx.QLinearMatMulOp,
)
"""Of two of these that meet in an elementwise op, the later one may take it."""


@dataclass(frozen=True)
class Core:
    """What an epilogue follows: a product, and ops around it that the kernel computes along with it."""

    product: Operation
    lead: tuple[Operation, ...] = ()
    """Ops whose results only the product, or another of them, reads; each after what it reads."""
    trail: tuple[Operation, ...] = ()
    """Ops from the product to the output, each read by the next only."""

    @property
    def ops(self) -> tuple[Operation, ...]:
        """All of them, each after what it reads."""
        return (*self.lead, self.product, *self.trail)

    @property
    def output(self) -> SSAValue:
        """What the epilogue starts from."""
        return self.ops[-1].results[0]


class EpilogueFusion(FusionOpKindHelper, abstract=True):
    """A product with its epilogue; a kind says which products, of which shape, beside which operands."""

    max_op_count: ClassVar[int] = 32
    benefit: ClassVar[int] = 100

    op_count: int
    """Ops of the chain, the product included."""

    @classmethod
    def unfit_product(cls, op: Operation) -> Miss | None:
        """Why an op is not a product this kind can compute."""
        raise NotImplementedError

    @classmethod
    def core_of(cls, product: Operation) -> Core | Miss:
        """A product that is fit with the ops around it that are computed along with it."""
        return Core(product)

    @classmethod
    def product_space(cls, product: Operation, spaces: Spaces) -> Space:
        """The space of the output of the core of a product that is fit."""
        raise NotImplementedError

    @classmethod
    def unfit_operand(cls, product: Operation, read: Read) -> str | None:
        """Why the kernel cannot read an operand of the epilogue beside the product's result."""
        raise NotImplementedError

    @classmethod
    def unfit_member(cls, op: Operation) -> Miss | None:
        """Why an op that could be in the epilogue is better left outside."""
        return None

    @classmethod
    def is_end(cls, op: Operation) -> bool:
        """Whether a chain may end with this op."""
        return True

    @classmethod
    def producers_taken(cls, op: Operation, chain: Chain) -> Sequence[Operation]:
        """Ops that only `op` reads and that join along with it."""
        return ()

    @classmethod
    def addend_reads(cls, product: Operation) -> Sequence[Read]:
        """What the product itself adds to its sums, as the epilogue reads it."""
        return ()

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        problem = cls.unfit_product(anchor)
        if problem is not None:
            return problem
        core = cls.core_of(anchor)
        if isinstance(core, Miss):
            return core
        walk = _Walk(cls, dims, core)
        *lead, head = core.ops
        chain = grow(head, walk.join, lead=lead, visit=walk.note_owner)
        reason = chain.stops[0] if chain.stops else Miss("nothing reads the product")
        # Not only the longest: a dim that cannot be proven equal may come in with a late op.
        legal = [step for step in chain.steps if step.open_values == 1 and step.op_count > 1]
        for step in reversed(legal):
            if not cls.is_end(chain.ops[step.op_count - 1]):
                continue
            match = walk.match(cls, step, chain)
            if isinstance(match, Match):
                return match
            reason = match
        return reason

    def verify(self, body: Body) -> Miss | None:
        if len(body.ops) != self.op_count:
            return Miss(f"the body has {len(body.ops)} ops; expected {self.op_count}")
        core = core_in(type(self), body)
        if isinstance(core, Miss):
            return core
        product, epilogue = core.product, body.ops[len(core.ops) :]
        if len(body.results) != 1:
            return Miss(f"the body yields {len(body.results)} values; expected one")
        if any(operand.owner in set(epilogue) for op in core.ops for operand in op.operands):
            return Miss(f"{product.name} reads a value of its own epilogue")
        made = {result for op in body.ops for result in op.results}
        for op in epilogue:
            problem = _unfit_op(type(self), product, op, made)
            if problem is not None:
                return problem
        reason = why_not_aligned(epilogue, [core.output], self.addend_reads(product))
        if reason is not None:
            return Miss(reason)
        spaces = Spaces(to_equalities(self.dim_conditions, body.inputs))
        spaces.assume(core.output, self.product_space(product, spaces))
        proofs = prove_full([core.ops[-1], *epilogue], [core.output, body.results[0]], spaces)
        return proofs if isinstance(proofs, Miss) else None


def core_in(kind: type[EpilogueFusion], body: Body) -> Core | Miss:
    """The core a body begins with."""
    product = next((op for op in body.ops if isinstance(op, kind.anchors)), body.ops[0])
    problem = kind.unfit_product(product)
    if problem is not None:
        return problem
    core = kind.core_of(product)
    if isinstance(core, Miss):
        return core
    # Ops that come first in a body need not be in the order of the core.
    if set(body.ops[: len(core.ops)]) != set(core.ops) or body.ops[len(core.ops) - 1] is not core.ops[-1]:
        return Miss(f"the body does not begin with {product.name} and what belongs to it")
    return core


def only_reader(value: SSAValue) -> Operation | None:
    """The one op that reads a value, None if there are more or none."""
    readers = [use.operation for use in value.uses]
    return readers[0] if len(readers) == 1 else None


def _is_between_transposes(op: Operation) -> bool:
    """Whether an op reads the result of a Transpose and is read by one alone."""
    return isinstance(op.operands[0].owner, onnx.TransposeOp) and isinstance(
        only_reader(op.results[0]), onnx.TransposeOp
    )


def unfit_factors(op: Operation, least_rank: int) -> Miss | None:
    """Why the first two operands and the result of a product are nothing a kernel multiplies."""
    for factor in op.operands[:2]:
        shape = shape_of(factor)
        if shape is None:
            return Miss(f"{op.name} of a tensor of unknown rank")
        if len(shape) < least_rank:
            return Miss(f"{op.name} of a tensor of rank {len(shape)}")
    left, right = (element_of(factor) for factor in op.operands[:2])
    if left not in ELEMENTS:
        return Miss(f"{op.name} of element type {left} has no tile kernel")
    if left != right:
        return Miss(f"{op.name} of element types {left} and {right}")
    if shape_of(op.results[0]) is None:
        return Miss(f"the rank of the result of {op.name} is not known")
    return None


def _unfit_op(
    kind: type[EpilogueFusion], product: Operation, op: Operation, made: Iterable[SSAValue]
) -> Miss | None:
    """Why an op cannot be in the epilogue, whatever its dims are; `made` are values of the chain."""
    semantics = scalar_semantics(op)
    if semantics is None:
        return not_elementwise(op)
    reads = broadcast_reads(op, semantics)
    if reads is None:
        return Miss(f"the rank of an operand of {op.name} is not known")
    for read in reads:
        reason = None if read.value in made else kind.unfit_operand(product, read)
        if reason is not None:
            return Miss(f"{op.name} reads {reason}")
    return None


FusionT = TypeVar("FusionT", bound=EpilogueFusion)


class _Walk:
    """What may join the epilogue of one product."""

    def __init__(self, kind: type[EpilogueFusion], dims: DimAnalysis, core: Core):
        self.kind = kind
        self.dims = dims
        self.core = core
        self.product = core.product
        self.output = core.output
        self.owners: dict[Operation, Operation] = {}
        """Ops after the product that lie in the epilogue of a later product -> that product."""

    def note_owner(self, chain: Chain, op: Operation) -> None:
        """Follows the elementwise ops on later products."""
        if isinstance(op, PRODUCERS) or self._ends_product(chain, op):
            self.owners[op] = op
        elif self.owners and scalar_semantics(op) is not None:
            owner = self._owner(chain, op)
            if owner is not None:
                self.owners[op] = owner

    def join(self, chain: Chain, op: Operation) -> list[Operation] | Miss:
        taken = [*self.kind.producers_taken(op, chain), op]
        made = {result for member in (*chain.ops, *taken) for result in member.results}
        for member in taken:
            problem = _unfit_op(self.kind, self.product, member, made) or self.kind.unfit_member(member)
            if problem is not None:
                return problem
        if not all(self._same_shape(member.results[0], self.output) for member in taken):
            return Miss(f"the result of {op.name} is not proven to have the shape of the product")
        owner = self._owner(chain, op)
        if owner is not None:
            return Miss(f"{owner.name}, which comes later, may take {op.name} into its own epilogue")
        for operand in (operand for member in taken for operand in member.operands):
            if operand not in made and not is_none(operand) and chain.is_late(operand):
                return Miss(f"an input of {op.name} is made after the chain has been read outside")
        reason = why_not_aligned(
            [*chain.ops[len(self.core.ops) :], *taken], [self.output], self.kind.addend_reads(self.product)
        )
        if reason is not None:
            return Miss(reason)
        if len(chain) + len(taken) > self.kind.max_op_count:
            return Miss(f"the chain has {len(chain)} ops already")
        if chain.input_count_with(taken) > MAX_INPUTS:
            return Miss(f"{op.name} would give the kernel more than {MAX_INPUTS} inputs")
        return taken

    def _owner(self, chain: Chain, op: Operation) -> Operation | None:
        """The later product in whose epilogue `op` may lie: one of the shape of its result."""
        for operand in op.operands:
            producer = producer_in(chain.block, operand)
            owner = None if producer is None else self.owners.get(producer)
            if owner is not None and self._same_shape(op.results[0], owner.results[0]):
                return owner
        return None

    def _ends_product(self, chain: Chain, op: Operation) -> bool:
        """Whether a later product in another layout ends with this Transpose, and may take an epilogue."""
        if not isinstance(op, onnx.TransposeOp):
            return False
        inner = producer_in(chain.block, op.operands[0])
        return inner is not None and inner in self.owners and _is_between_transposes(inner)

    def _same_shape(self, value: SSAValue, other: SSAValue) -> bool:
        shape = shape_of(value)
        if shape is None:
            return False
        if shape == shape_of(other) and DYNAMIC_INDEX not in shape:
            return True
        return self.dims.same_shape(value, other)

    def match(self, cls: type[FusionT], step: Step, chain: Chain) -> Match[FusionT] | Miss:
        ops = chain.ops[: step.op_count]
        results = results_of(ops)
        spaces = Spaces()
        spaces.assume(self.output, cls.product_space(self.product, spaces))
        outer = ops[len(self.core.ops) - 1 :]
        proofs = prove_full(outer, [self.output, *results], spaces, self.dims)
        if isinstance(proofs, Miss):
            return proofs
        inputs = externals_of(ops).inputs
        if not _are_of(proofs, inputs):
            return Miss("that an operand is not larger than the product depends on a dim no input has")
        helper = cls(len(ops), dim_conditions=to_conditions(proofs, inputs))
        # Always worth it: a launch is saved and nothing is computed twice.
        return Match(helper, tuple(ops), tuple(results), estimate(ops, results), tuple(chain.stops))


def _are_of(equalities: Iterable[Equality], inputs: Sequence[SSAValue]) -> bool:
    return all(value in inputs for equality in equalities for value, _ in equality)
