"""How is a constant written that is the same in all lanes of a vector? As one object, whoever asks for it."""

from __future__ import annotations

from llvmlite import ir

_SPLATS: dict[tuple[str, str], ir.Constant] = {}


def constant_in_all_lanes(scalar: ir.Constant, vector: ir.VectorType) -> ir.Constant:
    """`scalar` in all lanes of `vector`. The text of one takes long to make; objects keep theirs."""
    key = str(vector), scalar.get_reference()
    found = _SPLATS.get(key)
    if found is None:
        found = _SPLATS[key] = ir.Constant(vector, [scalar.constant] * vector.count)
    return found
