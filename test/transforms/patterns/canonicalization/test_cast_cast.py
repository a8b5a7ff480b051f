"""CastCast: values for every pair it takes, and why it declines."""

from __future__ import annotations

import pytest

from onnxloom.dialects import onnx
from onnxloom.testing.patterns import check_pattern, decline_reason
from onnxloom.transforms.patterns.canonicalization.cast_cast import CastCastPattern

CODES = {
    "f32": 1, "ui8": 2, "i8": 3, "ui16": 4, "i16": 5, "i32": 6, "i64": 7, "i1": 9, "f16": 10, "f64": 11,
    "ui32": 12, "ui64": 13, "bf16": 16, "!onnx.String": 8, "f8E5M2": 19,
}  # fmt: skip


def casts(*types: str, returned: str = "", shape: str = "?x2x") -> str:
    """Casts from each type to the next; gives the last value, or those named."""
    full = [f"tensor<{shape}{element}>" for element in types]
    lines = [
        f'%v{i} = "onnx.Cast"(%v{i - 1}) <{{to = {CODES[types[i]]} : si64}}> : ({full[i - 1]}) -> {full[i]}'
        for i in range(1, len(types))
    ]
    names = returned.split() or [f"v{len(types) - 1}"]
    results = ", ".join(full[int(name[1:])] for name in names)
    lines.append(f"onnx.Return {', '.join('%' + name for name in names)} : {results}")
    body = "\n".join(lines)
    return f"func.func @f(%v0: {full[0]}) -> ({results}) {{\n{body}\n}}"


def count(module: object) -> int:
    return sum(isinstance(op, onnx.CastOp) for op in module.walk())  # pyright: ignore


@pytest.mark.parametrize(
    "types",
    [
        "f16 f32 f16", "bf16 f32 bf16", "f32 f64 f32", "f16 f64 f16", "i8 i32 i8", "ui8 i16 ui8",
        "i32 i64 i32", "ui32 ui64 ui32", "i1 f32 i1",
        "i1 ui8 i1", "i16 f32 i16", "ui8 f16 ui8", "i32 f64 i32", "i8 bf16 i8",
    ],
)  # fmt: skip
def test_there_and_back_is_nothing(types: str):
    assert count(check_pattern(casts(*types.split()), CastCastPattern)) == 0


@pytest.mark.parametrize(
    "types",
    [
        "f16 f32 f64", "f16 f32 bf16", "bf16 f32 f16", "f16 f64 f32", "f32 f64 f16", "i8 i32 i64",
        "i32 i64 i8", "ui8 i32 ui16", "i16 i32 f32", "i1 i32 f32", "i8 f32 i32", "i1 f32 i64",
        "f16 f32 i1", "i32 f64 f32",
        "ui8 i16 f16", "i16 f32 i1", "f32 f16 f16", "f32 i32 i32",
    ],
)  # fmt: skip
def test_one_is_enough(types: str):
    assert count(check_pattern(casts(*types.split()), CastCastPattern)) == 1


def test_a_long_chain_through_wider_types():
    assert count(check_pattern(casts("f16", "f32", "f64", "f32", "f16"), CastCastPattern)) == 0


@pytest.mark.parametrize(("returned", "left"), [("v1 v2", 1), ("v1 v3", 2)])
def test_an_inner_one_that_is_read_elsewhere_stays(returned: str, left: int):
    types = ("f16", "f32", "f16") if left == 1 else ("f16", "f32", "f64", "f32")
    assert count(check_pattern(casts(*types, returned=returned), CastCastPattern)) == left


def test_scalars():
    assert count(check_pattern(casts("f16", "f32", "f16", shape=""), CastCastPattern)) == 0


@pytest.mark.parametrize(
    ("types", "reason"),
    [
        ("f32 f16 f32", "f16 does not hold every f32"),
        ("f64 f32 f64", "f32 does not hold every f64"),
        ("f16 bf16 f32", "bf16 does not hold every f16"),
        ("bf16 f16 bf16", "f16 does not hold every bf16"),
        ("f32 i32 f32", "i32 does not hold every f32"),
        ("f32 i1 f32", "i1 does not hold every f32"),
        ("i8 ui8 i8", "does not hold every i8"),
        ("ui8 i8 ui8", "i8 does not hold every"),
        ("i32 f32 i32", "f32 does not hold every i32"),
        ("i64 f64 i64", "f64 does not hold every i64"),
        ("i16 bf16 i16", "bf16 does not hold every i16"),
        ("f16 f32 i32", "f16 to i32 at once"),
        ("i32 f64 i8", "i32 to i8 at once"),
        ("i32 i64 bf16", "i32 to bf16 at once"),
        ("f16 f32 !onnx.String", "f16 to !onnx.String at once"),
        ("f16 f32 f8E5M2", "f16 to f8E5M2 at once"),
        ("f32 f16", "the input is not cast"),
    ],
)
def test_declines(types: str, reason: str):
    assert reason in decline_reason(casts(*types.split()), CastCastPattern)
