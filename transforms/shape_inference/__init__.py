"""Pass `shape-inference`: every value gets the most precise type that can be told before the model runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    ModuleOp,
    NoneAttr,
    TensorType,
    UnrankedTensorType,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from onnxloom.transforms.dim_analysis import analyze
from onnxloom.transforms.dim_analysis.facts import TensorFacts, element_type


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
    cache: dict[tuple[Attribute, tuple[int, ...]], TensorType[Attribute]] = {}
    for value, facts in analysis.visited():
        refined = _refined_type(value.type, facts, cache)
        if refined is not None:
            set_type(value, refined)
    for value, refined in analysis.visited_types():
        set_type(value, refined)
    for function in module.ops:
        if isinstance(function, FuncOp) and not function.is_declaration:
            _update_signature(function)
    return list(dict.fromkeys(analysis.notes))


def set_type(value: SSAValue, value_type: Attribute) -> None:
    """Change a value's type in place: the value keeps its identity and its uses."""
    # xDSL's own way replaces the value by another one, which would invalidate every table of values.
    value._type = value_type  # pyright: ignore[reportPrivateUsage]


def _refined_type(
    declared: Attribute,
    facts: TensorFacts,
    cache: dict[tuple[Attribute, tuple[int, ...]], TensorType[Attribute]],
) -> Attribute | None:
    """The type to set; None when the declared one says the same."""
    same_element = element_type(declared) == facts.element
    if facts.shape is None:
        is_same = same_element and isinstance(declared, UnrankedTensorType)
        return None if is_same else UnrankedTensorType(facts.element)
    dims = tuple(DYNAMIC_INDEX if dim.constant is None else dim.constant for dim in facts.shape)
    if isinstance(declared, TensorType):
        if same_element and declared.get_shape() == dims:
            return None
        if declared.encoding != NoneAttr():
            return TensorType(facts.element, dims, declared.encoding)
    key = (facts.element, dims)
    if key not in cache:
        cache[key] = TensorType(facts.element, dims)
    return cache[key]


def _update_signature(function: FuncOp) -> None:
    end = function.body.block.last_op
    outputs = end.operand_types if end is not None else function.function_type.outputs.data
    signature = FunctionType.from_lists(function.body.block.arg_types, list(outputs))
    if signature != function.function_type:
        function.properties["function_type"] = signature
