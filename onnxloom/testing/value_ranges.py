"""Which integers may a made-up input hold? Only small ones where they become an index, an axis or a size."""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from onnxloom.dialects import onnx
from onnxloom.testing.values import Range

_SIZES_AND_INDICES: Final = {
    "onnx.Gather": {1}, "onnx.GatherElements": {1}, "onnx.GatherND": {1}, "onnx.ScatterElements": {1},
    "onnx.ScatterND": {1}, "onnx.TensorScatter": {2}, "onnx.Reshape": {1}, "onnx.Expand": {1},
    "onnx.Slice": {1, 2, 3, 4}, "onnx.Tile": {1}, "onnx.OneHot": {0, 1}, "onnx.Range": {0, 1, 2},
    "onnx.ConstantOfShape": {0}, "onnx.Pad": {1, 3}, "onnx.TopK": {1}, "onnx.Unsqueeze": {1},
    "onnx.Squeeze": {1}, "onnx.Split": {1}, "onnx.SplitToSequence": {1}, "onnx.Resize": {2, 3},
    "onnx.CumSum": {1}, "onnx.Trilu": {1}, "onnx.SequenceAt": {1}, "onnx.SequenceErase": {1},
    "onnx.SequenceInsert": {2}, "onnx.ReverseSequence": {1}, "onnx.CenterCropPad": {1},
    "onnx.AffineGrid": {1}, "onnx.BitShift": {1}, "onnx.Pow": {1}, "onnx.MaxUnpool": {1, 2},
    "onnx.Col2Im": {1, 2}, "onnx.DFT": {1, 2}, "onnx.BlackmanWindow": {0},
    "onnx.HannWindow": {0}, "onnx.HammingWindow": {0},
    "onnx.MelWeightMatrix": {0, 1, 2}, "onnx.STFT": {1, 3}, "onnx.Attention": {6},
    "onnx.RotaryEmbedding": {3},
}  # fmt: skip
"""Op -> positions of the operands that say where or how much."""

_DIVISIONS: Final = (onnx.DivOp, onnx.ModOp)


_SHAPES_ONLY: Final = (onnx.ShapeOp, onnx.SizeOp, onnx.DimOp)
"""What these give does not depend on the values of their input."""


def range_of(argument: SSAValue) -> Range:
    """What the integers of an input may be, by all that is computed from them."""
    found = Range.ANY
    waiting = [argument]
    known = {argument}
    while waiting:
        for use in waiting.pop().uses:
            op = use.operation
            if isinstance(op, _SHAPES_ONLY):
                continue
            reduces = op.name.startswith("onnx.Reduce") and use.index == 1
            if op.regions or reduces or use.index in _SIZES_AND_INDICES.get(op.name, ()):
                return Range.SMALL
            if isinstance(op, _DIVISIONS) and use.index == 1:
                found = Range.POSITIVE
            waiting.extend(result for result in op.results if result not in known)
            known.update(op.results)
    return found
