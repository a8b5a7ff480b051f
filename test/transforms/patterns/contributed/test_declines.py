"""Which forms of contributed ops stay as they are, and why?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

from onnxloom.testing.patterns import decline_reason
from onnxloom.transforms.patterns.contributed.attention import ContributedAttentionPattern
from onnxloom.transforms.patterns.contributed.bias_softmax import ContributedBiasSoftmaxPattern
from onnxloom.transforms.patterns.contributed.cdist import ContributedCDistPattern
from onnxloom.transforms.patterns.contributed.contributed_op import ContributedOpPattern
from onnxloom.transforms.patterns.contributed.expand_dims import ContributedExpandDimsPattern
from onnxloom.transforms.patterns.contributed.fused_conv import ContributedFusedConvPattern
from onnxloom.transforms.patterns.contributed.fused_gemm import ContributedFusedGemmPattern
from onnxloom.transforms.patterns.contributed.fused_mat_mul import ContributedFusedMatMulPattern
from onnxloom.transforms.patterns.contributed.gated_rms_norm import ContributedGatedRMSNormPattern
from onnxloom.transforms.patterns.contributed.gather_block_quantized import (
    ContributedGatherBlockQuantizedPattern,
)
from onnxloom.transforms.patterns.contributed.gelu import ContributedGeluPattern
from onnxloom.transforms.patterns.contributed.group_query_attention import (
    ContributedGroupQueryAttentionPattern,
)
from onnxloom.transforms.patterns.contributed.matmul_bnb4 import ContributedMatMulBnb4Pattern
from onnxloom.transforms.patterns.contributed.matmul_nbits import ContributedMatMulNBitsPattern
from onnxloom.transforms.patterns.contributed.multi_head_attention import (
    ContributedMultiHeadAttentionPattern,
)
from onnxloom.transforms.patterns.contributed.nhwc_conv import ContributedNhwcFusedConvPattern
from onnxloom.transforms.patterns.contributed.nhwc_max_pool import ContributedNhwcMaxPoolPattern
from onnxloom.transforms.patterns.contributed.qlinear_concat import ContributedQLinearConcatPattern
from onnxloom.transforms.patterns.contributed.qlinear_conv import ContributedQLinearConvPattern
from onnxloom.transforms.patterns.contributed.qlinear_softmax import ContributedQLinearSoftmaxPattern
from onnxloom.transforms.patterns.contributed.rotary_embedding import ContributedRotaryEmbeddingPattern
from onnxloom.transforms.patterns.contributed.scaled_silu import ContributedScaledSiLUPattern
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


U8, I32, F16 = 2, 6, 10
QUANTA: list[Any] = [[], ([], U8)]
BNB4: list[Any] = [[3, 16], ([32], U8), [4]]
BNB4_SIZES: dict[str, Any] = {"K": 16, "N": 4, "block_size": 16}
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
    (ContributedFusedGemmPattern, model("FusedGemm", [4, 5], [5, 6], [6], activation="Mish"), "'Mish'"),
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
        model("Attention", X, W, B, ([3], I32), num_heads=4),
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
        model("MultiHeadAttention", ["b", 5, 16], X, X, (), ([4], I32), num_heads=4),
        "not proven to hold one length per row",
    ),
    (
        ContributedMultiHeadAttentionPattern,
        model("MultiHeadAttention", X, X, X, (), ([3], I32), num_heads=4),
        "not proven to hold one length per row",
    ),
    (
        ContributedGroupQueryAttentionPattern,
        model("GroupQueryAttention", *TOKENS, CACHE, CACHE, *LENGTHS, **GQA, causal=0),
        "it is not causal",
    ),
    (
        ContributedGroupQueryAttentionPattern,
        model("GroupQueryAttention", *TOKENS, CACHE, CACHE, *LENGTHS, **GQA, sliding_window_cache=1),
        "its cache is a window",
    ),
    (
        ContributedAttentionPattern,
        model("Attention", X, [16, 40], num_heads=4, outputs=2, qkv_hidden_sizes=[16, 16, 8]),
        "keys and values of different sizes",
    ),
    (
        ContributedQLinearConcatPattern,
        model("QLinearConcat", [], ([], U8), ([2], U8), axis=0),
        "not every input has a scale",
    ),
    (ContributedQLinearConcatPattern, model("QLinearConcat", [], ([], U8), axis=0), "not every input"),
    (
        ContributedQLinearConvPattern,
        model("QLinearConv", (None, U8), *QUANTA, ([4, 3, 3, 3], U8), *QUANTA, *QUANTA, channels_last=1),
        "the rank of the input",
    ),
    (
        ContributedQLinearConvPattern,
        model("QLinearConv", ([4, 5], U8), *QUANTA, ([4, 5], U8), *QUANTA, *QUANTA, channels_last=1),
        "has no spatial dims",
    ),
    (
        ContributedQLinearSoftmaxPattern,
        model("QLinearSoftmax", (None, U8), *QUANTA, *QUANTA, opset=11),
        "rank",
    ),
    (
        ContributedGatherBlockQuantizedPattern,
        model("GatherBlockQuantized", ([4, 16], 3), ([2], 7), [4, 1], block_size=16),
        "its data is not made of bytes",
    ),
    (
        ContributedGatherBlockQuantizedPattern,
        model("GatherBlockQuantized", ([4, 16], U8), ([2], 7), [4, 1], block_size=16, bits=2),
        "that hold 4 or 8 bits",
    ),
    (
        ContributedGatherBlockQuantizedPattern,
        model("GatherBlockQuantized", ([4, "w"], U8), ([2], 7), [4, 1], block_size=16),
        "the width of its data",
    ),
    (
        ContributedGatherBlockQuantizedPattern,
        model("GatherBlockQuantized", ([4, 16], U8), ([2], 7), [4, 1], block_size=16, gather_axis=1),
        "it gathers along other dims",
    ),
    (
        ContributedGatherBlockQuantizedPattern,
        model("GatherBlockQuantized", ([16, 16], U8), ([2], 7), [1, 16], block_size=16, quantize_axis=0),
        "blocks lie along others",
    ),
    (
        ContributedMatMulNBitsPattern,
        model("MatMulNBits", [2, 16], ([4, 1, 16], U8), [4, 1], K=16, N=4, bits=3, block_size=16),
        "3 bits in blocks of 16",
    ),
    (
        ContributedMatMulNBitsPattern,
        model("MatMulNBits", [2, 16], ([4, 1, 8], U8), [4, 1], K=16, N=4),
        "in blocks of 0",
    ),
    (ContributedCDistPattern, model("CDist", [4, 5], [3, 5], metric="cosine"), "the metric 'cosine'"),
    (ContributedExpandDimsPattern, model("ExpandDims", X, ([], I32)), "the axis is not constant"),
    (ContributedScaledSiLUPattern, model("ScaledSiLU", X, ([], F16)), "another type than X"),
    (ContributedGatedRMSNormPattern, model("GatedRMSNorm", X, ["c"], X), "the length of the scale"),
    (ContributedGatedRMSNormPattern, model("GatedRMSNorm", X, [1, 16], X), "the length of the scale"),
    (ContributedGatedRMSNormPattern, model("GatedRMSNorm", X, [16], X, activation="relu"), "'relu'"),
    (ContributedMatMulBnb4Pattern, model("MatMulBnb4", *BNB4, **BNB4_SIZES, quant_type=2), "its table"),
    (
        ContributedMatMulBnb4Pattern,
        model("MatMulBnb4", ([3, 16], F16), *BNB4[1:], **BNB4_SIZES, quant_type=1),
        "A is not f32",
    ),
    (
        ContributedMatMulBnb4Pattern,
        model("MatMulBnb4", *BNB4, **BNB4_SIZES, quant_type=1),
        "are not constant",
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


SHORT_BNB4 = [
    (np.zeros(31, np.uint8), np.ones(4, np.float32)),
    (np.zeros(32, np.uint8), np.ones(3, np.float32)),
]


@pytest.mark.parametrize(("packed", "scales"), SHORT_BNB4)
def test_reason_of_short_weights(packed: np.ndarray[Any, Any], scales: np.ndarray[Any, Any]) -> None:
    source = model("MatMulBnb4", *BNB4, **BNB4_SIZES, quant_type=1)
    del source.graph.input[1:]
    source.graph.initializer.extend(
        numpy_helper.from_array(x, name) for x, name in ((packed, "x1"), (scales, "x2"))
    )
    assert "fewer weights or scales" in decline_reason(source, ContributedMatMulBnb4Pattern)


def test_reason_of_constant_weights() -> None:
    source = model("MatMulNBits", [2, 16], ([4, 1, 8], U8), [4, 1], K=16, N=4, bits=4, block_size=16)
    del source.graph.input[1:]
    weights, scales = np.zeros((4, 1, 8), np.uint8), np.ones((4, 1), np.float32)
    source.graph.initializer.extend(
        numpy_helper.from_array(x, name) for x, name in ((weights, "x1"), (scales, "x2"))
    )
    assert "it has a kernel" in decline_reason(source, ContributedMatMulNBitsPattern)
