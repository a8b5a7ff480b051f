"""`onnx.matmul_epilogue`: a matrix product and the elementwise ops on its result, tile by tile.

    MatMul ──► Add(bias) ──► Gelu ──► Add(residual) ──► y

The epilogue has the matmul's own output shape throughout and one result; inside, values may be read
several times (an activation spelled out in Div, Erf, Add and Mul). Of two products that meet in an
Add, the later one takes the Add: the earlier result is there when the later one is computed.
"""

from __future__ import annotations

from typing import ClassVar, Final, Self, TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, bf16, f16, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import is_none
from onnxloom.dialects.onnx.semantics import ScalarSemantics, scalar_semantics
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.body import externals_of
from onnxloom.transforms.fusion.conditions import prove_full, to_conditions, to_equalities
from onnxloom.transforms.fusion.estimate import estimate
from onnxloom.transforms.fusion.grow import Chain, Step, grow, results_of
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Body, Match, Miss
from onnxloom.transforms.fusion.order import producer_in
from onnxloom.transforms.fusion.products import PRODUCERS, product_space
from onnxloom.transforms.fusion.spaces import Spaces, broadcast_reads, element_of, shape_of

MAX_INPUTS: Final = 12
"""Tensors read by one kernel: the factors, then what the epilogue reads."""

ELEMENTS: Final = (bf16, f16, f32, f64)
"""Element types of the products with a tile kernel."""


class MatMulEpilogueFusion(FusionOpKindHelper):
    """A MatMul or Gemm with its epilogue."""

    kind: ClassVar[str] = "onnx.matmul_epilogue"
    anchors: ClassVar[tuple[type[Operation], ...]] = (onnx.MatMulOp, onnx.GemmOp)
    max_op_count: ClassVar[int] = 32
    benefit: ClassVar[int] = 100

    op_count: int
    """Ops of the chain, the product included."""

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        problem = _unfit_product(anchor)
        if problem is not None:
            return problem
        walk = _Walk(dims, anchor)
        chain = grow(anchor, walk.join, visit=walk.note_owner)
        reason = chain.stops[0] if chain.stops else Miss("nothing reads the product")
        # Not only the longest: a dim that cannot be proven equal may come in with a late op.
        legal = [step for step in chain.steps if step.open_values == 1 and step.op_count > 1]
        for step in reversed(legal):
            match = walk.match(cls, step, chain)
            if isinstance(match, Match):
                return match
            reason = match
        return reason

    def verify(self, body: Body) -> Miss | None:
        if len(body.ops) != self.op_count:
            return Miss(f"the body has {len(body.ops)} ops; expected {self.op_count}")
        product, *epilogue = body.ops
        problem = _unfit_product(product)
        if problem is not None:
            return problem
        if len(body.results) != 1:
            return Miss(f"the body yields {len(body.results)} values; expected one")
        for op in epilogue:
            semantics = scalar_semantics(op)
            if semantics is None or not _is_plain(op, semantics):
                return Miss(f"{op.name} of this form is not elementwise")
        if any(operand.owner in set(epilogue) for operand in product.operands):
            return Miss(f"{product.name} reads a value of its own epilogue")
        spaces = Spaces(to_equalities(self.dim_conditions, body.inputs))
        spaces.assume(product.results[0], product_space(product, spaces))
        proofs = prove_full(body.ops, [product.results[0], body.results[0]], spaces)
        return proofs if isinstance(proofs, Miss) else None


def _unfit_product(op: Operation) -> Miss | None:
    """Why an op is not a product this kind can compute."""
    if not isinstance(op, onnx.MatMulOp | onnx.GemmOp):
        return Miss(f"{op.name} is not a matrix product")
    factors = op.operands[:2]
    for factor in factors:
        shape = shape_of(factor)
        if shape is None:
            return Miss(f"{op.name} of a tensor of unknown rank")
        if len(shape) < 2:
            return Miss(f"{op.name} of a vector")
    if element_of(factors[0]) not in ELEMENTS:
        return Miss(f"{op.name} of element type {element_of(factors[0])} has no tile kernel")
    if shape_of(op.results[0]) is None:
        return Miss(f"the rank of the result of {op.name} is not known")
    return None


