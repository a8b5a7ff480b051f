"""Ops of com.microsoft that have a namesake in the standard, or that few models contain."""

from __future__ import annotations

from typing import Any

import numpy as np

from peer_cases.case import Case
from peer_cases.draw import Draw
from peer_cases.generators.microsoft_quantized import WHY, held
from peer_cases.registry import Limit, cases_of

SAME = Limit(relative=0)
NOTHING = "no arithmetic"


@cases_of("Trilu", limit=SAME, reason=NOTHING)
def trilu(draw: Draw) -> Case:
    x = draw.normal(*draw.shape(2), dtype=draw.one_of(np.float32, np.float64))
    if draw.often(0.3):
        x = draw.below(99, *x.shape)
    k = draw.maybe(np.array(draw.size(-5, 5), np.int64))
    return Case([x, k], draw.some({"upper": draw.one_of(0, 1)}, 0.8), is_dynamic=draw.often(0.3))


@cases_of("Unique", limit=SAME, reason=NOTHING)
def unique(draw: Draw) -> Case:
    return Case([draw.below(5, draw.dim(12)).astype(np.float32)], outputs=3)


@cases_of("GatherND", limit=SAME, reason=NOTHING)
def gather_nd(draw: Draw) -> Case:
    shape = [draw.size(1, 5) for _ in range(draw.size(1, 4))]
    depth, rows = draw.size(1, len(shape)), draw.shape(0, 2)
    dtype = draw.one_of(np.int32, np.int64)
    columns = [draw.below(shape[i], *rows, dtype=dtype) for i in range(depth)]
    x = draw.normal(*shape) if draw.often() else draw.whole(draw.one_of(np.int8, np.int64, np.uint16), *shape)
    return Case([x, np.stack(columns, -1)], is_dynamic=draw.often(0.3))


@cases_of("ExpandDims", limit=SAME, reason=NOTHING)
def expand_dims(draw: Draw) -> Case:
    x = draw.normal(*draw.shape(0))
    axis = np.array(draw.size(-x.ndim - 1, x.ndim), np.int32)
    return Case([x, axis], constant=[1], is_dynamic=draw.often(0.3))


@cases_of("Pad", limit=SAME, reason=NOTHING)
def pad(draw: Draw) -> Case:
    x = draw.normal(*[draw.size(2, 6) for _ in range(draw.size(1, 4))])
    mode = draw.one_of("constant", "constant", "reflect", "edge")
    pads = draw.below(2 if mode == "reflect" else 4, 2 * x.ndim, low=0)
    if draw.often(0.3):
        pads = pads.reshape(1, -1)
    value = draw.one_of(None, draw.normal(1), draw.normal())
    return Case([x, pads, value], {"mode": mode}, constant=[1] * draw.often(0.7))


@cases_of("Range", limit=Limit(relative=1e-6), reason="a product and a sum")
def range_(draw: Draw) -> Case:
    dtype = draw.one_of(np.float32, np.float64, np.int16, np.int32, np.int64)
    shape = draw.one_of([], [1])
    start, step = draw.size(-5, 5), draw.one_of(1, 2, 3, -1)
    numbers: list[Any] = [np.full(shape, v, dtype) for v in (start, start + step * draw.size(0, 6), step)]
    return Case(
        numbers if draw.often(0.7) else numbers[:2], constant=draw.one_of([], [0, 1, 2][: len(numbers)])
    )


@cases_of("CDist", limit=Limit(relative=2e-4), reason="onnxruntime multiplies, and differences cancel")
def cdist(draw: Draw) -> Case:
    dtype, width = draw.one_of(np.float32, np.float64), draw.size(1, 9)
    a, b = draw.normal(draw.size(1, 6), width, dtype=dtype), draw.normal(draw.size(1, 6), width, dtype=dtype)
    metric = draw.one_of("sqeuclidean", "euclidean")
    return Case([a, b], {"metric": metric} if draw.often(0.8) else {}, is_dynamic=draw.often(0.3))


