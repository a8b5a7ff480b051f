"""What do facts do at ops with regions: branches meet, loops repeat until nothing changes?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import int_attr, ints_attr, is_none
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr
from onnxloom.transforms.dim_analysis.dim_ops import positive_part
from onnxloom.transforms.dim_analysis.facts import (
    Element,
    Elements,
    Inferred,
    Shape,
    TensorFacts,
    object_array,
)

if TYPE_CHECKING:
    from onnxloom.transforms.dim_analysis.analysis import Analysis


@dataclass(frozen=True)
class Flow:
    """Facts on their way from one value to another; a dim that is None gets a symbol there."""

    element: Attribute
    dims: Sequence[DimExpr | None] | None
    elements: Elements | None


def visit(analysis: Analysis, op: Operation) -> bool:
    """Run the regions of an op; whether its results are told by them."""
    match op:
        case onnx.IfOp():
            _visit_if(analysis, op)
        case onnx.LoopOp():
            _visit_loop(analysis, op)
        case onnx.ScanOp():
            _visit_scan(analysis, op)
        case onnx.FusedOp():
            _visit_fused(analysis, op)
        case _:
            with analysis.lenient():
                for region in op.regions:
                    for block in region.blocks:
                        analysis.run_block(block)
            return False
    return True


def _yielded(region: Region) -> Sequence[SSAValue]:
    end = region.block.last_op
    return end.operands if isinstance(end, onnx.YieldOp) else ()


def _assign(analysis: Analysis, value: SSAValue, facts: Flow | None) -> None:
    """Give a value these facts, merged with its declared type."""
    if facts is None:
        analysis.refine(value, None)
        return
    analysis.refine(value, Inferred(facts.dims, facts.element))
    merged = analysis.facts(value)
    if facts.elements is None or merged is None or merged.shape is None:
        return
    if tuple(dim.constant for dim in merged.shape) == facts.elements.shape:
        analysis.set_elements(value, facts.elements)


# If.


def _visit_if(analysis: Analysis, op: onnx.IfOp) -> None:
    elements = analysis.elements(op.cond)
    known = None if elements is None or elements.size != 1 else elements.reshape(-1)[0]
    branches = (op.then_branch, op.else_branch)
    with analysis.lenient():
        for branch in branches:
            analysis.run_block(branch.block)
    taken = branches if not isinstance(known, bool) else branches[:1] if known else branches[1:]
    yields = [_yielded(branch) for branch in taken]
    for index, result in enumerate(op.results):
        values = [values[index] for values in yields if index < len(values)]
        met = [facts for value in values if (facts := _flow_of(analysis, value)) is not None]
        if len(met) != len(yields):
            analysis.refine(result, analysis.type_of(values[0]) if len(values) == 1 else None)
            continue
        _assign(analysis, result, met[0] if len(met) == 1 else _either(met[0], met[1]))


def _flow_of(analysis: Analysis, value: SSAValue) -> Flow | None:
    facts = analysis.facts(value)
    return None if facts is None else Flow(facts.element, facts.shape, analysis.elements(value))


def _either(left: Flow, right: Flow) -> Flow:
    """What holds of a value that is one of two: dims and elements that differ are left open."""
    if left.dims is None or right.dims is None or len(left.dims) != len(right.dims):
        return Flow(left.element, None, None)
    dims = tuple(a if a == b else None for a, b in zip(left.dims, right.dims, strict=True))
    return Flow(left.element, dims, _common_elements(left.elements, right.elements))


def _common_elements(left: Elements | None, right: Elements | None) -> Elements | None:
    if left is None or right is None or left.shape != right.shape:
        return None
    pairs = zip(left.reshape(-1).tolist(), right.reshape(-1).tolist(), strict=True)
    return object_array([a if _same(a, b) else None for a, b in pairs], left.shape)


def _same(left: Element, right: Element) -> bool:
    return type(left) is type(right) and left == right


# Loops.


def _visit_loop(analysis: Analysis, op: onnx.LoopOp) -> None:
    start = analysis.loop_start(op)
    block = op.body.block
    initial = [_flow_of(analysis, value) for value in op.v_initial]
    carried = block.args[2:]
    counter = analysis.facts(block.args[0]) if block.args else None
    if counter is not None and counter.shape is not None and len(counter.shape) < 2:
        shape = [1] * len(counter.shape)
        analysis.set_elements(block.args[0], object_array([analysis.count_symbol(block.args[0])], shape))
    _repeat(analysis, block, carried, initial, offset=1)
    yields = _yielded(op.body)
    for index, result in enumerate(op.results[: len(carried)]):
        _assign(analysis, result, _outside(_flow_of(analysis, carried[index]), start))
    trips = _trip_count(analysis, op, yields)
    for index, result in enumerate(op.results[len(carried) :], len(carried) + 1):
        step = _flow_of(analysis, yields[index]) if index < len(yields) else None
        _assign(analysis, result, _stacked(_outside(step, start), trips, 0))


def _repeat(
    analysis: Analysis,
    block: Block,
    carried: Sequence[SSAValue],
    initial: Sequence[Flow | None],
    offset: int,
) -> None:
    """Run a loop body until what is assumed of the carried values holds after every iteration."""
    for argument, facts in zip(carried, initial, strict=False):
        _assign(analysis, argument, facts)
    while True:
        analysis.run_block(block)
        end = block.last_op
        yields = end.operands if isinstance(end, onnx.YieldOp) else ()
        changed = False
        for index, argument in enumerate(carried):
            if index + offset < len(yields):
                changed |= _weaken(analysis, argument, _flow_of(analysis, yields[index + offset]))
        if not changed:
            return


def _weaken(analysis: Analysis, argument: SSAValue, after: Flow | None) -> bool:
    """Drop what does not hold of an argument's next value; whether anything was dropped."""
    before = analysis.facts(argument)
    if before is None or after is None or before.shape is None:
        return False
    if after.dims is None or len(after.dims) != len(before.shape):
        analysis.distrust(argument, -1)
        analysis.refine(argument, Inferred(None, before.element))
        return True
    dims: list[DimExpr | None] = []
    for axis, (old, new) in enumerate(zip(before.shape, after.dims, strict=True)):
        own = analysis.dim_symbol(argument, axis)
        if old in (new, own):
            dims.append(old)
            continue
        dims.append(None)
        analysis.distrust(argument, axis)
    elements = None if before.elements is None else _common_elements(before.elements, after.elements)
    same_elements = before.elements is None or (
        elements is not None and _equal_elements(analysis, argument, before, elements)
    )
    if None not in dims and same_elements:
        return False
    _assign(analysis, argument, Flow(before.element, tuple(dims), elements))
    return True


