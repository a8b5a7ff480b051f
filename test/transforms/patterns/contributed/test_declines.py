"""Which forms of contributed ops stay as they are, and why?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from onnx import ModelProto, helper

from onnxloom.testing.patterns import decline_reason
from onnxloom.transforms.patterns.contributed.attention import ContributedAttentionPattern
from onnxloom.transforms.patterns.contributed.bias_softmax import ContributedBiasSoftmaxPattern
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.fused_conv import ContributedFusedConvPattern
from onnxloom.transforms.patterns.contributed.fused_gemm import ContributedFusedGemmPattern
from onnxloom.transforms.patterns.contributed.fused_mat_mul import ContributedFusedMatMulPattern
from onnxloom.transforms.patterns.contributed.gelu import ContributedGeluPattern
from onnxloom.transforms.patterns.contributed.group_query_attention import (
    ContributedGroupQueryAttentionPattern,
)
from onnxloom.transforms.patterns.contributed.multi_head_attention import (
    ContributedMultiHeadAttentionPattern,
)
from onnxloom.transforms.patterns.contributed.nhwc_conv import ContributedNhwcFusedConvPattern
from onnxloom.transforms.patterns.contributed.nhwc_max_pool import ContributedNhwcMaxPoolPattern
from onnxloom.transforms.patterns.contributed.rotary_embedding import ContributedRotaryEmbeddingPattern
from onnxloom.transforms.patterns.contributed.skip_simplified_layer_normalization import (
    ContributedSkipSimplifiedLayerNormalizationPattern,
)

Dims = Sequence[int | str | None] | None

X, W, B = [2, 5, 16], [16, 48], [48]
CACHE = [2, 2, 6, 16]


def model(
    op_type: str,
    *inputs: Dims | tuple[Dims, int],
    outputs: int = 1,
    domain: str = "com.microsoft",
    **attributes: Any,
) -> ModelProto:
    """One node; an input is its dims (f32), dims and element type, None for unknown dims, () left out."""
    names = ["" if dims == () else f"x{i}" for i, dims in enumerate(inputs)]
    infos = []
    for name, dims in zip(names, inputs, strict=True):
        shape, code = dims if isinstance(dims, tuple) and len(dims) == 2 else (dims, 1)
        if name:
            infos.append(helper.make_tensor_value_info(name, code, shape))  # pyright: ignore
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, results, domain=domain, **attributes)
    types = [helper.make_tensor_value_info(name, 1, None) for name in results]
    graph = helper.make_graph([node], "one", infos, types)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


I32 = 6
GQA: dict[str, Any] = {"num_heads": 4, "kv_num_heads": 2}
TOKENS = ([2, 1, 64], [2, 1, 32], [2, 1, 32])
LENGTHS = (([2], I32), ([], I32))

DECLINES: list[tuple[type[ContributedOpPattern], ModelProto, str]] = [
    (ContributedGeluPattern, model("Gelu", X, domain="other.domain"), "it is not com.microsoft:Gelu"),
    (ContributedGeluPattern, model("FastGelu", X), "it is not com.microsoft:Gelu"),
    (ContributedGeluPattern, model("Gelu", X, X), "it has 2 operands; expected at most 1"),
    (ContributedGeluPattern, model("Gelu", X, outputs=2), "its result 1 is read"),
    (ContributedGeluPattern, model("Gelu", (X, I32)), "does not take"),
    (
        ContributedSkipSimplifiedLayerNormalizationPattern,
        model("SkipSimplifiedLayerNormalization", X, X, [16], outputs=2),
        "its result 1 is read",
    ),
    (ContributedBiasSoftmaxPattern, model("BiasSoftmax", X, X, axis=1), "softmax is over several axes"),
    (ContributedBiasSoftmaxPattern, model("BiasSoftmax", None, X, axis=2), "the rank is not known"),
    (ContributedFusedMatMulPattern, model("FusedMatMul", None, X, transA=1), "the rank of A"),
    (
        ContributedFusedConvPattern,
        model("FusedConv", [1, 3, 8, 8], [4, 3, 3, 3], activation="Gelu"),
        "'Gelu'",
    ),
    (
        ContributedFusedConvPattern,
        model("FusedConv", [1, 3, 8, 8], [4, 3, 3, 3], activation="Clip"),
        "'Clip'",
    ),
    (ContributedFusedGemmPattern, model("FusedGemm", [4, 5], [5, 6], [6], activation="Elu"), "'Elu'"),
    (ContributedNhwcMaxPoolPattern, model("NhwcMaxPool", None, kernel_shape=[2, 2]), "the rank of the input"),
    (ContributedNhwcMaxPoolPattern, model("NhwcMaxPool", [4, 5], kernel_shape=[2]), "the rank of the input"),
    (ContributedNhwcFusedConvPattern, model("NhwcFusedConv", None, [4, 3, 3, 3]), "the rank of the input"),
    (ContributedNhwcFusedConvPattern, model("NhwcFusedConv", [4, 5], [4, 3]), "the rank of the input"),
    (
        ContributedRotaryEmbeddingPattern,
        model("RotaryEmbedding", None, ([2, 5], 7), [9, 4], [9, 4]),
        "the rank of the input or of the position ids",
    ),
    (
        ContributedRotaryEmbeddingPattern,
        model("RotaryEmbedding", X, (None, 7), [9, 4], [9, 4]),
        "the rank of the input or of the position ids",
    ),
    (
        ContributedRotaryEmbeddingPattern,
        model("RotaryEmbedding", [2, 5, "width"], ([2, 5], 7), [9, 4], [9, 4]),
        "the number of heads",
    ),
    (ContributedAttentionPattern, model("Attention", X, W, B, num_heads=4, do_rotary=1), "it rotates"),
    (
        ContributedAttentionPattern,
        model("Attention", X, W, B, num_heads=4, past_present_share_buffer=1),
        "shares a buffer",
    ),
    (ContributedAttentionPattern, model("Attention", X, [16, "w"], num_heads=4), "the width of the weights"),
    (
        ContributedAttentionPattern,
        model("Attention", X, W, B, ([2], I32), [2, 2, 4, 3, 4], num_heads=4),
        "lengths of rows besides past keys",
    ),
    (
        ContributedAttentionPattern,
        model("Attention", X, W, B, ([4], I32), num_heads=4),
        "not proven to hold one length per row",
    ),
    (
        ContributedAttentionPattern,
        model("Attention", X, W, B, ([2, 1, 5, 5], I32), num_heads=4),
        "has no form that is known here",
    ),
    (
        ContributedMultiHeadAttentionPattern,
        model("MultiHeadAttention", X, X, X, (), (), (), CACHE, CACHE, ([1], I32), num_heads=4),
        "it shares a buffer",
    ),
    (
        ContributedMultiHeadAttentionPattern,
        model("MultiHeadAttention", X, X, X, *[()] * 6, ([2, 1, 5], I32), num_heads=4),
        "searches by beams",
    ),
    (
        ContributedMultiHeadAttentionPattern,
        model("MultiHeadAttention", X, None, X, num_heads=4),
        "have no form known here",
    ),
    (
        ContributedMultiHeadAttentionPattern,
        model("MultiHeadAttention", X, X, X, ["b"], num_heads=4),
        "the length of the bias",
    ),
    (
        ContributedMultiHeadAttentionPattern,
        model("MultiHeadAttention", [2, 5, "q"], X, [2, 5, "v"], B, num_heads=4),
        "the widths of queries and values",
    ),
    (
        ContributedMultiHeadAttentionPattern,
        model("MultiHeadAttention", X, X, X, (), ([2], I32), (), CACHE, CACHE, num_heads=4),
        "lengths of rows besides past keys",
    ),
    (
        ContributedMultiHeadAttentionPattern,
        model("MultiHeadAttention", X, X, X, (), ([4], I32), num_heads=4),
        "not proven to hold one length per row",
    ),
    (
        ContributedGroupQueryAttentionPattern,
        model("GroupQueryAttention", *TOKENS, CACHE, CACHE, *LENGTHS, **GQA, smooth_softmax=1),
        "a further term",
    ),
    (
        ContributedGroupQueryAttentionPattern,
        model("GroupQueryAttention", *TOKENS, CACHE, CACHE, *LENGTHS, (), (), (), (), [4], **GQA),
        "a further term",
    ),
    (
        ContributedGroupQueryAttentionPattern,
        model("GroupQueryAttention", *TOKENS, CACHE, CACHE, *LENGTHS, **GQA, kv_cache_bit_width=8),
        "its cache is quantized",
    ),
    (
        ContributedGroupQueryAttentionPattern,
        model("GroupQueryAttention", *TOKENS, CACHE, CACHE, *LENGTHS, **GQA, do_rotary=1),
        "without caches of cosines and sines",
    ),
    (
        ContributedGroupQueryAttentionPattern,
        model("GroupQueryAttention", [2, 1, "w"], (), (), CACHE, CACHE, *LENGTHS, **GQA),
        "the width of packed queries",
    ),
]


@pytest.mark.parametrize(("pattern", "source", "reason"), DECLINES)
def test_reason(pattern: type[ContributedOpPattern], source: ModelProto, reason: str) -> None:
    assert reason in decline_reason(source, pattern)
