"""Which dims are equal, and which small integers are known, before the model runs?

`DimAnalysis` answers for the values of a function or module as they stand when it is made. Ops made
later are known by their types only, or as well as all others once `update` has seen them.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from onnxloom.transforms.dim_analysis.analysis import Analysis
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr, Symbol
from onnxloom.transforms.dim_analysis.facts import Elements, Shape
from onnxloom.transforms.dim_analysis.refined_type import TypeCache

__all__ = ["DimAnalysis", "DimExpr", "Symbol"]


class DimAnalysis:
    """Symbolic shapes and elements of the values of a function, nested regions included."""

    def __init__(self, analysis: Analysis):
        self._analysis = analysis
        self._types: TypeCache = {}

    @staticmethod
    def of(op: Operation) -> DimAnalysis:
        """Of a function, or of every function of a module.

        Raises ModelError when the shapes of an op's inputs contradict each other.
        """
        return DimAnalysis(analyze(op))

    def shape(self, value: SSAValue) -> Shape | None:
        """One expression per axis; None when the rank is not known or the value is no tensor."""
        facts = self._analysis.facts(value)
        return None if facts is None else facts.shape

    def is_tensor(self, value: SSAValue) -> bool:
        return self._analysis.facts(value) is not None

    def dim(self, value: SSAValue, axis: int) -> DimExpr:
        """The dim of an axis, negative ones counted from the end.

        Raises ValueError when the rank is not known, IndexError when there is no such axis.
        """
        shape = self.shape(value)
        if shape is None:
            raise ValueError(f"dim {axis} of a value of type {value.type}; expected a ranked tensor")
        return shape[axis]

    def same_dim(self, left: SSAValue, left_axis: int, right: SSAValue, right_axis: int) -> bool:
        """Whether two dims are provably equal."""
        left_shape, right_shape = self.shape(left), self.shape(right)
        if left_shape is None or right_shape is None:
            return False
        return left_shape[left_axis] == right_shape[right_axis]

    def same_shape(self, left: SSAValue, right: SSAValue) -> bool:
        """Whether two tensors provably have the same rank and dims."""
        left_shape, right_shape = self.shape(left), self.shape(right)
        return left_shape is not None and left_shape == right_shape

    def known_value(self, value: SSAValue) -> Elements | None:
        """The elements of a small tensor, in an array of its shape; None when it is not tracked.

        Integers are `DimExpr`; bools and floats are Python's, or None when not known.
        """
        return self._analysis.elements(value)

    def transfer(self, value: SSAValue, fresh: SSAValue) -> None:
        """Lets `fresh`, which a rewrite put in the place of `value`, be known by what `value` is known by."""
        self._analysis.transfer(value, fresh)

    def update(self, op: Operation, *, may_never_run: bool = False) -> None:
        """Looks at an op made later, or changed, whose operands are known; regions included.

        Raises ModelError when the shapes of its inputs contradict each other, except in code that may
        never run.
        """
        self._analysis.update(op, may_never_run=may_never_run)

    def unite(self, value: SSAValue, fresh: SSAValue, *, is_new: bool) -> None:
        """Two names of one value: `fresh` takes the place of `value` and is known by what both are.

        The dims of a new value are called as those of `value` are, which other values may share.
        """
        self._analysis.unite(value, fresh, is_new=is_new)

    def refined_type(self, value: SSAValue) -> Attribute | None:
        """The type that says all that is known of a value; None when its own type does."""
        return self._analysis.refined_type(value, self._types)


def analyze(op: Operation) -> Analysis:
    """Run an analysis over a function, or over every function of a module."""
    analysis = Analysis()
    functions = [op] if isinstance(op, FuncOp) else _functions(op)
    for function in functions:
        analysis.run_function(function)
    return analysis


def _functions(op: Operation) -> list[FuncOp]:
    if not isinstance(op, ModuleOp):
        raise ValueError(f"{op.name} has no dims to analyze; expected a func.func or a builtin.module")
    return [function for function in op.ops if isinstance(function, FuncOp)]
