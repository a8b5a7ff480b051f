"""Parallel loops become vector code of the processor's full width, on every level of x86-64 and on ARM."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import pytest

from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm import assembly, kernel_module
from onnxloom.lowering.expand_math import expand_math
from onnxloom.tools.testing.kernels import elementwise_kernel, parse_kernels

LINUX = "x86_64-unknown-linux-gnu"
V2 = CpuTarget(LINUX, "x86-64-v2", "")
V3 = CpuTarget(LINUX, "x86-64-v3", "")
V4 = CpuTarget(LINUX, "x86-64-v4", "-prefer-256-bit")
ARM = CpuTarget("aarch64-unknown-linux-gnu", "neoverse-n1", "")
TARGETS = {"v2": (V2, r"addps.*%xmm"), "v3": (V3, r"vaddps.*%ymm"), "v4": (V4, r"vaddps.*%zmm"),
           "arm": (ARM, r"fadd\tv\d+\.4s")}  # fmt: skip
FUNCTIONS = (
    "exp", "exp2", "expm1", "sinh", "cosh", "log", "log2", "log10", "log1p", "asinh", "acosh", "atanh",
    "tanh", "erf", "sin", "cos", "tan", "asin", "acos", "atan",
)  # fmt: skip


def _assembly(kernels: list[object], target: CpuTarget) -> str:
    try:
        llvm.initialize_all_targets()
        llvm.Target.from_triple(target.triple)
    except RuntimeError:
        pytest.skip(f"this LLVM has no target {target.triple}")
    return assembly(kernels, target)  # pyright: ignore[reportArgumentType]


def _sum_kernel():
    return elementwise_kernel("k", ["f32", "f32"], "f32", "%r = arith.addf %a, %b : f32")


@pytest.mark.parametrize("name", TARGETS)
def test_an_elementwise_loop_uses_whole_vectors(name: str):
    target, pattern = TARGETS[name]
    assert re.search(pattern, _assembly([_sum_kernel()], target))


def test_a_parallel_loop_needs_no_alias_checks_and_another_does():
    text = str(kernel_module([_sum_kernel()], V3))
    assert "llvm.loop.parallel_accesses" in text
    parallel = _assembly([_sum_kernel()], V3)
    sequential = _sum_kernel()
    for op in sequential.walk():
        op.attributes.pop("loom.parallel", None)
    checked = _assembly([sequential], V3)
    assert checked.count("cmp") > parallel.count("cmp")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_math_functions_vectorise_without_calls(function: str):
    kernel = elementwise_kernel("k", ["f32"], "f32", f"%r = math.{function} %a : f32")
    expand_math(kernel)
    text = _assembly([kernel], V3)
    assert re.search(r"v(mul|add|fm)\w*p[sd].*%ymm", text)
    assert "call" not in text


def test_pow_vectorises_without_calls():
    kernel = elementwise_kernel("k", ["f32", "f32"], "f32", "%r = math.powf %a, %b : f32")
    expand_math(kernel)
    text = _assembly([kernel], V3)
    assert re.search(r"vmulpd.*%ymm", text)
    assert "call" not in text


def test_math_needs_no_library_where_there_is_no_fma():
    kernel = elementwise_kernel("k", ["f32"], "f32", "%r = math.exp %a : f32")
    expand_math(kernel)
    assert "call" not in _assembly([kernel], V2)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f8E4M3FN"])
def test_narrow_floats_vectorise(kind: str):
    sum_of_two = "%y = arith.addf %x, %x : f32"
    body = f"%x = arith.extf %a : {kind} to f32 {sum_of_two} %r = arith.truncf %y : f32 to {kind}"
    text = _assembly([elementwise_kernel("k", [kind], kind, body)], V3)
    assert re.search(r"vaddps.*%ymm", text)
    assert "call" not in text


def _reduction(op: str, attributes: str, start: str) -> list[object]:
    return list(
        parse_kernels(f"""
    "loom.kernel"() <{{sym_name = "k", access = ["read", "write"]}}> ({{
    ^bb0(%x: memref<?xf32>, %y: memref<?xf32>, %n: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %start = arith.constant {start} : f32
      %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %start) -> (f32) {{
        %v = memref.load %x[%j] : memref<?xf32>
        %t = arith.{op} %s, %v {attributes} : f32
        scf.yield %t : f32
      }}
      memref.store %sum, %y[%c0] : memref<?xf32>
      "loom.end"() : () -> ()
    }}) : () -> ()
    """)
    )


def test_a_sum_vectorises_only_where_it_may_be_reassociated():
    free = _assembly(_reduction("addf", "{loom.reassociate}", "0.0"), V3)
    assert re.search(r"vaddps.*%ymm", free)
    strict = _assembly(_reduction("addf", "", "0.0"), V3)
    assert not re.search(r"vaddps.*%ymm", strict)


def test_a_maximum_that_keeps_nan_vectorises():
    assert re.search(r"vmaxps.*%ymm", _assembly(_reduction("maximumf", "", "0xFF800000"), V3))


def test_a_parallel_loop_may_store_and_carry_a_sum():
    text = """
    "loom.kernel"() <{sym_name = "k", access = ["read", "write"]}> ({
    ^bb0(%x: memref<?xf32>, %y: memref<?xf32>, %n: index):
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %sum = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> (f32) {
        %v = memref.load %x[%j] : memref<?xf32>
        %w = arith.mulf %v, %v : f32
        memref.store %w, %y[%j] : memref<?xf32>
        %t = arith.addf %s, %w {loom.reassociate} : f32
        scf.yield %t : f32
      } {loom.parallel}
      memref.store %sum, %y[%n] : memref<?xf32>
      "loom.end"() : () -> ()
    }) : () -> ()
    """
    vectors = _assembly(list(parse_kernels(text)), V3)
    assert re.search(r"vaddps.*%ymm", vectors)
    assert re.search(r"vmovups\t%ymm", vectors)


def test_no_flag_assumes_that_there_are_no_nans():
    text = str(kernel_module(_reduction("addf", "{loom.reassociate}", "0.0"), V3))  # pyright: ignore[reportArgumentType]
    assert "reassoc contract" in text
    assert not re.search(r"\b(nnan|ninf|nsz|fast)\b", text)