@cases_of("GridSample")
def grid_sample(draw: Draw) -> Case:
    batch = draw.size(1, 2)
    x = draw.normal(batch, draw.size(1, 3), draw.size(2, 6), draw.size(2, 6))
    grid = draw.uniform(-1.3, 1.3, batch, draw.size(1, 4), draw.size(1, 4), 2)
    attributes = draw.some(
        {"mode": draw.one_of("bilinear", "nearest", "bicubic"), "align_corners": draw.one_of(0, 1),
         "padding_mode": draw.one_of("zeros", "border", "reflection")}, 0.7
    )  # fmt: skip
    return Case([x, grid], attributes, is_dynamic=draw.often(0.2))


@cases_of("ScaledSiLU", limit=Limit(relative=2e-6), reason="exp of two polynomials")
def scaled_silu(draw: Draw) -> Case:
    dtype = draw.one_of(np.float32, np.float32, np.float16)
    scale = draw.maybe(np.asarray(draw.uniform(0.3, 2, dtype=dtype)), 0.3)
    x = draw.normal(*draw.shape(1), dtype=dtype, scale=2)
    return Case([x, scale], draw.some({"alpha": draw.number(-2, 2)}), is_dynamic=draw.often(0.3))


@cases_of("GatedRMSNorm")
def gated_rms_norm(draw: Draw) -> Case:
    dtype = draw.one_of(np.float32, np.float32, np.float16)
    heads, size = draw.size(1, 3), draw.size(1, 9)
    shape = [draw.size(1, 3), draw.size(1, 4), heads * size]
    attributes = draw.some({"activation": draw.one_of("silu", "swish", "sigmoid"), "epsilon": 1e-3}, 0.7)
    inputs = [
        draw.normal(*shape, dtype=dtype),
        draw.normal(size, dtype=dtype),
        draw.normal(*shape, dtype=dtype),
    ]
    return Case(inputs, attributes, is_dynamic=draw.often(0.3))


@cases_of("MatMulInteger16", limit=SAME, reason="whole numbers")
def matmul_integer16(draw: Draw) -> Case:
    m, k, n = draw.dim(), draw.size(1, 9), draw.dim()
    a, b = (draw.rng.integers(-9000, 9000, s).astype(np.int16) for s in ((m, k), (k, n)))
    return Case([a, b], is_dynamic=draw.often(0.3))


@cases_of("SampleOp", limit=SAME, reason=NOTHING)
def sample_op(draw: Draw) -> Case:
    return Case([draw.normal(*draw.shape(1))])