def _equal_elements(analysis: Analysis, argument: SSAValue, before: TensorFacts, common: Elements) -> bool:
    """Whether nothing is lost, symbols of the argument itself not counting."""
    assert before.elements is not None
    pairs = zip(before.elements.reshape(-1).tolist(), common.reshape(-1).tolist(), strict=True)
    for index, (old, new) in enumerate(pairs):
        if new is not None or old is None:
            continue
        own = analysis.element_symbol(argument, index, before.element) if isinstance(old, DimExpr) else None
        if own is None or old != own:
            return False
    return True


def _outside(facts: Flow | None, start: int) -> Flow | None:
    """Facts without the symbols of a loop's body, which mean something else in each iteration."""
    if facts is None:
        return None

    def kept(expr: DimExpr) -> DimExpr | None:
        return None if any(symbol.serial > start for symbol in expr.symbols()) else expr

    dims = None if facts.dims is None else tuple(None if dim is None else kept(dim) for dim in facts.dims)
    elements = facts.elements
    if elements is not None:
        flat = [
            kept(e) if isinstance(e, DimExpr) else None if _is_ratio(e) else e for e in elements.reshape(-1)
        ]
        elements = object_array(flat, elements.shape)
    return Flow(facts.element, dims, elements)


def _is_ratio(element: Element) -> bool:
    return element is not None and not isinstance(element, bool | float)


def _stacked(facts: Flow | None, length: DimExpr | None, axis: int) -> Flow | None:
    """One step's facts with the axis that counts the steps put in."""
    if facts is None or facts.dims is None:
        return None if facts is None else replace(facts, elements=None)
    axis = axis + len(facts.dims) + 1 if axis < 0 else axis
    return Flow(facts.element, (*facts.dims[:axis], length, *facts.dims[axis:]), None)


def _trip_count(analysis: Analysis, op: onnx.LoopOp, yields: Sequence[SSAValue]) -> DimExpr | None:
    """The number of iterations, when nothing can end the loop early."""
    if is_none(op.M) or not yields or len(op.body.block.args) < 2:
        return None
    goes_on = _single(analysis.elements(yields[0])) is True or yields[0] is op.body.block.args[1]
    begins = is_none(op.cond) or _single(analysis.elements(op.cond)) is True
    count = _single(analysis.elements(op.M))
    return positive_part(count) if goes_on and begins and isinstance(count, DimExpr) else None


def _single(elements: Elements | None) -> Element:
    return elements.reshape(-1)[0] if elements is not None and elements.size == 1 else None


def _visit_scan(analysis: Analysis, op: onnx.ScanOp) -> None:
    start = analysis.loop_start(op)
    operands, block = op.initial_state_and_scan_inputs, op.body.block
    inputs = int_attr(op, "num_scan_inputs")
    states = len(operands) - inputs
    in_axes = ints_attr(op, "scan_input_axes") or (0,) * inputs
    length: DimExpr | None = None
    for operand, argument, axis in zip(operands[states:], block.args[states:], in_axes, strict=False):
        facts = analysis.facts(operand)
        if facts is None or not facts.shape or not -len(facts.shape) <= axis < len(facts.shape):
            continue  # an axis that is not there is an error of the run
        size, rest = _without_axis(facts.shape, axis)
        length = size if length is None or size.constant is not None else length
        analysis.refine(argument, Inferred(rest, facts.element))
    initial = [_flow_of(analysis, value) for value in operands[:states]]
    _repeat(analysis, block, block.args[:states], initial, offset=0)
    yields = _yielded(op.body)
    out_axes = ints_attr(op, "scan_output_axes") or (0,) * (len(op.results) - states)
    for index, result in enumerate(op.results):
        if index < states:
            _assign(analysis, result, _outside(_flow_of(analysis, block.args[index]), start))
        elif index < len(yields):
            step = _outside(_flow_of(analysis, yields[index]), start)
            _assign(analysis, result, _stacked(step, length, out_axes[index - states]))


def _without_axis(shape: Shape, axis: int) -> tuple[DimExpr, Shape]:
    axis = axis + len(shape) if axis < 0 else axis
    return shape[axis], (*shape[:axis], *shape[axis + 1 :])


# Fused ops.


def _visit_fused(analysis: Analysis, op: onnx.FusedOp) -> None:
    for operand, argument in zip(op.inputs, op.body.block.args, strict=False):
        _assign(analysis, argument, _flow_of(analysis, operand))
    analysis.run_block(op.body.block)
    for value, result in zip(_yielded(op.body), op.results, strict=False):
        _assign(analysis, result, _flow_of(analysis, value))
