"""Conversions of floats of 16 bits and fewer in compiled kernels against numpy and ml_dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm import assembly
from onnxloom.tools.testing.kernels import call, elementwise_kernel, elementwise_text, parse_kernels

Array = np.ndarray[Any, np.dtype[Any]]
FORMATS: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2": ml_dtypes.float8_e5m2, "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}  # fmt: skip
"""Those that numbers are rounded to in one way."""
EXPONENT = {"f8E8M0FNU": ml_dtypes.float8_e8m0fnu}


def _f32_samples() -> Array:
    """All exponents, and the neighbourhood of every value and every midpoint of the narrow formats."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32)
    near: list[Array] = []
    for dtype in FORMATS.values():
        patterns = np.arange(1 << (ml_dtypes.finfo(dtype).bits - 1), dtype=f"u{np.dtype(dtype).itemsize}")
        values = patterns.view(dtype).astype(np.float32)
        values = values[np.isfinite(values)]
        between = values[:-1] / 2 + values[1:] / 2
        near += [between, np.nextafter(between, np.inf), np.nextafter(between, -np.inf), values]
    special = np.array([0.0, np.inf, np.nan, 448.0, 464.0, 465.0, 65504.0, 65520.0, 3.4e38], np.float32)
    positive = np.concatenate([bits.view(np.float32), *near, special]).astype(np.float32)
    return np.concatenate([positive, -positive])


def _check(got: Array, want: Array, source: Array) -> None:
    bits = f"u{got.itemsize}"
    with np.errstate(invalid="ignore"):
        nan = np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32))
    bad = np.flatnonzero((got.view(bits) != want.view(bits)) & ~nan)
    assert not bad.size, f"{bad.size} differ; {source[bad[0]]!r} became {got[bad[0]]}, not {want[bad[0]]}"


@pytest.mark.parametrize("kind", [*FORMATS, *EXPONENT])
def test_every_pattern_widens_exactly(kind: str):
    """Of a format of fewer than 8 bits also those whose upper bits are not zero."""
    dtype = np.dtype((FORMATS | EXPONENT)[kind])
    source = np.arange(1 << (8 * dtype.itemsize), dtype=np.uint32).astype(f"u{dtype.itemsize}").view(dtype)
    result = np.zeros(source.size, np.float32)
    kernel = elementwise_kernel("k", [kind], "f32", f"%r = arith.extf %a : {kind} to f32")
    library = compile_kernels([kernel])
    call(library.address("k"), source, result, source.size)
    low_bits = (source.view(f"u{dtype.itemsize}") & ((1 << ml_dtypes.finfo(dtype).bits) - 1)).view(dtype)
    with np.errstate(invalid="ignore"):
        _check(result, low_bits.astype(np.float32), source)


@pytest.mark.parametrize("kind", FORMATS)
def test_narrowing_rounds_half_to_even_and_overflows_as_the_format_does(kind: str):
    source = _f32_samples()
    result = np.zeros(source.size, FORMATS[kind])
    kernel = elementwise_kernel("k", ["f32"], kind, f"%r = arith.truncf %a : f32 to {kind}")
    library = compile_kernels([kernel])
    call(library.address("k"), source, result, source.size)
    with np.errstate(all="ignore"):
        _check(result, source.astype(FORMATS[kind]), source)


def test_narrowing_a_double_rounds_once():
    # Just above the midpoint of two f16 values, by less than an f32 can tell.
    source = np.array([1.0 + 2.0**-11 + 2.0**-40, 1.0 + 2.0**-11, -(1.0 + 2.0**-11 + 2.0**-40), 65519.999999])
    result = np.zeros(4, np.float16)
    kernel = elementwise_kernel("k", ["f64"], "f16", "%r = arith.truncf %a : f64 to f16")
    library = compile_kernels([kernel])
    call(library.address("k"), source, result, 4)
    np.testing.assert_array_equal(result, source.astype(np.float16))


def test_a_processor_without_f16_instructions_gets_arithmetic_and_no_library_calls():
    kernels = parse_kernels(
        elementwise_text(
            "k",
            ["f16", "f32", "f64"],
            [
                ("f32", "{r} = arith.extf %a : f16 to f32"),
                ("f16", "{r} = arith.truncf %b : f32 to f16"),
                ("f16", "{r} = arith.truncf %c : f64 to f16"),
            ],
        )
    )
    text = assembly(kernels, CpuTarget("x86_64-unknown-linux-gnu", "x86-64-v2", ""))
    assert "call" not in text
