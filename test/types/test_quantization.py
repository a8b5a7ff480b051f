"""QuantizeLinear and DequantizeLinear of every type: compiled and on the host the same bits, others close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from element_values import Array, code_of, dtype_of, every_pattern, same_bits, values
from onnx import helper
from onnx.reference import ReferenceEvaluator

import onnxloom
from onnxloom.errors import OnnxloomError
from onnxloom.lowering.runtime.host_ops import evaluate

INTEGERS = ("int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16")
FLOATS = (
    "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "float6e2m3", "float6e3m2", "float4e2m1",
)  # fmt: skip
GRANULARITIES = ("tensor", "axis", "blocks", "uneven blocks")
AXIS, SHAPE, BLOCK = 1, (3, 10, 7), {"blocks": 5, "uneven blocks": 4}


def _parameter_shape(granularity: str) -> tuple[int, ...]:
    if granularity == "tensor":
        return ()
    if granularity == "axis":
        return (SHAPE[AXIS],)
    return (*SHAPE[:AXIS], -(-SHAPE[AXIS] // BLOCK[granularity]), *SHAPE[AXIS + 1 :])


def _model(
    op: str, arrays: dict[str, Array], result: str, dynamic: bool, **attributes: Any
) -> onnx.ModelProto:
    node = helper.make_node(op, list(arrays), ["y"], **attributes)
    inputs = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(array.dtype),
            [f"{name}{d}" for d in range(array.ndim)] if dynamic else array.shape,
        )
        for name, array in arrays.items()
    ]
    graph = helper.make_graph(
        [node], "q", inputs, [helper.make_tensor_value_info("y", code_of(result), [None] * len(SHAPE))]
    )
    opset = onnx.defs.onnx_opset_version()
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13)


def _attributes(granularity: str, **more: Any) -> dict[str, Any]:
    block = {"block_size": BLOCK[granularity]} if granularity in BLOCK else {}
    return {"axis": AXIS, **block, **more}


def _agree(op: str, arrays: dict[str, Array], result: str, dynamic: bool = False, **attributes: Any) -> Array:
    """The compiled result, the same bits as on the host."""
    model = _model(op, arrays, result, dynamic, **attributes)
    compiled = onnxloom.compile(model)
    got = compiled.run(arrays)["y"]
    assert compiled.host_steps == 0
    (want,) = evaluate(model.graph.node[0], list(arrays.values()))
    bad = np.flatnonzero(~same_bits(got, want, result))
    assert not bad.size, f"{bad.size}: {got.reshape(-1)[bad[:4]]}, not {want.reshape(-1)[bad[:4]]}"
    return got


def _scales(granularity: str, dtype: Any, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.uniform(0.01, 3.0, _parameter_shape(granularity))).astype(dtype)


def _zeros(granularity: str, name: str, seed: int) -> Array:
    shape = _parameter_shape(granularity)
    patterns = values(name, int(np.prod(shape)), seed).reshape(shape)
    return np.zeros(shape).astype(dtype_of(name)) if name in FLOATS else patterns


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("result", [*INTEGERS, *FLOATS])
def test_quantize(result: str, granularity: str):
    seed = len(result) + len(granularity)
    for kind in ("float", "float16", "bfloat16") if granularity == "tensor" else ("float",):
        x = values(kind, int(np.prod(SHAPE)), seed).reshape(SHAPE)
        scale = _scales(granularity, dtype_of(kind), seed)
        _agree(
            "QuantizeLinear",
            {"x": x, "s": scale},
            result,
            **_attributes(granularity, output_dtype=code_of(result), saturate=int(kind == "float")),
        )
        zero = _zeros(granularity, result, seed)
        _agree("QuantizeLinear", {"x": x, "s": scale, "z": zero}, result, **_attributes(granularity))


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "int32"])
def test_dequantize(source: str, granularity: str):
    seed = len(source) + len(granularity)
    count = int(np.prod(SHAPE))
    x = values(source, count, seed).reshape(SHAPE)
    narrow = (("float16", "float16"), ("bfloat16", "float"), ("float", "bfloat16"))
    for kind, result in (("float", "float"), *(narrow if granularity == "tensor" else ())):
        scale = _scales(granularity, dtype_of(kind), seed)
        attributes = _attributes(granularity, output_dtype=code_of(result))
        _agree("DequantizeLinear", {"x": x, "s": scale}, result, **attributes)
        zero = _zeros(granularity, source, seed)
        if source != "int32":
            _agree("DequantizeLinear", {"x": x, "s": scale, "z": zero}, result, **attributes)


def test_scales_that_are_powers_of_two():
    """f8E8M0, as microscaling formats have them; every one of them."""
    scale = every_pattern("float8e8m0").reshape(1, 256)
    codes = np.resize(every_pattern("float4e2m1"), (4, 256))
    _agree("DequantizeLinear", {"x": codes, "s": scale[0]}, "float", output_dtype=code_of("float"), axis=1)
    x = values("float", 1024, 2).reshape(4, 256)
    for result in ("float4e2m1", "float8e4m3fn", "int8"):
        _agree("QuantizeLinear", {"x": x, "s": scale[0]}, result, output_dtype=code_of(result), axis=1)


def test_the_precision_of_the_division():
    x, scale = values("float", 210, 1).reshape(SHAPE), np.array(0.37, np.float32)
    for precision in ("float16", "bfloat16", "float"):
        arrays = {"x": x, "s": scale}
        more: dict[str, Any] = {"precision": code_of(precision), "output_dtype": code_of("int16")}
        _agree("QuantizeLinear", arrays, "int16", **more)


def test_integers_are_quantized_by_integers():
    x = values("int32", 210, 1).reshape(SHAPE)
    for scale in (np.array(7, np.int32), np.array(0.7, np.float32)):
        _agree("QuantizeLinear", {"x": x, "s": scale}, "int16", output_dtype=code_of("int16"))


@pytest.mark.parametrize("granularity", ["axis", "blocks", "uneven blocks"])
def test_shapes_that_are_known_at_run_time(granularity: str):
    x, scale = values("float", 210, 5).reshape(SHAPE), _scales(granularity, np.float32, 5)
    zero = _zeros(granularity, "int4", 5)
    got = _agree("QuantizeLinear", {"x": x, "s": scale, "z": zero}, "int4", True, **_attributes(granularity))
    _agree("DequantizeLinear", {"x": got, "s": scale, "z": zero}, "float", True, **_attributes(granularity))


@pytest.mark.parametrize("shape", [(3, 2, 6), (3, 3), (2, 2, 7)])
def test_scales_that_do_not_fit_blocks_are_refused(shape: tuple[int, ...]):
    arrays = {"x": np.zeros(SHAPE, np.float32), "s": np.ones(shape, np.float32)}
    with pytest.raises(OnnxloomError):
        onnxloom.compile(_model("QuantizeLinear", arrays, "uint8", True, axis=AXIS, block_size=5)).run(arrays)


def test_what_there_is_nothing_to_quantize():
    arrays = {"x": np.zeros((0, 10, 7), np.float32), "s": np.ones((0, 2, 7), np.float32)}
    attributes = {"axis": AXIS, "block_size": 5}
    model = _model("QuantizeLinear", arrays, "uint8", True, **attributes)
    assert onnxloom.compile(model).run(arrays)["y"].shape == (0, 10, 7)


@pytest.mark.parametrize("result", [*INTEGERS, *FLOATS])
def test_the_reference_quantizes_moderate_numbers_alike(result: str):
    x = np.random.default_rng(3).normal(size=SHAPE).astype(np.float32) * 5
    arrays = {"x": x, "s": _scales("blocks", np.float32, 3), "z": _zeros("blocks", result, 3)}
    model = _model("QuantizeLinear", arrays, result, False, **_attributes("blocks"))
    reference: Any = ReferenceEvaluator(model).run(None, arrays)
    assert same_bits(onnxloom.compile(model).run(arrays)["y"], reference[0], result).all()


@pytest.mark.parametrize("result", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_onnxruntime_quantizes_alike(result: str, granularity: str):
    """It makes the lowest integer of NaN, too."""
    x = values("float", 210, 9).reshape(SHAPE)
    arrays = {"x": x, "s": _scales(granularity, np.float32, 9), "z": _zeros(granularity, result, 9)}
    model = _model("QuantizeLinear", arrays, result, False, **_attributes(granularity))
    ours = onnxloom.compile(model).run(arrays)["y"]
    model.opset_import[0].version, model.ir_version = 21, 10
    create: Callable[..., Any] = onnxruntime.InferenceSession
    session = create(model.SerializeToString(), providers=["CPUExecutionProvider"])
    usual = np.isfinite(x) & (np.abs(x) < 1e6)
    np.testing.assert_array_equal(ours[usual], session.run(None, arrays)[0][usual])
