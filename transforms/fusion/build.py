"""How does a chain become a fused op without changing what anything outside reads?

The fused op stands after the producer of every input and before every outside use of any result; a
chain for which there is no such place is declined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator, is_side_effect_free

from onnxloom.dialects.onnx import FusedOp, NonDeterministic
from onnxloom.dialects.onnx.semantics import scalar_semantics
from onnxloom.transforms.fusion.body import Externals, build_body, dead_plumbing, externals_of, is_cloned
from onnxloom.transforms.fusion.match import Match, Miss
from onnxloom.transforms.fusion.order import BlockOrder, producer_in, user_in

if TYPE_CHECKING:
    from onnxloom.transforms.fusion.helper import FusionOpKindHelper


def build_fused_op(
    match: Match[FusionOpKindHelper], rewriter: PatternRewriter, order: BlockOrder
) -> FusedOp | Miss:
    """Replaces the ops of a match by a fused op, or says why that is not possible."""
    block = _common_block(match.ops)
    if isinstance(block, Miss):
        return block
    ops = _in_order(match.ops, order)
    problem = _check_ops(match, ops)
    if problem is not None:
        return problem
    externals = externals_of(ops)
    gone = dead_plumbing(externals.plumbing, ops)
    outside = _outside_users(block, [*ops, *gone], match.results)
    if isinstance(outside, Miss):
        return outside
    place = _place(block, ops, externals, outside, order)
    if isinstance(place, Miss):
        return place

    body = build_body(ops, externals, match.results)
    fused = FusedOp.make(match.helper.kind, externals.inputs, [r.type for r in match.results], body)
    match.helper.embed_attrs(fused)
    rewriter.insert(fused, InsertPoint.before(place))
    order.inserted_before(fused, place)
    for old, fresh in zip(match.results, fused.results, strict=True):
        fresh.name_hint = old.name_hint
        rewriter.replace_all_uses_with(old, fresh)
    _erase(block, ops, gone, rewriter, order)
    return fused


def unfuse(rewriter: PatternRewriter, fused: FusedOp) -> None:
    """Puts the ops of the body in the fused op's place."""
    block = fused.body.block
    end = block.last_op
    assert end is not None, "a fused op's body ends with onnx.Yield"
    rewriter.inline_block(block, InsertPoint.before(fused), fused.operands)
    yielded = tuple(end.operands)
    rewriter.erase(end)
    for fresh, old in zip(yielded, fused.results, strict=True):
        if fresh.name_hint is None:
            fresh.name_hint = old.name_hint
    rewriter.replace(fused, [], yielded)


def _common_block(ops: Sequence[Operation]) -> Block | Miss:
    if not ops:
        return Miss("the match has no ops")
    block = ops[0].parent
    if block is None or any(op.parent is not block for op in ops):
        return Miss("the ops of the match are not all in one block")
    return block


def _in_order(ops: Sequence[Operation], order: BlockOrder) -> list[Operation]:
    """The ops as given when each comes after what it reads, else in block order."""
    inside = set(ops)
    seen: set[Operation] = set()
    for op in ops:
        if any(operand.owner in inside and operand.owner not in seen for operand in op.operands):
            return sorted(ops, key=order.position)
        seen.add(op)
    return list(ops)


def _check_ops(match: Match[FusionOpKindHelper], ops: Sequence[Operation]) -> Miss | None:
    if len(set(ops)) != len(ops):
        return Miss("the match lists an op twice")
    if len(ops) > match.helper.max_op_count:
        return Miss(f"the match has {len(ops)} ops; the kind takes {match.helper.max_op_count}")
    for op in ops:
        if op.regions:
            return Miss(f"{op.name} has regions, which may read values from outside")
        if op.has_trait(IsTerminator) or not _is_pure(op):
            return Miss(f"{op.name} is not pure")
    return None


def _is_pure(op: Operation) -> bool:
    # Dropout is random as a class; one that is known to be inert has scalar semantics.
    if op.has_trait(NonDeterministic):
        return scalar_semantics(op) is not None
    return is_side_effect_free(op)


def _outside_users(
    block: Block, gone: Sequence[Operation], results: Sequence[SSAValue]
) -> list[Operation] | Miss:
    """The ops of the block through which anything outside reads the chain."""
    inside = set(gone)
    yielded = set(results)
    if len(yielded) != len(results):
        return Miss("the match lists a result twice")
    for value in results:
        if value.owner not in inside:
            return Miss("a result of the match is not made by its ops")
    users: dict[Operation, None] = {}
    for op in gone:
        for value in op.results:
            outer = [use.operation for use in value.uses if use.operation not in inside]
            if outer and value not in yielded:
                return Miss(f"the result of {op.name} is also read outside the chain, by {outer[0].name}")
            for user in outer:
                users[user_in(block, user)] = None
    return list(users)


def _place(
    block: Block,
    ops: Sequence[Operation],
    externals: Externals,
    users: Sequence[Operation],
    order: BlockOrder,
) -> Operation | Miss:
    """The op to insert in front of: the last of the chain, or an outside user that comes before it."""
    last = max(ops, key=order.position)
    place = min([last, *users], key=order.position)
    for value in externals.inputs:
        producer = producer_in(block, value)
        if producer is not None and order.position(producer) >= order.position(place):
            return Miss(
                f"{producer.name} makes an input of the chain only after {place.name} has read a result of it"
            )
    return place


def _erase(
    block: Block,
    ops: Sequence[Operation],
    plumbing: Sequence[Operation],
    rewriter: PatternRewriter,
    order: BlockOrder,
) -> None:
    """Back to front, with the plumbing and the constants nothing reads any more."""
    gone = [*ops, *(op for op in plumbing if op.parent is block)]
    gone.sort(key=order.position, reverse=True)
    constants: dict[Any, None] = {}
    for op in gone:
        constants.update((operand.owner, None) for operand in op.operands if is_cloned(operand))
        rewriter.erase(op)
    for constant in constants:
        if not any(result.uses for result in constant.results):
            rewriter.erase(constant)
