"""Do all results of a chain have the shape of its loop, and what must be true of dims for that?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.dim_analysis import DimAnalysis
from onnxloom.transforms.fusion.helper import DimEquality
from onnxloom.transforms.fusion.match import Miss
from onnxloom.transforms.fusion.spaces import Dim, Equality, Space, Spaces, broadcast, missing


def prove_full(
    ops: Sequence[Operation], results: Iterable[SSAValue], spaces: Spaces, dims: DimAnalysis | None = None
) -> list[Equality] | Miss:
    """The equalities of input dims under which every result has the loop's full shape.

    The loop runs over the broadcast of everything the chain reads. `ops` are in order of their uses.
    Without `dims` nothing is proven beyond what `spaces` knows.
    """
    inside = set(ops)
    full = _loop_space(ops, spaces, inside)
    if full is None:
        return Miss("the rank of an input is not known")
    equalities: dict[Equality, None] = {}
    for index, result in enumerate(results):
        own = spaces.of(result, inside.__contains__)
        gaps = None if own is None else missing(own, full)
        if gaps is None:
            return Miss(f"result {index} has a lower rank than the loop")
        for mine, lacking in gaps:
            for dim in sorted(lacking, key=_dim_order):
                proof = _proof(dim, sorted(mine, key=_dim_order), dims)
                if proof is None:
                    return Miss(f"result {index} may be smaller than the loop: a dim is not proven equal")
                equalities[proof] = None
    return list(equalities)


def _loop_space(ops: Sequence[Operation], spaces: Spaces, inside: set[Operation]) -> Space | None:
    values: dict[SSAValue, None] = {}
    for op in ops:
        # In order, so that the recursion of `of` never goes deeper than one op.
        for result in op.results[:1]:
            values[result] = None
            if spaces.of(result, inside.__contains__) is None:
                return None
    return broadcast([spaces.of(value, inside.__contains__) for value in values])


def _proof(dim: Dim, candidates: Sequence[Dim], dims: DimAnalysis | None) -> Equality | None:
    if dims is None or isinstance(dim, int):
        return None
    for other in candidates:
        if not isinstance(other, int) and dims.same_dim(dim[0], dim[1], other[0], other[1]):
            return (dim, other)
    return None


def _dim_order(dim: Dim) -> tuple[int, str, int]:
    """Numbers first; an order that does not change from run to run is all that is asked."""
    if isinstance(dim, int):
        return (dim, "", 0)
    return (-1, dim[0].name_hint or "", dim[1])


def to_conditions(equalities: Iterable[Equality], inputs: Sequence[SSAValue]) -> tuple[DimEquality, ...]:
    """Equalities in terms of input numbers."""
    index = {value: i for i, value in enumerate(inputs)}
    rows = (
        (index[left[0]], left[1], index[right[0]], right[1])
        for left, right in equalities
        if not is_none(left[0])
    )
    return tuple(sorted(rows))


def to_equalities(conditions: Iterable[DimEquality], inputs: Sequence[SSAValue]) -> list[Equality]:
    """The reverse of `to_conditions`."""
    return [((inputs[i], a), (inputs[j], b)) for i, a, j, b in conditions]