@cases_of("MatMulBnb4", limit=Limit(relative=1e-4), reason="sums of up to 200 products, in another order")
def matmul_bnb4(draw: Draw) -> Case:
    block, kind = draw.one_of(16, 32, 64), draw.one_of(0, 1)
    n, k = draw.size(1, 20), draw.size(1, 200)
    b = draw.whole(np.uint8, -(-n * k // 2))
    scales = draw.uniform(0.1, 2, -(-n * k // block))
    rows = draw.one_of([draw.size(1, 5)], [draw.size(1, 3), draw.size(1, 3)])
    attributes = {"K": k, "N": n, "block_size": block, "quant_type": kind}
    return Case([draw.normal(*rows, k), b, scales], attributes, constant=[1, 2], is_dynamic=draw.often(0.3))


@cases_of("QEmbedLayerNormalization", reason=WHY)
def qembed_layer_normalization(draw: Draw) -> Case:
    batch, length, hidden = draw.size(1, 4), draw.size(1, 6), draw.size(2, 20)
    words, positions, has_segments = draw.size(1, 20), length + draw.size(0, 4), draw.often()
    dtype = np.uint8
    mask = draw.bools(batch, length, dtype=np.int32)
    mask[:, 0] = 1
    tables = [(words, hidden), (positions, hidden), (2, hidden), (hidden,), (hidden,)]
    inputs: list[Any] = [
        draw.below(words, batch, length, dtype=np.int32),
        draw.below(2, batch, length, dtype=np.int32) if has_segments else None,
        *(draw.whole(dtype, *shape) for shape in tables), draw.maybe(mask),
        *(draw.scale() for _ in tables), *(draw.whole(dtype) for _ in tables),
    ]  # fmt: skip
    if not has_segments:
        inputs[4] = inputs[10] = inputs[15] = None
    return Case(inputs, draw.some({"epsilon": 1e-3}), 2, constant=held(draw, inputs, 0, 1, 7),
                is_dynamic=draw.often(0.2), static=[2, 3, 4])  # fmt: skip


@cases_of("Inverse", limit=Limit(relative=1e-4), reason="elimination in another order")
def inverse(draw: Draw) -> Case:
    size, dtype = draw.size(1, 5), draw.one_of(np.float32, np.float64)
    x = draw.normal(*[draw.size(1, 3) for _ in range(draw.size(0, 2))], size, size, dtype=dtype)
    return Case([x + 4 * np.eye(size, dtype=dtype)], is_dynamic=draw.often(0.3))


@cases_of("GatherBlockQuantized", limit=Limit(relative=1e-6), reason="a difference and a product")
def gather_block_quantized(draw: Draw) -> Case:
    bits, block = draw.one_of(4, 8), draw.one_of(16, 32)
    rows, blocks = draw.size(1, 6), draw.size(1, 3)
    width = blocks * block - (draw.size(0, block // 2) // 2 * 2 if draw.often(0.3) else 0)
    data = draw.whole(np.uint8, rows, width * bits // 8)
    scales = draw.scale(rows, blocks).astype(draw.one_of(np.float32, np.float32, np.float16))
    zeros = draw.maybe(draw.whole(np.uint8, rows, -(-blocks * bits // 8)))
    indices = draw.below(rows, *draw.shape(0, 2), low=-rows, dtype=draw.one_of(np.int32, np.int64))
    attributes = {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": 1}
    return Case([data, indices, scales, zeros], attributes, constant=[0, 2, 3])


@cases_of("NGramRepeatBlock", limit=SAME, reason=NOTHING)
def ngram_repeat_block(draw: Draw) -> Case:
    batch, length, words = draw.size(1, 3), draw.size(1, 9), draw.size(2, 5)
    inputs = [draw.below(words, batch, length), draw.normal(batch, words)]
    return Case(inputs, {"ngram_size": draw.size(1, 4)})


@cases_of("MurmurHash3", limit=SAME, reason="whole numbers")
def murmur_hash3(draw: Draw) -> Case:
    dtype = draw.one_of(np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64, object)
    shape = draw.shape(0, 2)
    x: Any = draw.whole(dtype, *shape) if dtype is not object and np.dtype(dtype).kind in "iu" else None
    if dtype is object:
        x = np.array([draw.one_of("", "a", "ab", "abc", "abcd", "hello wörld", "xyzzy" * 4)
                      for _ in range(int(np.prod(shape)))], object).reshape(shape)  # fmt: skip
    elif x is None:
        x = draw.normal(*shape, dtype=dtype)
    return Case([x], draw.some({"seed": draw.size(0, 99), "positive": draw.one_of(0, 1)}))


@cases_of("Tokenizer", limit=SAME, reason="strings")
def tokenizer(draw: Draw) -> Case:
    words = ["hello world", "a,b c", "", "one", "über alles, oder?", "x y z w", "  two  spaces "]
    shape = draw.one_of([draw.size(1, 4)], [draw.size(1, 3), draw.size(1, 3)])
    x = np.array([draw.one_of(*words) for _ in range(int(np.prod(shape)))], object).reshape(shape)
    attributes: dict[str, Any] = {
        "mark": draw.one_of(0, 1), "mincharnum": draw.size(1, 3), "pad_value": draw.one_of("#", "<pad>"),
    }  # fmt: skip
    form = draw.one_of("separators", "characters", "expression")
    if form == "expression":
        attributes["tokenexp"] = draw.one_of("[a-z]+", ".", "[a-z,]+|[0-9]")
    else:
        attributes["separators"] = [""] if form == "characters" else draw.one_of([" "], [" ", ","], ["[, ]"])
    if form == "characters":
        attributes["mincharnum"] = 1
    return Case([x], attributes)
