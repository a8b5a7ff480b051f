"""`onnx.layout_transform`: ops that only move elements, each of them a copy, as one copy per result.

    Transpose ──► Reshape ──► Transpose ──► y           Transpose ─┬─► Gather(0) ──► q
                                                                   └─► Gather(1) ──► k

Every result is read from the source of the chain directly, where its elements lie at fixed distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Self

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import ints_attr
from onnxloom.dialects.onnx.dtypes import ELEMENT_TO_DTYPE
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.early import is_known_early
from onnxloom.transforms.fusion.estimate import byte_count
from onnxloom.transforms.fusion.grow import Chain, grow, results_of
from onnxloom.transforms.fusion.helper import FusionOpKindHelper
from onnxloom.transforms.fusion.match import Benefit, Body, Match, Miss
from onnxloom.transforms.fusion.spaces import element_of, shape_of
from onnxloom.transforms.fusion.strided import ONE, Layout, moved, source_layout

COPIES: Final = (onnx.TransposeOp, onnx.SliceOp, onnx.ExpandOp, onnx.GatherOp)
"""The ops that copy where they run alone."""

MOVING: Final = (*COPIES, onnx.ReshapeOp, onnx.FlattenOp, onnx.SqueezeOp, onnx.UnsqueezeOp)
"""The ops of a chain; the others only rename dims."""

MAX_RANK: Final = 6
"""Loops of a copy."""

ENOUGH: Final = 8
"""Elements next to each other both in the source and in the result from which on a copy is fast."""

MANY: Final = 1 << 30
"""Elements of a row of unknown length."""


class LayoutTransformFusion(FusionOpKindHelper):
    """Moving ops with one source."""

    kind: ClassVar[str] = "onnx.layout_transform"
    anchors: ClassVar[tuple[type[Operation], ...]] = COPIES
    max_op_count: ClassVar[int] = 16
    benefit: ClassVar[int] = 1
    """After the kinds that compute and take Transposes along."""

    @classmethod
    def detect_if_beneficial(cls, dims: DimAnalysis, anchor: Operation) -> Match[Self] | Miss:
        if is_known_early(anchor, dims):
            return Miss(f"{anchor.name} computes from shapes and constants alone, before any kernel runs")
        source = anchor.operands[0]
        layouts = layouts_of(source, [anchor])
        if isinstance(layouts, Miss):
            return layouts
        chain = grow(anchor, lambda chain, op: _join(layouts, chain, op))
        reason = next(iter(chain.stops), Miss("nothing reads the result"))
        best: Match[Self] | None = None
        for step in chain.steps[1:]:
            ops = chain.ops[: step.op_count]
            results = results_of(ops)
            problem = _unfit_results(ops, results, layouts)
            if problem is not None:
                reason = problem
                continue
            benefit = _benefit(ops, results, layouts)
            if best is None or best.benefit is None or benefit.launches > best.benefit.launches:
                best = Match(cls(), tuple(ops), tuple(results), benefit, tuple(chain.stops))
        return best or reason.within(f"{anchor.name} alone is one copy already")

    def verify(self, body: Body) -> Miss | None:
        if len(body.ops) > self.max_op_count:
            return Miss(f"the body has {len(body.ops)} ops; expected at most {self.max_op_count}")
        first = body.ops[0]
        if not isinstance(first, COPIES):
            return Miss(f"the chain begins with {first.name}; expected an op that copies")
        layouts = layouts_of(first.operands[0], body.ops)
        return layouts if isinstance(layouts, Miss) else _unfit_results(body.ops, body.results, layouts)


def layouts_of(source: SSAValue, ops: Sequence[Operation]) -> dict[SSAValue, Layout] | Miss:
    """Where the elements of the source and of the results of moving ops lie in the source."""
    first = source_layout(source)
    if isinstance(first, Miss):
        return first
    element = element_of(source)
    dtype = None if element is None else ELEMENT_TO_DTYPE.get(element)
    if dtype is None or dtype.hasobject or dtype.itemsize > 8:
        return Miss(f"kernels do not copy elements of type {element}")
    layouts = {source: first}
    for op in ops:
        problem = _add(layouts, op)
        if problem is not None:
            return problem
    return layouts


def _add(layouts: dict[SSAValue, Layout], op: Operation) -> Miss | None:
    """Adds the layout of the result of a moving op; why there is none."""
    if not isinstance(op, MOVING):
        return Miss(f"{op.name} does more than move elements")
    if op.operands[0] not in layouts:
        return Miss(f"{op.name} reads something else than the source and what is made of it")
    layout = moved(op, layouts[op.operands[0]])
    if isinstance(layout, Miss):
        return layout
    layouts[op.results[0]] = layout
    return None


def _join(layouts: dict[SSAValue, Layout], chain: Chain, op: Operation) -> list[Operation] | Miss:
    if len(chain) >= LayoutTransformFusion.max_op_count:
        return Miss(f"the chain has {len(chain)} ops already")
    return _add(layouts, op) or [op]


def _unfit_results(
    ops: Sequence[Operation], results: Sequence[SSAValue], layouts: dict[SSAValue, Layout]
) -> Miss | None:
    """Why copies of the source to each result are not better than the ops."""
    copies = [op for op in ops if _copies(op)]
    made = [value for value in results if not layouts[value].is_source()]
    if len(made) >= len(copies):
        return Miss(f"{len(made)} copies are needed in place of {len(copies)}")
    slowest = min(_row_alone(op) for op in copies)
    for value in made:
        factors = layouts[value].factors()
        if len(factors) > MAX_RANK:
            return Miss(f"a copy with {len(factors)} loops")
        row = _row(layouts[value])
        if row < max(min(ENOUGH, slowest), 1):
            return Miss(f"only {row} elements of a result lie next to each other in the source")
        repeats = any(factor.stride.count == 0 for factor in factors)
        if repeats and factors[-1].stride.count and factors[-1].stride != ONE:
            return Miss("elements that are repeated would be transposed each time")
    return None


def _copies(op: Operation) -> bool:
    """Whether an op that runs alone copies: not if it renames dims or moves dims of 1 only."""
    if not isinstance(op, onnx.TransposeOp):
        return isinstance(op, COPIES)
    shape = shape_of(op.operands[0]) or ()
    perm = [p % len(shape) for p in ints_attr(op, "perm") or reversed(range(len(shape)))]
    kept = [p for p in perm if shape[p] != 1]
    return kept != sorted(kept)


def _row_alone(op: Operation) -> int:
    layouts = layouts_of(op.operands[0], [op])
    return ENOUGH if isinstance(layouts, Miss) else _row(layouts[op.results[0]])


def _row(layout: Layout) -> int:
    """Elements next to each other in memory that a copy can make use of; 0 if it is strided throughout."""
    factors = layout.factors()
    if not factors:
        return MANY
    last = factors[-1]
    length = MANY if last.size.known is None else last.size.known
    if last.stride == ONE or last.stride.count == 0:
        return length
    units = [factor.size.known or MANY for factor in factors if factor.stride == ONE]
    # Tiles of a transposition read rows of the source: those have to be twice as long.
    return min(length, units[-1] // 2) if units else 0


def _benefit(
    ops: Sequence[Operation], results: Sequence[SSAValue], layouts: dict[SSAValue, Layout]
) -> Benefit:
    """What is not copied any more is neither read nor written."""
    before = [op.results[0] for op in ops if _copies(op)]
    after = [value for value in results if not layouts[value].is_source()]
    traffic = sum(2 * byte_count(v)[0] for v in before) - sum(2 * byte_count(v)[0] for v in after)
    partial = any(byte_count(value)[1] for value in before)
    return Benefit(len(before) - len(after), max(traffic, 0), is_lower_bound=partial)
