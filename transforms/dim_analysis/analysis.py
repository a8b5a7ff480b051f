"""How do facts about tensors travel from the inputs of a function to all its values?

One walk in program order. Each op's rule sees what is known of its operands; what it says is merged
with the declared type of the result: the more precise of the two is kept, dim by dim, and where two
numbers contradict each other the inferred one wins and a note says so.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Final

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from onnxloom.dialects import onnx
from onnxloom.dialects.custom_ops import custom_op
from onnxloom.dialects.onnx.annotations import is_note
from onnxloom.dialects.onnx.constant import constant_value
from onnxloom.dialects.onnx.module_attributes import dim_names as names_of_dims
from onnxloom.dialects.onnx.op import OnnxOp, sentence
from onnxloom.errors import CustomOpError, ModelError
from onnxloom.transforms.describe import describe
from onnxloom.transforms.dim_analysis import regions
from onnxloom.transforms.dim_analysis.custom_results import count_given, custom_results
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr, Symbol
from onnxloom.transforms.dim_analysis.facts import (
    Element,
    Elements,
    Impossible,
    Inferred,
    Result,
    Shape,
    TensorFacts,
    element_type,
    numbers,
    object_array,
    static_dims,
)
from onnxloom.transforms.dim_analysis.nested_types import more_precise
from onnxloom.transforms.dim_analysis.query import OpQuery
from onnxloom.transforms.dim_analysis.refined_type import TypeCache, refined_type
from onnxloom.transforms.dim_analysis.rules import rule_tables
from onnxloom.transforms.dim_analysis.small_elements import (
    INTEGER_RANGES,
    MAX_ELEMENTS,
    MAX_SYMBOLIC_ELEMENTS,
    MAX_TERMS,
    constant_elements,
    is_integer,
    is_manageable,
    is_small,
)
from onnxloom.transforms.dim_analysis.standard_inference import standard_results

_LARGEST_DIM: Final = (1 << 63) - 1
_NO_NAMES: Final = ("", "?", "None", "unk__")


class Analysis:
    """Facts about every value of the functions it was run on."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        """Where a declared type contradicts the inferred one, and which inputs are impossible."""

        self._facts: dict[SSAValue, TensorFacts] = {}
        self._types: dict[SSAValue, Attribute] = {}
        self._element_memo: dict[SSAValue, Elements | None] = {}
        self._symbols: dict[tuple[SSAValue, int], DimExpr] = {}
        self._distrusted: set[tuple[SSAValue, int]] = set()
        self._loop_starts: dict[Operation, int] = {}
        self._serial = 0
        self._lenient = False
        self._rules = rule_tables()

    # What is known.

    def facts(self, value: SSAValue) -> TensorFacts | None:
        """None for a value that is not a tensor."""
        found = self._facts.get(value)
        if found is not None:
            return found
        element = element_type(value.type)
        if element is None:
            return None
        found = TensorFacts(element, self._declared_shape(value))
        self._facts[value] = found
        return found

    def type_of(self, value: SSAValue) -> Attribute:
        """The type of a value that is not a tensor."""
        return self._types.get(value, value.type)

    def symbols(self) -> Mapping[tuple[SSAValue, int], DimExpr]:
        """The anonymous symbols, by value and axis (or -1 - position, of an element)."""
        return self._symbols

    def visited(self) -> Iterable[tuple[SSAValue, TensorFacts]]:
        return self._facts.items()

    def visited_types(self) -> Iterable[tuple[SSAValue, Attribute]]:
        return self._types.items()

    def elements(self, value: SSAValue) -> Elements | None:
        facts = self.facts(value)
        if facts is None:
            return None
        if facts.elements is not None:
            return facts.elements
        if value not in self._element_memo:
            self._element_memo[value] = self._unseen_elements(value, facts)
        return self._element_memo[value]

    def transfer(self, value: SSAValue, fresh: SSAValue) -> None:
        """Facts of a value for the one that takes its place."""
        facts = self.facts(value)
        if facts is not None:
            self._facts[fresh] = facts

    def update(self, op: Operation, *, may_never_run: bool) -> None:
        """Visit an op that was made after the walk. Its declared result types say nothing to note."""
        notes = len(self.notes)
        for result in op.results:
            self._facts.pop(result, None)
            self._element_memo.pop(result, None)
        with self.lenient() if may_never_run else nullcontext():
            self._visit(op)
        del self.notes[notes:]

    def unite(self, value: SSAValue, fresh: SSAValue, *, is_new: bool) -> None:
        """What is known of either of two names of one value, for `fresh`."""
        theirs, own = self.facts(value), self.facts(fresh)
        if theirs is None or own is None:
            return
        shape = own.shape if theirs.shape is None else theirs.shape
        if own.shape is not None and theirs.shape is not None and len(own.shape) == len(theirs.shape):
            first, second = (theirs.shape, own.shape) if is_new else (own.shape, theirs.shape)
            pairs = zip(first, second, strict=True)
            shape = tuple(b if a.constant is None and b.constant is not None else a for a, b in pairs)
        elements = own.elements if theirs.elements is None else theirs.elements
        if elements is not None and (shape is None or numbers(shape) != elements.shape):
            elements = None
        self._facts[fresh] = TensorFacts(own.element, shape, elements)

    def refined_type(self, value: SSAValue, cache: TypeCache) -> Attribute | None:
        """The type that says all that is known of a value; None when its own type does."""
        facts = self.facts(value)
        if facts is not None:
            return refined_type(value.type, facts, cache)
        found = self.type_of(value)
        return None if found == value.type else found

    def _unseen_elements(self, value: SSAValue, facts: TensorFacts) -> Elements | None:
        shape = numbers(facts.shape)
        if shape is None:
            return None
        size = math.prod(shape)
        if isinstance(value.owner, onnx.ConstantOp):
            if size > MAX_ELEMENTS or not is_small(facts.element, size):
                return None
            array = constant_value(value)
            return None if array is None else constant_elements(array)
        if size > MAX_SYMBOLIC_ELEMENTS or not is_integer(facts.element):
            return None
        return object_array([self.element_symbol(value, i, facts.element) for i in range(size)], shape)

    # Symbols.

    def dim_symbol(self, value: SSAValue, axis: int) -> DimExpr:
        """The anonymous dim of a value's axis."""
        return self._symbol((value, axis), nonnegative=True)

    def element_symbol(self, value: SSAValue, index: int, element: Attribute) -> DimExpr:
        """The unknown element of an integer tensor at a row-major position."""
        low, _ = INTEGER_RANGES[element]
        return self._symbol((value, -1 - index), nonnegative=low == 0)

    def count_symbol(self, value: SSAValue) -> DimExpr:
        """The unknown single element of an integer tensor that counts something."""
        return self._symbol((value, -1), nonnegative=True)

    def _symbol(self, key: tuple[SSAValue, int], *, nonnegative: bool) -> DimExpr:
        found = self._symbols.get(key)
        if found is None:
            self._serial += 1
            found = DimExpr.of(Symbol(f"?{self._serial}", self._serial, nonnegative))
            self._symbols[key] = found
        return found

    def loop_start(self, op: Operation) -> int:
        """Symbols with a higher serial number belong to the body of this loop."""
        return self._loop_starts.setdefault(op, self._serial)

    # Walking.

    def run_function(self, function: FuncOp) -> None:
        if function.is_declaration:
            return
        attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
        for index, argument in enumerate(function.body.block.args):
            names = dim_names(attributes[index] if index < len(attributes) else None)
            self._set_argument(argument, names)
        self.run_block(function.body.block)

    def _set_argument(self, argument: SSAValue, names: dict[int, str]) -> None:
        facts = self.facts(argument)
        if facts is None or facts.shape is None:
            return
        dims = [
            DimExpr.of(Symbol(names[axis])) if axis in names and dim.constant is None else dim
            for axis, dim in enumerate(facts.shape)
        ]
        self._facts[argument] = replace(facts, shape=tuple(dims))

    def run_block(self, block: Block) -> None:
        for op in block.ops:
            if op.results:
                self._visit(op)

    def _visit(self, op: Operation) -> None:
        if isinstance(op, onnx.ConstantOp | onnx.NoValueOp):
            return
        if op.regions and regions.visit(self, op):
            return
        try:
            self._apply_rules(op)
        except CustomOpError:
            raise
        except (Impossible, ModelError, ZeroDivisionError) as error:
            message = _about(op, str(error))
            if not self._lenient:
                raise ModelError(message) from None
            self.notes.append(message)
            for result in op.results:
                self.facts(result)

    @contextmanager
    def lenient(self) -> Generator[None]:
        """Code that may never run: impossible inputs are noted, not raised."""
        before, self._lenient = self._lenient, True
        try:
            yield
        finally:
            self._lenient = before

    def _apply_rules(self, op: Operation) -> None:
        query = OpQuery(op, self)
        rule = self._rules.shapes.get(type(op))
        if rule is not None:
            inferred = rule(query)
        elif isinstance(op, onnx.CustomOp):
            inferred = self._custom_results(op, query)
        else:
            inferred = standard_results(query) if isinstance(op, OnnxOp) else ()
        results = op.results
        for index, result in enumerate(results):
            self.refine(result, inferred[index] if index < len(inferred) else None)
        element_rule = self._rules.elements.get(type(op))
        if element_rule is None:
            return
        shapes = [self._small_shape(result) for result in results]
        query.result_shapes = [shape for shape in shapes if shape is not None]
        if len(query.result_shapes) != len(shapes):
            return
        for result, elements in zip(results, element_rule(query), strict=True):
            if elements is not None:
                self.set_elements(result, elements)

    def _custom_results(self, op: onnx.CustomOp, query: OpQuery) -> Sequence[Result]:
        registered = custom_op(op.domain_name.data, op.function_name.data)
        if registered is not None:
            given = range(count_given(op.operands))
            facts = [query.facts(index) if query.has(index) else None for index in given]
            own = {name: value for name, value in op.attributes.items() if not is_note(name)}
            return custom_results(registered, facts, own, describe(op))
        rule = self._rules.custom.get(op.function_name.data)
        return rule(query) if rule is not None and _is_microsoft(op) else ()

    def _small_shape(self, value: SSAValue) -> tuple[int, ...] | None:
        facts = self._facts.get(value)
        shape = None if facts is None else numbers(facts.shape)
        if facts is None or shape is None:
            return None
        return shape if is_small(facts.element, math.prod(shape)) else None

    # Recording.

    def refine(self, value: SSAValue, inferred: Result) -> None:
        """Record what a rule says of a value, merged with the value's declared type."""
        declared = element_type(value.type)
        if declared is None:
            if isinstance(inferred, Attribute):
                self._types[value] = more_precise(value.type, inferred)
            return
        if not isinstance(inferred, Inferred):
            inferred = Inferred(None)
        element = inferred.element or declared
        if element != declared:
            self._note(value, f"declared element type {declared}, inferred {element}")
        shape = self._merged_shape(value, inferred.dims)
        self._facts[value] = TensorFacts(element, shape)

    def set_elements(self, value: SSAValue, elements: Elements) -> None:
        """Record the elements of a value whose shape is known; unknown integers become symbols."""
        facts = self.facts(value)
        assert facts is not None
        flat: list[Element] = elements.reshape(-1).tolist()
        if not is_integer(facts.element):
            known = any(element is not None for element in flat)
            self._facts[value] = replace(facts, elements=elements if known or not flat else None)
            return
        checked: list[Element] = []
        known = not flat
        for index, element in enumerate(flat):
            if is_manageable(element, facts.element):
                known = True
                checked.append(element)
            else:
                checked.append(self.element_symbol(value, index, facts.element))
        self._facts[value] = replace(facts, elements=object_array(checked, elements.shape) if known else None)

    def distrust(self, value: SSAValue, axis: int) -> None:
        """A declared dim of a loop argument (-1: its rank) does not hold in every iteration."""
        if (value, axis) in self._distrusted:
            return
        declared = static_dims(value)
        if declared is not None and (axis < 0 or (axis < len(declared) and declared[axis] is not None)):
            self._note(value, "the declared shape does not hold in every iteration")
        self._distrusted.add((value, axis))

    def _declared_shape(self, value: SSAValue) -> Shape | None:
        declared = static_dims(value)
        if declared is None or (value, -1) in self._distrusted:
            return None
        return tuple(
            self.dim_symbol(value, axis)
            if dim is None or (value, axis) in self._distrusted
            else DimExpr.of(dim)
            for axis, dim in enumerate(declared)
        )

    def _merged_shape(self, value: SSAValue, dims: Sequence[DimExpr | None] | None) -> Shape | None:
        if dims is None:
            return self._declared_shape(value)
        declared = static_dims(value)
        if declared is not None and len(declared) != len(dims):
            if (value, -1) not in self._distrusted:
                self._note(value, f"declared rank {len(declared)}, inferred {len(dims)}")
            declared = None
        return tuple(
            self._merged_dim(value, axis, dim, None if declared is None else declared[axis])
            for axis, dim in enumerate(dims)
        )

    def _merged_dim(self, value: SSAValue, axis: int, dim: DimExpr | None, declared: int | None) -> DimExpr:
        if dim is not None and dim.constant is not None:
            if not 0 <= dim.constant <= _LARGEST_DIM:
                raise Impossible(f"dim {axis} of a result would be {dim}")
            if declared is not None and declared != dim.constant:
                self._note(value, f"declared dim {axis} is {declared}, inferred {dim}")
            return dim
        if declared is not None and (value, axis) not in self._distrusted:
            return DimExpr.of(declared)
        if dim is None or len(dim.terms) > MAX_TERMS:
            return self.dim_symbol(value, axis)
        return dim

    def _note(self, value: SSAValue, message: str) -> None:
        owner = value.owner
        op = owner.parent_op() if isinstance(owner, Block) else owner
        place = "argument" if isinstance(owner, Block) else "result"
        text = f"{place} {value.name_hint or ''}: {message}".replace(" :", ":")
        self.notes.append(text if op is None else _about(op, text))


def _about(op: Operation, message: str) -> str:
    return sentence(op, message) if isinstance(op, IRDLOperation) else f"{op.name}: {message}"


def dim_names(attributes: Attribute | None) -> dict[int, str]:
    """Axis -> name of the dims that a model names, from the attributes of a function argument."""
    if not isinstance(attributes, DictionaryAttr):
        return {}
    names = names_of_dims(attributes.data)
    # Some exporters write a question mark for every dim they know nothing of.
    return {axis: name for axis, name in names.items() if name not in _NO_NAMES}


def _is_microsoft(op: onnx.CustomOp) -> bool:
    return op.domain_name.data == "com.microsoft"
