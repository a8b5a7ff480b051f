"""How is one value put into all lanes of a vector?"""

from __future__ import annotations

from llvmlite import ir

_I32 = ir.IntType(32)
_CONSTANTS: dict[tuple[str, str], ir.Constant] = {}
"""The text of a vector constant takes long to make; objects keep theirs."""


def in_all_lanes(b: ir.IRBuilder, scalar: ir.Value, count: int) -> ir.Value:
    """A vector of `count` times `scalar`."""
    vector = ir.VectorType(scalar.type, count)
    if isinstance(scalar, ir.Constant):
        return _constant(scalar, vector)
    undefined = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(_I32, count), None)
    return b.shuffle_vector(b.insert_element(undefined, scalar, ir.Constant(_I32, 0)), undefined, zeros)


def _constant(scalar: ir.Constant, vector: ir.VectorType) -> ir.Constant:
    key = str(vector), scalar.get_reference()
    found = _CONSTANTS.get(key)
    if found is None:
        found = _CONSTANTS[key] = ir.Constant(vector, [scalar.constant] * vector.count)
    return found
