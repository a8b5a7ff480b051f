"""Do the kernels of SVMClassifier and OneHotEncoder give the same in both emitted forms?"""

from __future__ import annotations

from typing import Any

import numpy as np
from lowering_reasons import op_text, prepared

from onnxloom.conversion.onnx_to_loom.pairwise_coupling import coupling_size
from onnxloom.conversion.onnx_to_loom.registry import lowering_of
from onnxloom.dialects import loom
from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.lowering.compile_kernels import compile_kernels
from onnxloom.lowering.emit_python import compile_python
from onnxloom.lowering.expand_math import expand_math
from onnxloom.tools.testing.kernels import call

RNG = np.random.default_rng(29)


def kernel_of(name: str, operand: str, results: list[str], attributes: str) -> KernelOp:
    op, inputs, builder = prepared(op_text(name, [operand], attributes, results))
    lower = lowering_of(op)
    assert lower is not None
    lower(op, inputs, builder)
    (launch,) = [launch for launch in builder.block.walk() if isinstance(launch, loom.LaunchOp)]
    (kernel,) = builder.kernels.used({launch.kernel.root_reference.data})
    return kernel


def run_both(
    kernel: KernelOp, inputs: list[Any], outputs: list[Any], *sizes: int
) -> tuple[list[Any], list[Any]]:
    native, python = ([np.zeros_like(a) for a in outputs] for _ in range(2))
    library = compile_kernels([kernel])
    call(library.address(kernel.sym_name.data), *inputs, *native, *sizes)
    expanded = kernel.clone()
    expand_math(expanded)
    compile_python(expanded)(*inputs, *python, *sizes)
    return native, python


def test_one_hot_encoder() -> None:
    attributes = "cats_int64s = [1 : si64, 5 : si64, 3 : si64], zeros = 0 : si64"
    kernel = kernel_of("OneHotEncoder", "tensor<?xf32>", ["tensor<?x3xf32>"], attributes)
    x, table = np.array([1, 3, 4, 5.5, 7], np.float32), np.array([1, 5, 3], np.int64)
    native, python = run_both(kernel, [x, table], [np.zeros(15, np.float32), np.zeros(2, np.int64)], 5, 3)
    for a, b in zip(native, python, strict=True):
        np.testing.assert_array_equal(a, b)
    assert native[0].sum() == 3
    assert native[1].tolist() == [1, 4]


def test_svm_classifier() -> None:
    def listed(values: Any) -> str:
        return f"[{', '.join(f'{float(v)!r} : f32' for v in values)}]"

    vectors, coefficients, rho, a, b = (RNG.standard_normal(n).astype(np.float32) for n in (10, 10, 3, 3, 3))
    attributes = (
        'classlabels_ints = [4 : si64, 2 : si64, 9 : si64], kernel_type = "RBF", '
        "kernel_params = [0.25 : f32, 0.0 : f32, 3.0 : f32], "
        f"vectors_per_class = [1 : si64, 3 : si64, 1 : si64], support_vectors = {listed(vectors)}, "
        f"coefficients = {listed(coefficients)}, rho = {listed(rho)}, prob_a = {listed(a)}, "
        f"prob_b = {listed(b)}"
    )
    results = ["tensor<?xi64>", "tensor<?x3xf32>"]
    kernel = kernel_of("SVMClassifier", "tensor<?x2xf32>", results, attributes)
    x = RNG.standard_normal(12).astype(np.float32)
    tables = [vectors.reshape(5, 2).T.copy().ravel(), coefficients, np.array([0, 1, 4, 5], np.int64)]
    ends = [rho, a, b, np.array([4, 2, 9], np.int64)]
    work = np.zeros(5 + 3 + coupling_size(3), np.float32)
    outputs = [np.zeros(6, np.int64), np.zeros(18, np.float32), work]
    native, python = run_both(kernel, [x, *tables, *ends], outputs, 6)
    np.testing.assert_array_equal(native[0], python[0])
    np.testing.assert_allclose(native[1], python[1], rtol=1e-4)
    np.testing.assert_allclose(native[1].reshape(6, 3).sum(axis=1), 1, rtol=1e-5)
