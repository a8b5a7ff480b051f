"""com.microsoft RotaryEmbedding -> RotaryEmbedding of the standard, whose operands come in another order"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from onnxloom.transforms.miss import Miss, no_match
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import Inputs, Match, Tensor, op


class ContributedRotaryEmbeddingPattern(ContributedOpPattern):
    op_type = "RotaryEmbedding"
    operands = ("input", "position_ids", "cos_cache", "sin_cache")
    attributes: ClassVar[Mapping[str, Any]] = {
        "interleaved": 0,
        "num_heads": 0,
        "rotary_embedding_dim": 0,
        "scale": 1.0,
        "is_packed_batching": 0,
    }
    min_opset = 23

    def replacement(self, inputs: Inputs, match: Match) -> Tensor | Miss:
        rank, ids_rank = (match.graph.rank(match[name]) for name in ("input", "position_ids"))
        if rank not in (3, 4) or ids_rank is None:
            return no_match(match.anchor, "the rank of the input or of the position ids is not known")
        heads = match.attribute("num_heads") or _heads(match)
        if rank == 3 and not heads:
            return no_match(match.anchor, "the number of heads is not known")
        positions = inputs.position_ids
        if ids_rank != 2:
            # One number: the position of the first token of every row.
            batch, length = op.Shape(inputs.input, start=0, end=1), op.Shape(inputs.input, start=1, end=2)
            if rank == 4:
                length = op.Shape(inputs.input, start=2, end=3)
            steps = op.Range(0, op.Squeeze(length, [0]), 1)
            positions = op.Expand(positions + steps, op.Concat(batch, length, axis=0))
        return op.RotaryEmbedding(
            inputs.input,
            inputs.cos_cache,
            inputs.sin_cache,
            positions,
            interleaved=match.attribute("interleaved"),
            num_heads=heads if rank == 3 else 0,
            rotary_embedding_dim=match.attribute("rotary_embedding_dim"),
        )


def _heads(match: Match) -> int:
    """Heads of `[batch, length, heads * size]`, where a head is as long as two rows of the cache; else 0."""
    width, half = (match.graph.dim(match[name], -1) for name in ("input", "cos_cache"))
    if match.attribute("rotary_embedding_dim") or width is None or half is None:
        return 0
    return (width.constant or 0) // (2 * half.constant) if half.constant else 0
