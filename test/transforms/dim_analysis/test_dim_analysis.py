"""What `DimAnalysis` answers, and what it must not claim."""

from __future__ import annotations

import pytest
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import ModelError
from onnxloom.transforms.dim_analysis import DimAnalysis, DimExpr

TEXT = """
func.func @main_graph(
    %x: tensor<?x8xf32> {onnx.dim_params = "0:n"}, %y: tensor<8x?xf32> {onnx.dim_params = "1:n"},
    %u: tensor<*xf32>, %t: tensor<2xi64>) {
  %s = "onnx.Shape"(%x) <{end = 1 : si64}> : (tensor<?x8xf32>) -> tensor<1xi64>
  %three = onnx.Constant dense<3> : tensor<1xi64>
  %two = onnx.Constant dense<2> : tensor<1xi64>
  %d = "onnx.Sub"(%s, %three) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %h = "onnx.Div"(%d, %two) : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %r = "onnx.Reshape"(%x, %t) : (tensor<?x8xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %e = "onnx.Expand"(%u, %t) : (tensor<*xf32>, tensor<2xi64>) -> tensor<*xf32>
  onnx.Return
}
"""


@pytest.fixture
def values() -> dict[str, SSAValue]:
    module = parse_module(TEXT)
    found: dict[str, SSAValue] = {}
    for op in module.walk():
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            found[value.name_hint or ""] = value
    return found


@pytest.fixture
def dims(values: dict[str, SSAValue]) -> DimAnalysis:
    root = values["s"].owner
    while isinstance(root, Operation) and (parent := root.parent_op()) is not None:
        root = parent
    assert isinstance(root, Operation)
    return DimAnalysis.of(root)


def test_dims_of_one_name_are_the_same(values: dict[str, SSAValue], dims: DimAnalysis):
    assert dims.same_dim(values["x"], 0, values["y"], -1)
    assert not dims.same_dim(values["x"], 0, values["x"], 1)
    assert not dims.same_shape(values["x"], values["y"])
    assert dims.same_shape(values["x"], values["x"])
    assert str(dims.dim(values["y"], -1)) == "n"


def test_an_unknown_rank(values: dict[str, SSAValue], dims: DimAnalysis):
    assert dims.shape(values["u"]) is None
    assert not dims.same_shape(values["u"], values["u"])
    assert not dims.same_dim(values["u"], 0, values["u"], 0)
    with pytest.raises(ValueError, match="expected a ranked tensor"):
        dims.dim(values["u"], 0)


@pytest.mark.parametrize("op", ["r", "e"])
def test_a_target_of_any_sign_is_not_the_dim(op: str, values: dict[str, SSAValue], dims: DimAnalysis):
    """An element of a Reshape's target may be 0 or -1, one of an Expand's may be 1."""
    target, shape = dims.known_value(values["t"]), dims.shape(values[op])
    assert target is not None
    assert shape is None or not set(shape) & set(target.tolist())


@pytest.mark.parametrize("n", range(9))
def test_integer_division_rounds_towards_zero(n: int, values: dict[str, SSAValue], dims: DimAnalysis):
    known = dims.known_value(values["h"])
    assert known is not None
    (half,) = known.tolist()
    assert isinstance(half, DimExpr)
    assert half.evaluate({"n": n}) == int((n - 3) / 2)


def test_what_is_not_a_function_has_no_dims(values: dict[str, SSAValue]):
    owner = values["s"].owner
    assert isinstance(owner, Operation)
    with pytest.raises(ValueError, match=r"expected a func\.func"):
        DimAnalysis.of(owner)


def analysis_of(*lines: str) -> tuple[DimAnalysis, dict[str, SSAValue]]:
    module = parse_module("func.func @main_graph() {\n" + "\n".join(lines) + "\nonnx.Return\n}")
    values: dict[str, SSAValue] = {r.name_hint or "": r for op in module.walk() for r in op.results}
    return DimAnalysis.of(next(iter(module.ops))), values


@pytest.mark.parametrize("dims", ["4294967296x4294967296", "2147483648x2147483648x2147483648"])
@pytest.mark.parametrize("op", ["ConstantOfShape", "Expand"])
def test_sizes_of_more_than_64_bits_are_not_small(op: str, dims: str):
    """2^64 elements are none when they are counted with 64 bits."""
    sizes = dims.split("x")
    shape = f"tensor<{len(sizes)}xi64>"
    reads = f"%s) : ({shape})" if op == "ConstantOfShape" else f"%k, %s) : (tensor<f32>, {shape})"
    analysis, values = analysis_of(
        f"%s = onnx.Constant dense<[{', '.join(sizes)}]> : {shape}",
        "%k = onnx.Constant dense<1.0> : tensor<f32>",
        f'%y = "onnx.{op}"({reads} -> tensor<*xf32>',
    )
    assert analysis.known_value(values["y"]) is None
    assert str(analysis.dim(values["y"], 0)) == sizes[0]


def test_a_dim_of_more_than_63_bits_is_refused():
    with pytest.raises(ModelError, match="Range.*dim 0 of a result would be 18446744073709551615"):
        analysis_of(
            "%a = onnx.Constant dense<-9223372036854775808> : tensor<i64>",
            "%b = onnx.Constant dense<9223372036854775807> : tensor<i64>",
            "%c = onnx.Constant dense<1> : tensor<i64>",
            '%y = "onnx.Range"(%a, %b, %c) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<*xi64>',
        )


def test_a_type_that_does_not_exist_is_said_with_its_op():
    with pytest.raises(ModelError, match=r"onnx\.Cast.*: tensor data type 77 is not"):
        analysis_of(
            "%a = onnx.Constant dense<1> : tensor<i64>",
            '%y = "onnx.Cast"(%a) <{to = 77 : si64}> : (tensor<i64>) -> tensor<*xf32>',
        )
