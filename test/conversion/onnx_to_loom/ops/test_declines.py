"""Every reason for which the lowering of an op declines, and next to it the form that has a kernel."""

from __future__ import annotations

from lowering_reasons import Case, check, custom, reason_of, rnn, tensors, trees

HEADS = "1x2x3x8"
PACKED = "q_num_heads = 2 : si64, kv_num_heads = 2 : si64"


def attention(
    q: str = HEADS,
    k: str = HEADS,
    v: str = HEADS,
    *rest: str,
    attributes: str = "",
    element: str = "f32",
    key: str = "f32",
    results: tuple[str, ...] = ("none", "none", "none"),
) -> Case:
    operands = [f"tensor<{q}x{element}>", f"tensor<{k}x{key}>", f"tensor<{v}x{element}>", *rest]
    operands += ["none"] * (7 - len(operands))
    return ("Attention", operands, attributes, [f"tensor<{q}x{element}>", *results])


PRESENT = ("tensor<1x2x?x8xf32>", "tensor<1x2x?x8xf32>", "none")
PAST = "tensor<1x2x5x8xf32>"

ATTENTION: dict[str, tuple[Case, str | None]] = {
    "fits": (attention(), None),
    "fits packed": (attention("1x3x16", "1x3x16", "1x3x16", attributes=PACKED), None),
    "fits past": (attention(HEADS, HEADS, HEADS, "none", PAST, PAST, results=PRESENT), None),
    "halves": (attention(element="f16", key="f16"), "attention in this element type has no kernel"),
    "mixed": (attention(key="f64"), "attention in this element type has no kernel"),
    "valid keys": (
        attention(HEADS, HEADS, HEADS, "none", "none", "none", "tensor<1xi64>"),
        "attention with a number of valid keys has no kernel",
    ),
    "present without past": (
        attention(results=PRESENT),
        "attention that gives present keys without past ones has no kernel",
    ),
    "window left": (
        attention(attributes="left_window_size = 1 : si64"),
        "attention within a window has no kernel",
    ),
    "window right": (
        attention(attributes="right_window_size = 1 : si64"),
        "attention within a window has no kernel",
    ),
    "scores": (
        attention(results=("none", "none", "tensor<1x2x3x3xf32>")),
        "attention that gives its scores has no kernel",
    ),
    "precision": (
        attention(attributes="softmax_precision = 11 : si64"),
        "attention with a softmax in another type has no kernel",
    ),
    "no heads": (
        attention("1x3x16", "1x3x16", "1x3x16"),
        "operands of attention have rank 4, or rank 3 and a number of heads",
    ),
    "uneven heads": (
        attention("1x3x15", "1x3x16", "1x3x16", attributes=PACKED),
        "rows of 15 elements are not 2 heads",
    ),
    "packed past": (
        attention("1x3x16", "1x3x16", "1x3x16", "none", PAST, PAST, attributes=PACKED, results=PRESENT),
        "attention with past keys and operands of rank 3 has no kernel",
    ),
    "past of another type": (
        attention(HEADS, HEADS, HEADS, "none", PAST.replace("f32", "f64"), PAST, results=PRESENT),
        "past keys of another element type have no kernel",
    ),
    "odd groups": (
        attention("1x3x3x8"),
        "the query heads are not a known multiple of the key heads",
    ),
    "no width": (
        attention("1x2x3x0", "1x2x3x0", attributes="scale = 1.0 : f32"),
        "heads of width 0",
    ),
    "mask of another type": (
        attention(HEADS, HEADS, HEADS, "tensor<3x3xf64>"),
        "an attention mask of another element type has no kernel",
    ),
    "mask of rank 1": (
        attention(HEADS, HEADS, HEADS, "tensor<3xf32>"),
        "an attention mask has rank 2 to 4",
    ),
    "mask of one key": (attention(HEADS, HEADS, HEADS, "tensor<3x1xf32>"), "a mask of one key"),
}


