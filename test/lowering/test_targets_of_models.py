"""Kernels of whole models: code for every level of x86-64 and for ARM, and right results where it can run.

That code for a level keeps to it is checked by what it is: registers of its width, and none that are wider.
"""

from __future__ import annotations

import re
import struct
from functools import cache

import llvmlite.binding as llvm
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from text_models import model_of

import onnxloom
from onnxloom.conversion.onnx_import import import_model
from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.dialects.onnx.text import make_context
from onnxloom.lowering.compile import CompileOptions
from onnxloom.lowering.compile_kernels import compile_missing, kernel_digest
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.emit_llvm import assembly
from onnxloom.lowering.expand_math import expand_math
from onnxloom.lowering.object_symbols import undefined_symbols
from onnxloom.lowering.optimize import optimize_module

LINUX = "x86_64-unknown-linux-gnu"
TARGETS = {
    "x86-64-v2": CpuTarget(LINUX, "x86-64-v2", ""),
    "x86-64-v3": CpuTarget(LINUX, "x86-64-v3", ""),
    "x86-64-v4": CpuTarget(LINUX, "x86-64-v4", "-prefer-256-bit"),
    "aarch64": CpuTarget("aarch64-unknown-linux-gnu", "neoverse-n1", ""),
}
MACHINES = {62: "x86_64", 183: "aarch64"}
WIDEST = {"x86-64-v2": "xmm", "x86-64-v3": "ymm", "x86-64-v4": "zmm"}

CONVOLUTIONS = """agraph (float[1, 3, 19, 17] x) => (float[1, 10] y) {
    a = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w1)
    b = Relu(a)
    c = MaxPool <kernel_shape = [2, 2]> (b)
    d = Conv <group = 16, pads = [1, 1, 1, 1]> (c, w2)
    e = HardSwish(d)
    f = Conv(e, w3)
    g = Add(f, c)
    h = GlobalAveragePool(g)
    i = Flatten(h)
    j = MatMul(i, w4)
    y = Softmax(j)
}"""
ATTENTION = """agraph (float[1, 7, 32] x) => (float[1, 7, 32] y)
<int64[4] heads = {1, 7, 2, 16}, int64[3] flat = {1, 7, 32}, float scale = {0.25}> {
    p = MatMul(x, w1)
    q = MatMul(x, w2)
    p4 = Reshape(p, heads)
    q4 = Reshape(q, heads)
    ph = Transpose <perm = [0, 2, 1, 3]> (p4)
    qt = Transpose <perm = [0, 2, 3, 1]> (q4)
    s = MatMul(ph, qt)
    t = Mul(s, scale)
    u = Softmax(t)
    v = MatMul(u, ph)
    w = Transpose <perm = [0, 2, 1, 3]> (v)
    z = Reshape(w, flat)
    r = Add(z, x)
    n = LayerNormalization(r, gamma, beta)
    m = MatMul(n, w3)
    h = Gelu(m)
    o = MatMul(h, w4)
    y = Add(o, r)
}"""
WEIGHTS = {
    "convolutions": {"w1": (16, 3, 3, 3), "w2": (16, 1, 3, 3), "w3": (16, 16, 1, 1), "w4": (16, 10)},
    "attention": {
        "w1": (32, 32), "w2": (32, 32), "w3": (32, 70), "w4": (70, 32), "gamma": (32,), "beta": (32,),
    },
}  # fmt: skip
GRAPHS = {"convolutions": CONVOLUTIONS, "attention": ATTENTION}


@cache
def model(name: str) -> onnx.ModelProto:
    proto = model_of(GRAPHS[name])
    rng = np.random.default_rng(5)
    for weight, shape in WEIGHTS[name].items():
        array = (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, weight))
    return proto


@cache
def kernels(name: str, target: CpuTarget) -> list[KernelOp]:
    """All kernels of a model, shaped for `target`."""
    context, module = make_context(), import_model(model(name))
    optimize_module(module, context, CompileOptions())
    tiles = target.tiles
    ConvertOnnxToLoomPass(tiles.vector_bytes, tiles.vector_registers, tiles.dot_bytes).apply(context, module)
    return [op for op in module.ops if isinstance(op, KernelOp)]


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> CpuTarget:
    found = TARGETS[request.param]
    try:
        llvm.initialize_all_targets()
        llvm.Target.from_triple(found.triple)
    except RuntimeError:
        pytest.skip(f"this LLVM has no target {found.triple}")
    return found


@pytest.mark.parametrize("name", GRAPHS)
def test_all_kernels_become_objects(name: str, target: CpuTarget) -> None:
    made = {kernel_digest(kernel): kernel for kernel in kernels(name, target)}
    assert len(made) >= 5
    data = compile_missing(made, target)
    (machine,) = struct.unpack_from("<H", data, 18)
    assert target.triple.startswith(MACHINES[machine])
    # No helper functions of a compiler's run-time library: nothing provides them.
    assert set(undefined_symbols(data) or ()) <= {"memcpy", "memset", "memmove"}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("level", WIDEST)
def test_code_uses_the_registers_of_its_level_and_no_wider_ones(name: str, level: str) -> None:
    target = TARGETS[level]
    expanded = [kernel.clone() for kernel in kernels(name, target)]
    for kernel in expanded:
        expand_math(kernel)
    used = set(re.findall(r"%([xyz]mm)\d", assembly(expanded, target)))
    widths = ["xmm", "ymm", "zmm"]
    assert WIDEST[level] in used
    assert used <= set(widths[: widths.index(WIDEST[level]) + 1])


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("level", WIDEST)
def test_results_on_each_level(name: str, level: str) -> None:
    host = CpuTarget.host()
    if not host.is_x86 or not CpuTarget.named(level).runs_here:
        pytest.skip(f"this processor is no {level}")
    proto = model(name)
    compiled = onnxloom.compile(proto, cpu=level, cache=False)
    assert compiled.artifact.features == CpuTarget.named(level).required
    shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(6).standard_normal(shape).astype(np.float32)
    (expected,) = map(np.asarray, ReferenceEvaluator(proto).run(None, {"x": x}))
    np.testing.assert_allclose(compiled(x)[0], expected, rtol=2e-5, atol=2e-6)
