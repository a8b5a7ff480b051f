"""Pass `shape-inference`: every value gets the most precise type that can be told before the model runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from onnxloom.transforms.dim_analysis import analyze
from onnxloom.transforms.dim_analysis.refined_type import TypeCache, refined_type, set_type

__all__ = ["ShapeInferencePass", "infer_shapes", "set_type"]


@dataclass(frozen=True)
class ShapeInferencePass(ModulePass):
    """Refines result types in place, in regions and fused bodies too, and the types of functions.

    Never makes a type less precise, except where a loop body's argument is declared with a dim that
    does not hold in every iteration.

    Raises ModelError when the shapes of an op's inputs contradict each other.
    """

    name = "shape-inference"

    notes: list[str] = field(default_factory=list[str], init=False, repr=False, compare=False)
    """Where declared types contradict inferred ones, after `apply`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.notes[:] = infer_shapes(op)


def infer_shapes(module: ModuleOp) -> list[str]:
    """What the pass does; gives its notes."""
    analysis = analyze(module)
    cache: TypeCache = {}
    for value, facts in analysis.visited():
        refined = refined_type(value.type, facts, cache)
        if refined is not None:
            set_type(value, refined)
    for value, refined in analysis.visited_types():
        set_type(value, refined)
    for function in module.ops:
        if isinstance(function, FuncOp) and not function.is_declaration:
            update_signature(function)
    return list(dict.fromkeys(analysis.notes))


def update_signature(function: FuncOp) -> None:
    """Makes a function's type that of its arguments and of what it returns."""
    end = function.body.block.last_op
    outputs = end.operand_types if end is not None else function.function_type.outputs.data
    signature = FunctionType.from_lists(function.body.block.arg_types, list(outputs))
    if signature != function.function_type:
        function.properties["function_type"] = signature