@check(ATTENTION)
def test_attention(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def transposed(x: str, w: str, y: str, element: str = "f32", result: str = "") -> Case:
    operands = [*tensors(x, w, element=element), "none"]
    return ("ConvTranspose", operands, "", tensors(y, element=result or element))


CONVOLUTIONS: dict[str, tuple[Case, str | None]] = {
    "transposed": (transposed("1x3x8", "3x4x3", "1x4x10"), None),
    "transposed integers": (
        transposed("1x3x8", "3x4x3", "1x4x10", "i32"),
        "a transposed convolution of i32 has no kernel",
    ),
    "transposed to another type": (
        transposed("1x3x8", "3x4x3", "1x4x10", "f32", "f64"),
        "a transposed convolution of f32 has no kernel",
    ),
    "transposed ranks": (
        transposed("1x3x8x8", "3x4x3", "1x4x10x10"),
        "a transposed convolution of this rank has no kernel",
    ),
    "transposed without spatial dims": (
        transposed("1x3", "3x4", "1x4"),
        "a transposed convolution of this rank has no kernel",
    ),
    "transposed channels": (
        transposed("1x3x8", "3x?x3", "1x?x10"),
        "the channels of a transposed convolution are not known",
    ),
}


@check(CONVOLUTIONS)
def test_convolutions(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def quantized_lstm(
    *,
    w: str = "dense<1> : tensor<1x3x8xi8>",
    r: str = "dense<1> : tensor<1x2x8xi8>",
    w_scale: str = "tensor<1xf32>",
    w_zero: str = "dense<0> : tensor<1xi8>",
) -> Case:
    operands = ["tensor<5x1x3xf32>", w, r, *["none"] * 5, w_scale, w_zero, "tensor<1xf32>"]
    operands.append("dense<0> : tensor<1xi8>")
    attributes = (
        'domain_name = "com.microsoft", function_name = "DynamicQuantizeLSTM", hidden_size = 2 : si64'
    )
    return ("Custom", operands, attributes, ["tensor<5x1x1x2xf32>"])


NOT_CONSTANT = "the weights or their zero points are not constant"
QUANTIZED_LSTM: dict[str, tuple[Case, str | None]] = {
    "scales": (quantized_lstm(w_scale="tensor<1x8xf32>"), "the scales of W and R are not of one kind"),
    "weights": (quantized_lstm(w="tensor<1x3x8xi8>"), NOT_CONSTANT),
    "zero": (quantized_lstm(w_zero="tensor<1xi8>"), NOT_CONSTANT),
    "no zero": (quantized_lstm(w_zero="none"), NOT_CONSTANT),
    "several zeros": (
        quantized_lstm(w_zero="dense<[0, 1, 0, 0, 0, 0, 0, 0]> : tensor<8xi8>"),
        "the weights have several zero points",
    ),
    "large": (
        quantized_lstm(w="dense<-128> : tensor<1x1000x8xi8>"),
        "sums of products may exceed what f32 holds exactly",
    ),
}


@check(QUANTIZED_LSTM)
def test_quantized_lstm(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


BYTES = ["tensor<4x8xi8>", "tensor<8x5xi8>"]
ONE = "tensor<f32>"

SCALED: dict[str, tuple[Case, str | None]] = {
    "fits": (custom("MatMulIntegerToFloat", [*BYTES, ONE, ONE], tensors("4x5")), None),
    "to another type": (
        custom("MatMulIntegerToFloat", [*BYTES, ONE, ONE], tensors("4x5", element="f16")),
        "integer products are not scaled to tensor<4x5xf16>",
    ),
    "several scales": (
        custom("MatMulIntegerToFloat", [*BYTES, "tensor<4x1xf32>", ONE], tensors("4x5")),
        "the left factor has several scales",
    ),
    "quantized on the way": (
        custom("DynamicQuantizeMatMul", ["tensor<4x8xf32>", BYTES[1], ONE], tensors("4x5")),
        None,
    ),
    "not quantized": (
        custom("DynamicQuantizeMatMul", ["tensor<4x8xf64>", BYTES[1], ONE], tensors("4x5")),
        "elements of tensor<4x8xf64> are not quantized in a kernel",
    ),
}


@check(SCALED)
def test_scaled_products(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


SHAPES: dict[str, tuple[Case, str | None]] = {
    "constant of shape": (("ConstantOfShape", ["tensor<2xi64>"], "", tensors("?x?")), None),
    "length of the shape": (
        ("ConstantOfShape", ["tensor<?xi64>"], "", tensors("?x?")),
        "the length of the shape is not known",
    ),
    "rank of the result": (
        ("ConstantOfShape", ["tensor<3xi64>"], "", tensors("?x?")),
        "the result does not have one dim per element of the shape",
    ),
    "pad": (("Pad", ["tensor<2x4xf32>", "tensor<4xi64>", "none", "none"], "", tensors("?x?")), None),
    "pad mode": (
        (
            "Pad",
            ["tensor<2x4xf32>", "tensor<4xi64>", "none", "none"],
            'mode = "mirror"',
            tensors("?x?"),
        ),
        "Pad of mode mirror has no kernel",
    ),
    "tile": (("Tile", ["tensor<2x4xf32>", "tensor<2xi64>"], "", tensors("?x?")), None),
    "tile of rank 6": (
        ("Tile", [*tensors("1x1x1x1x1x4"), "tensor<6xi64>"], "", tensors("1x1x1x1x1x4")),
        "Tile of rank 6 has no kernel",
    ),
    "tile of rank 0": (
        ("Tile", ["tensor<f32>", "tensor<0xi64>"], "", ["tensor<f32>"]),
        "Tile of rank 0 has no kernel",
    ),
    "space to depth": (
        ("SpaceToDepth", tensors("1x2x4x4"), "blocksize = 2 : si64", tensors("1x8x2x2")),
        None,
    ),
    "space to depth by columns": (
        (
            "SpaceToDepth",
            tensors("1x2x4x4"),
            'blocksize = 2 : si64, mode = "CRD"',
            tensors("1x8x2x2"),
        ),
        "SpaceToDepth of mode CRD has no kernel",
    ),
    "rank of a view": (
        ("Flatten", tensors("2x4"), "", tensors("2x2x2")),
        "the result type does not have the rank computed from the operands",
    ),
    "squeeze": (("Squeeze", [*tensors("2x1"), "none"], "", tensors("2")), None),
    "squeeze of unknown dims": (
        ("Squeeze", [*tensors("2x?"), "none"], "", tensors("2")),
        "which dims are 1 is not known before run time",
    ),
    "triangle": (("Trilu", [*tensors("2x4"), "none"], "", tensors("2x4")), None),
    "triangle of a vector": (
        ("Trilu", [*tensors("4"), "none"], "", tensors("4")),
        "Trilu of a tensor without matrices",
    ),
}


@check(SHAPES)
def test_shapes(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def layer_norm(scale: str = "4", attributes: str = "", mean: str = "none") -> Case:
    return ("LayerNormalization", [*tensors("2x4", scale), "none"], attributes, [*tensors("2x4"), mean])


NORMALIZATION: dict[str, tuple[Case, str | None]] = {
    "fits": (layer_norm(mean="tensor<2x1xf32>"), None),
    "scale": (layer_norm("?"), "scale or bias is not proven to have the normalized dims"),
    "stash": (
        layer_norm(attributes="stash_type = 10 : si64"),
        "a stash type other than float has no kernel",
    ),
    "mean": (
        layer_norm(mean="tensor<2x1xf64>"),
        "Mean and InvStdDev of a type other than the stash type have no kernel",
    ),
    "response": (("LRN", tensors("1x4x2"), "size = 3 : si64", tensors("1x4x2")), None),
    "response of a vector": (
        ("LRN", tensors("4"), "size = 3 : si64", tensors("4")),
        "LRN without channels, or over none of them, has no kernel",
    ),
    "response over nothing": (
        ("LRN", tensors("1x4x2"), "size = 0 : si64", tensors("1x4x2")),
        "LRN without channels, or over none of them, has no kernel",
    ),
    "response of integers": (
        ("LRN", ["tensor<1x4x2xi32>"], "size = 3 : si64", ["tensor<1x4x2xi32>"]),
        "LRN without channels, or over none of them, has no kernel",
    ),
    "axis of a number": (
        ("Softmax", ["tensor<f32>"], "", ["tensor<f32>"]),
        "an axis of a tensor without dims",
    ),
    "norm": (
        ("LpNormalization", tensors("2x4"), "p = 3 : si64", tensors("2x4")),
        "LpNormalization with p = 3 has no kernel",
    ),
}


@check(NORMALIZATION)
def test_normalization(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


KERNEL = "kernel_shape = [2 : si64, 2 : si64]"
OTHER_DIMS = "the window does not have as many dims as the data"

POOLING: dict[str, tuple[Case, str | None]] = {
    "fits": (("MaxPool", tensors("1x2x4x4"), KERNEL, [*tensors("1x2x3x3"), "none"]), None),
    "window": (("MaxPool", tensors("1x2x4"), KERNEL, [*tensors("1x2x3"), "none"]), OTHER_DIMS),
    "strides": (
        ("MaxPool", tensors("1x2x4x4"), f"{KERNEL}, strides = [1 : si64]", [*tensors("1x2x3x3"), "none"]),
        OTHER_DIMS,
    ),
    "indices": (
        ("MaxPool", tensors("1x2x4x4"), KERNEL, [*tensors("1x2x3x3"), "tensor<1x2x3x3xi64>"]),
        None,
    ),
    "no dims": (
        ("MaxPool", tensors("1x2"), "kernel_shape = []", [*tensors("1x2"), "none"]),
        "windows over 0 dims have no kernel",
    ),
    "four dims": (
        (
            "MaxPool",
            tensors("1x2x4x4x4x4"),
            "kernel_shape = [1 : si64, 1 : si64, 1 : si64, 1 : si64]",
            [*tensors("1x2x4x4x4x4"), "none"],
        ),
        "windows over 4 dims have no kernel",
    ),
}


@check(POOLING)
def test_pooling(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


RECURRENT: dict[str, tuple[Case, str | None]] = {
    "fits": (rnn(), None),
    "hidden": (rnn(r="1x?x?"), "the number of hidden units is not known at compile time"),
    "hidden given": (rnn("hidden_size = 2 : si64", r="1x?x?"), None),
}


@check(RECURRENT)
def test_recurrent(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


REDUCTION: dict[str, tuple[Case, str | None]] = {
    "fits": (("ReduceSum", [*tensors("2x4"), "tensor<1xi64>"], "", tensors("?x?")), None),
    "axis": (
        ("ReduceSum", [*tensors("2x4"), "dense<2> : tensor<1xi64>"], "", tensors("2x1")),
        "axis 2 is out of range for a tensor of 2 dims",
    ),
    "negative axis": (
        ("ArgMax", tensors("2x4"), "axis = -3 : si64", ["tensor<1x4xi64>"]),
        "axis -3 is out of range for a tensor of 2 dims",
    ),
}


@check(REDUCTION)
def test_reduction(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def einsum(equation: str, *operands: str, result: str = "?") -> Case:
    return ("Einsum", list(operands), f'equation = "{equation}"', [f"tensor<{result}xf32>"])


MATRIX = "tensor<2x3xf32>"

EINSUM: dict[str, tuple[Case, str | None]] = {
    "fits": (einsum("ij,jk->ki", MATRIX, "tensor<3x4xf32>", result="4x2"), None),
    "malformed": (einsum("i-j", MATRIX), "equation 'i-j' is malformed"),
    "terms": (einsum("ij,jk", MATRIX), "equation 'ij,jk' has 2 terms for 1 operands"),
    "rank": (einsum("i", MATRIX), "term 'i' does not fit an operand of 2 dims"),
    "letters": (einsum("ijk", MATRIX), "term 'ijk' does not fit an operand of 2 dims"),
    "fits ellipsis": (einsum("i...->...", MATRIX, result="3"), None),
    "ellipsis": (einsum("i...->i", MATRIX), "equation 'i...->i' leaves the dims of its ellipsis out"),
    "twice": (
        einsum("ij->ii", MATRIX),
        "the result of equation 'ij->ii' has labels twice, or ones of no operand",
    ),
    "foreign": (
        einsum("ij->k", MATRIX),
        "the result of equation 'ij->k' has labels twice, or ones of no operand",
    ),
    "dims": (einsum("ij,jk->ik", MATRIX, "tensor<4x4xf32>", result="2x4"), "dims labelled 'j' differ"),
    "bools": (
        ("Einsum", ["tensor<2xi1>"], 'equation = "i->i"', ["tensor<2xi1>"]),
        "Einsum of elements of type i1 has no kernel",
    ),
}


@check(EINSUM)
def test_einsum(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def resize(
    attributes: str = "", scales: str = "dense<[1.0, 2.0]> : tensor<2xf32>", element: str = "f32"
) -> Case:
    operands = [f"tensor<2x4x{element}>", "none", scales, "none"]
    return ("Resize", operands, attributes, [f"tensor<2x8x{element}>"])


RESIZE: dict[str, tuple[Case, str | None]] = {
    "fits": (resize('mode = "linear"'), None),
    "mode": (resize('mode = "area"'), "Resize of mode area with half_pixel coordinates has no kernel"),
    "coordinates": (
        resize('coordinate_transformation_mode = "centre"'),
        "Resize of mode nearest with centre coordinates has no kernel",
    ),
    "antialias": (
        resize("antialias = 1 : si64"),
        "Resize of mode nearest has no filter against aliasing",
    ),
    "moves bools": (resize(element="i1"), None),
    "mixes bools": (resize('mode = "linear"', element="i1"), "elements of type i1 are not mixed in kernels"),
    "fills bools": (
        resize('coordinate_transformation_mode = "tf_crop_and_resize"', element="i1"),
        "elements of type i1 are not mixed in kernels",
    ),
    "moves strings": (resize(element="!onnx.string"), "kernels do not copy elements of type !onnx.string"),
}


@check(RESIZE)
def test_resize(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


def rotary(
    x: str = "1x2x3x8",
    table: str = "1x3x4",
    ids: str = "none",
    attributes: str = "",
    element: str = "f32",
    tables: str = "f32",
) -> Case:
    operands = [f"tensor<{x}x{element}>", *tensors(table, table, element=tables), ids]
    return ("RotaryEmbedding", operands, attributes, [f"tensor<{x}x{element}>"])


UNLIKE = "a value and tables of different element types"
UNEVEN = "the value has rank 4, or rank 3 and a number of heads that divides its width"

ROTARY: dict[str, tuple[Case, str | None]] = {
    "fits": (rotary(), None),
    "fits packed": (rotary("1x3x16", attributes="num_heads = 2 : si64"), None),
    "ids": (rotary(ids="tensor<1x3xi64>"), "rotary embedding with position ids has no kernel"),
    "tables": (rotary(tables="f64"), UNLIKE),
    "integers": (rotary(element="i32", tables="i32"), UNLIKE),
    "odd": (
        rotary(attributes="rotary_embedding_dim = 3 : si64"),
        "3 of 8 columns cannot be turned in pairs",
    ),
    "too many": (
        rotary(attributes="rotary_embedding_dim = 10 : si64"),
        "10 of 8 columns cannot be turned in pairs",
    ),
    "rank of a table": (rotary(table="3x4"), "a table has rank 3 where there are no position ids"),
    "no heads": (rotary("1x3x16"), UNEVEN),
    "uneven heads": (rotary("1x3x16", attributes="num_heads = 3 : si64"), UNEVEN),
}


@check(ROTARY)
def test_rotary_embedding(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason


ROWS = "trees over anything but rows of f32 or f64 have no kernel"
AFTER = "what becomes of the sums of the trees has no kernel"
OTHER_TYPE = "trees of another type than their input have no kernel"


TREES: dict[str, tuple[Case, str | None]] = {
    "fits": (trees(), None),
    "integers": (trees("tensor<4x2xi32>"), ROWS),
    "rank": (trees("tensor<2xf32>"), ROWS),
    "transform": (trees(post_transform="4 : si64"), AFTER),
    "aggregate": (trees(aggregate_function="4 : si64"), AFTER),
    "doubles": (trees("tensor<4x2xf64>"), OTHER_TYPE),
}


@check(TREES)
def test_trees(case: Case, reason: str | None) -> None:
    assert reason_of(case) == reason
