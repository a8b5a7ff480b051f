"""Moving ops as one copy: every element is where numpy puts it, whatever the chain."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest
from fused_values import DTYPES, assert_same, compiled, fused, lowered_as_one, normal, reference, values
from moving_chains import moving_chain
from xdsl.dialects.builtin import ModuleOp

from onnxloom.conversion.onnx_to_loom.decline import FusionFallbackWarning
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.text import make_context, parse_module
from onnxloom.lowering.compile import CompileOptions, compile_module
from onnxloom.transforms.fusion.create import FuseOpsPass

KIND = "onnx.layout_transform"
SIZES = (1, 2, 3, 4, 8, 9, 16, 32, 40)


def random_shape(rng: random.Random) -> tuple[list[int], frozenset[int]]:
    """Sizes, and the axes of which the text does not tell them."""
    shape = [rng.choice(SIZES) for _ in range(rng.randint(2, 4))]
    return shape, frozenset(rng.sample(range(len(shape)), rng.choice([0, 0, 1, 2])))


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_random_chains(first: int) -> None:
    lowered = 0
    for seed in range(first, first + 40):
        rng = random.Random(seed)
        shape, dynamic = random_shape(rng)
        element = rng.choice(list(DTYPES))
        source = values(shape, element, seed)
        chain = moving_chain(seed, element, source, dynamic)
        module = parse_module(chain.text())
        FuseOpsPass(kinds=(KIND,)).apply(make_context(), module)
        if not any(isinstance(op, onnx.FusedOp) for op in module.walk()):
            continue
        lowered += 1
        with warnings.catch_warnings():
            warnings.simplefilter("error", FusionFallbackWarning)
            assert_same(compiled(module, [source]), [np.array(chain.array)])
    assert lowered >= 8


DIRECTIONS = """
func.func @f(%x: tensor<?x2x?x16xf32>) -> tensor<?x?x32xf32> {
  %s = onnx.Constant dense<[0, 0, -1]> : tensor<3xi64>
  %0 = "onnx.Transpose"(%x) {perm = [0 : si64, 2 : si64, 1 : si64, 3 : si64]}
      : (tensor<?x2x?x16xf32>) -> tensor<?x?x2x16xf32>
  %1 = "onnx.Reshape"(%0, %s) : (tensor<?x?x2x16xf32>, tensor<3xi64>) -> tensor<?x?x32xf32>
  %2 = "onnx.Transpose"(%1) {perm = [1 : si64, 0 : si64, 2 : si64]}
      : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  onnx.Return %2 : tensor<?x?x32xf32>
}"""


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (1, 1), (1, 7), (5, 1), (5, 7)])
def test_unknown_sizes(sizes: tuple[int, int]) -> None:
    module, source = parse_module(DIRECTIONS), normal((sizes[0], 2, sizes[1], 16))
    expected = source.transpose(2, 0, 1, 3).reshape(sizes[1], sizes[0], 32)
    assert_same(lowered_as_one(module, KIND, [source]), [expected])


def sliced(rows: str, count: int, begin: int) -> ModuleOp:
    """The last columns of a matrix, transposed: tiles of the source that begin inside of its rows."""
    t, u, v = (f"tensor<{rows}x{size}xf32>" for size in (count, count - begin, count - begin))
    y = f"tensor<{count - begin}x{rows}xf32>"
    return parse_module(f"""
func.func @f(%x: {t}) -> {y} {{
  %s = onnx.Constant dense<[{begin}]> : tensor<1xi64>
  %e = onnx.Constant dense<[{count}]> : tensor<1xi64>
  %a = onnx.Constant dense<[1]> : tensor<1xi64>
  %t = onnx.Constant dense<[1]> : tensor<1xi64>
  %0 = "onnx.Slice"(%x, %s, %e, %a, %t)
      : ({t}, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> {u}
  %1 = "onnx.Transpose"(%0) {{perm = [1 : si64, 0 : si64]}} : ({v}) -> {y}
  onnx.Return %1 : {y}
}}""")


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 31, 33, 70])
@pytest.mark.parametrize("count, begin", [(40, 3), (150, 41)])
def test_transposed_slices(rows: int, count: int, begin: int) -> None:
    source = normal((rows, count))
    dynamic = lowered_as_one(sliced("?", count, begin), KIND, [source])
    assert_same(dynamic, [source[:, begin:].T])
    if rows > 1:
        assert_same(lowered_as_one(sliced(str(rows), count, begin), KIND, [source]), dynamic)


@pytest.mark.parametrize("element", ["i16", "f32"])
@pytest.mark.parametrize("rows", [2, 3, 8, 33])
def test_transposed_rows_in_reverse_order(rows: int, element: str) -> None:
    """The first element that is read is not that of the lowest address."""
    x, y = f"tensor<{rows}x20x{element}>", f"tensor<20x{rows}x{element}>"
    module = parse_module(f"""
func.func @f(%x: {x}) -> {y} {{
  %s = onnx.Constant dense<[-1]> : tensor<1xi64>
  %e = onnx.Constant dense<[-99]> : tensor<1xi64>
  %a = onnx.Constant dense<[0]> : tensor<1xi64>
  %0 = "onnx.Slice"(%x, %s, %e, %a, %s)
      : ({x}, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> {x}
  %1 = "onnx.Transpose"(%0) {{perm = [1 : si64, 0 : si64]}} : ({x}) -> {y}
  onnx.Return %1 : {y}
}}""")
    source = values([rows, 20], element, 0)
    options = CompileOptions(opt_level=0, checked=True)
    assert_same(compile_module(fused(module, KIND), options)(source), [source[::-1].T])


def test_a_body_that_computes_falls_back() -> None:
    module, source = fused(parse_module(DIRECTIONS), KIND), normal((3, 2, 5, 16))
    first = next(op for op in module.walk() if isinstance(op, onnx.ReshapeOp))
    negated = onnx.NegOp.create(operands=[first.reshaped], result_types=[first.reshaped.type])
    first.reshaped.replace_uses_with_if(negated.results[0], lambda use: use.operation is not negated)
    assert first.parent is not None
    first.parent.insert_op_after(negated, first)
    with pytest.warns(FusionFallbackWarning, match="onnx.Neg does more than move elements"):
        actual = compiled(module, [source])
    assert_same(actual, [-reference(parse_module(DIRECTIONS), [source])[0]])