def _is_plain(op: Operation, semantics: ScalarSemantics) -> bool:
    """Whether the op's operands are of known rank and broadcast as numpy's do."""
    reads = broadcast_reads(op, semantics)
    return reads is not None and not any(read.trailing for read in reads)


FusionT = TypeVar("FusionT", bound=MatMulEpilogueFusion)


class _Walk:
    """What may join the epilogue of one product."""

    def __init__(self, dims: DimAnalysis, product: Operation):
        self.dims = dims
        self.product = product
        self.output = product.results[0]
        self.owners: dict[Operation, Operation] = {}
        """Ops after the product that lie in the epilogue of a later product -> that product."""

    def note_owner(self, chain: Chain, op: Operation) -> None:
        """Follows the elementwise ops on later products."""
        if isinstance(op, PRODUCERS):
            self.owners[op] = op
            return
        if not self.owners or scalar_semantics(op) is None:
            return
        for operand in op.operands:
            owner = self._owner(chain, operand)
            if owner is not None:
                self.owners[op] = owner
                return

    def join(self, chain: Chain, op: Operation) -> list[Operation] | Miss:
        semantics = scalar_semantics(op)
        if semantics is None:
            if op.has_trait(IsTerminator):
                return Miss("a value of the chain is a result of the graph")
            if isinstance(op, onnx.FusedOp):
                return Miss(f"its reader is fused already, as {op.kind.data}")
            return Miss(f"{op.name} is not elementwise, or has no kernel for these types")
        if not _is_plain(op, semantics):
            return Miss(f"{op.name} does not broadcast its operands as numpy does")
        if not self._has_output_shape(op.results[0]):
            return Miss(f"the result of {op.name} is not proven to have the shape of the product")
        for operand in op.operands:
            if operand.owner in chain or is_none(operand):
                continue
            owner = self._owner(chain, operand)
            if owner is not None:
                return Miss(f"{owner.name}, which comes later, may take {op.name} into its own epilogue")
            if chain.is_late(operand):
                return Miss(f"an input of {op.name} is made after the chain has been read outside")
        if len(chain) + 1 > MatMulEpilogueFusion.max_op_count:
            return Miss(f"the chain has {len(chain)} ops already")
        if chain.input_count_with([op]) > MAX_INPUTS:
            return Miss(f"{op.name} would give the kernel more than {MAX_INPUTS} inputs")
        return [op]

    def _owner(self, chain: Chain, value: SSAValue) -> Operation | None:
        producer = producer_in(chain.block, value)
        return None if producer is None else self.owners.get(producer)

    def _has_output_shape(self, value: SSAValue) -> bool:
        shape = shape_of(value)
        if shape is None:
            return False
        if shape == shape_of(self.output) and DYNAMIC_INDEX not in shape:
            return True
        return self.dims.same_shape(value, self.output)

    def match(self, cls: type[FusionT], step: Step, chain: Chain) -> Match[FusionT] | Miss:
        ops = chain.ops[: step.op_count]
        results = results_of(ops)
        spaces = Spaces()
        spaces.assume(self.output, product_space(self.product, spaces))
        proofs = prove_full(ops, [self.output, *results], spaces, self.dims)
        if isinstance(proofs, Miss):
            return proofs
        benefit = estimate(ops, results)
        if not benefit.is_worth_it():
            return Miss(f"not worth it: {benefit}")
        helper = cls(len(ops), dim_conditions=to_conditions(proofs, externals_of(ops).inputs))
        return Match(helper, tuple(ops), tuple(results), benefit, tuple(chain.stops))
