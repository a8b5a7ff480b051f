"""What do tests of one rewrite pattern check? That it fires and keeps values, or that it declines and why.

rewritten = check_pattern(text, TransposeTransposePattern)
assert "perms" in decline_reason(text, TransposeTransposePattern)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from onnxloom.dialects import onnx
from onnxloom.testing.models import Model, as_module
from onnxloom.testing.noop import first_change, text_of
from onnxloom.testing.numerics import Feeds, assert_preserves_numerics
from onnxloom.testing.tolerance import EXACT, Rel, Tolerance
from onnxloom.transforms.miss import Miss, reasons_wanted
from onnxloom.transforms.rewriting.driver import RewriteOptions, optimize
from onnxloom.transforms.rewriting.graph_index import GraphIndex
from onnxloom.transforms.rewriting.pattern import Numerics, PatternOptimization, Stage
from onnxloom.transforms.shape_inference import infer_shapes

Pattern = PatternOptimization | type[PatternOptimization]

_TOLERANCES: Final = {Numerics.EXACT: EXACT, Numerics.TOLERANCE: Rel(1e-5), Numerics.LOWERS: Rel(1e-2)}


def check_pattern(
    model: Model,
    pattern: Pattern | Sequence[Pattern],
    feeds: Feeds | Sequence[Feeds] | None = None,
    tolerance: Tolerance | None = None,
    *,
    times: int | None = None,
    opset: int | None = None,
) -> ModuleOp:
    """The module after the pattern ran to its end, which must have fired and kept all results.

    Shapes are inferred before (not for patterns that run before shape inference). `feeds` are made up when
    left out, special values included; the tolerance is what the pattern promises: the same bits for
    `Numerics.EXACT`. `times` is the number of rewrites, `opset` what the result may use.

    Raises:
        AssertionError: the pattern did not fire (says why it declined), fired another number of times, left
            invalid IR, or changed a result.
    """
    patterns = _instances(pattern)
    module = _inferred(model, patterns)
    fired = 0

    def transform(changed: ModuleOp) -> None:
        nonlocal fired
        fired = optimize(changed, patterns, _options(opset))

    loosest = max((p.numerics for p in patterns), key=list(Numerics).index)
    done = assert_preserves_numerics(module, feeds, transform, tolerance or _TOLERANCES[loosest])
    names = ", ".join(p.name for p in patterns)
    if not fired:
        raise AssertionError(f"{names} did not fire: {'; '.join(_reasons(module, patterns, opset))}")
    if times is not None and fired != times:
        raise AssertionError(f"{names} fired {fired} times; expected {times}")
    return done


def decline_reason(model: Model, pattern: Pattern, *, opset: int | None = None) -> str:
    """Why the pattern does not fire anywhere in a model: all its reasons, in program order, joined by "; ".

    Raises:
        AssertionError: it fires, or changes something, or starts from no op of the model.
    """
    patterns = _instances(pattern)
    module = _inferred(model, patterns)
    before = text_of(module)
    reasons = _reasons(module, patterns, opset)
    changed = first_change(before, text_of(module))
    if changed:
        raise AssertionError(f"{patterns[0].name}.match changed the module: {changed}")
    fired = optimize(module, patterns, _options(opset))
    if fired:
        raise AssertionError(f"{patterns[0].name} fired {fired} times; expected it to decline")
    if not reasons:
        raise AssertionError(f"{patterns[0].name} starts from no op of the model")
    return "; ".join(reasons)


def _instances(pattern: Pattern | Sequence[Pattern]) -> list[PatternOptimization]:
    given = pattern if isinstance(pattern, Sequence) else [pattern]
    return [one() if isinstance(one, type) else one for one in given]


def _inferred(model: Model, patterns: Sequence[PatternOptimization]) -> ModuleOp:
    """A copy with its shapes inferred, unless the patterns run before that is done."""
    module = as_module(model)
    if not all(pattern.stage is Stage.BEFORE_SHAPE_INFERENCE for pattern in patterns):
        infer_shapes(module)
    return module


def _options(opset: int | None) -> RewriteOptions:
    return RewriteOptions(opset=opset, check_index=True)


def _reasons(module: ModuleOp, patterns: Sequence[PatternOptimization], opset: int | None) -> list[str]:
    """Each different reason once."""
    found: dict[str, None] = {}
    for block in _blocks(module):
        graph = GraphIndex(block, opset=opset)
        for op in block.ops:
            found.update((str(miss), None) for p in patterns if (miss := _miss(p, graph, op)) is not None)
    return list(found)


def _miss(pattern: PatternOptimization, graph: GraphIndex, op: Operation) -> Miss | None:
    if pattern.start_ops and not isinstance(op, pattern.start_ops):
        return None
    with reasons_wanted():
        answer = pattern.match(graph, op)
    return answer if isinstance(answer, Miss) else None


def _blocks(module: ModuleOp) -> Iterator[Block]:
    """Bodies of functions and of control flow; those of fused ops are nobody's to rewrite."""
    for op in module.walk():
        if isinstance(op, FuncOp) or (op.regions and not isinstance(op, ModuleOp | onnx.FusedOp)):
            yield from (block for region in op.regions for block in region.blocks)
