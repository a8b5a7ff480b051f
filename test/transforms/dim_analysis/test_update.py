"""Ops made after an analysis: looked at one by one, and united with what they replace."""

from __future__ import annotations

import pytest
from rewriting import function, value
from xdsl.dialects.builtin import ModuleOp, TensorType, UnrankedTensorType, f32, i64
from xdsl.ir import Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.access import make
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import ModelError
from onnxloom.transforms.dim_analysis import DimAnalysis

ANY = UnrankedTensorType(f32)


def model() -> tuple[ModuleOp, DimAnalysis]:
    text = """func.func @f(%x: tensor<?x3xf32> {onnx.dim_params = "0:n"}, %z: tensor<*xf32>,
                           %w: tensor<?x3xf32>) -> tensor<?x3xf32> {
      %y = "onnx.Neg"(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32>
      onnx.Return %y : tensor<?x3xf32>
    }"""
    module = parse_module(text)
    return module, DimAnalysis.of(module)


def transposed(module: ModuleOp, name: str = "x") -> Operation:
    return make(onnx.TransposeOp, [value(module, name)], [ANY], perm=[1, 0])


def test_a_new_op_is_known_by_its_type_until_it_is_looked_at():
    module, dims = model()
    op = transposed(module)
    assert dims.shape(op.results[0]) is None
    dims.update(op)
    assert [str(dim) for dim in dims.shape(op.results[0]) or ()] == ["3", "n"]
    assert dims.refined_type(op.results[0]) == TensorType(f32, [3, -(2**63)])


def test_what_follows_is_known_too():
    module, dims = model()
    shape = make(onnx.ShapeOp, [value(module, "x")], [TensorType(i64, [2])])
    dims.update(shape)
    known = dims.known_value(shape.results[0])
    assert known is not None and [str(element) for element in known] == ["n", "3"]


def test_a_changed_op_may_be_looked_at_again():
    module, dims = model()
    op = transposed(module)
    dims.update(op)
    op.operands[0] = value(module, "z")
    dims.update(op)
    assert str(dims.shape(op.results[0])) != "(3, n)"


def test_contradictions():
    _, dims = model()
    left, right = (onnx.ConstantOp.create(result_types=[TensorType(f32, [n])]) for n in (2, 3))
    op = make(onnx.AddOp, [left.results[0], right.results[0]], [ANY])
    with pytest.raises(ModelError, match="onnx.Add"):
        dims.update(op)
    dims.update(op, may_never_run=True)
    assert dims.shape(op.results[0]) is None


def test_a_new_value_is_called_as_what_it_replaces():
    module, dims = model()
    op = make(onnx.CustomOp, [value(module, "x")], [TensorType(f32, [-(2**63), 3])])
    fresh, old = op.results[0], value(module, "y")
    assert not dims.same_shape(fresh, old)
    dims.unite(old, fresh, is_new=True)
    assert dims.same_shape(fresh, value(module, "x"))


def test_a_value_that_was_there_keeps_its_names():
    module, dims = model()
    w, y = value(module, "w"), value(module, "y")
    before = dims.shape(w)
    dims.unite(y, w, is_new=False)
    assert dims.shape(w) == before


@pytest.mark.parametrize("is_new", [True, False])
def test_numbers_win_over_names(is_new: bool):
    module, dims = model()
    op = make(onnx.CustomOp, [value(module, "x")], [TensorType(f32, [4, -(2**63)])])
    dims.unite(value(module, "y"), op.results[0], is_new=is_new)
    assert [str(dim) for dim in dims.shape(op.results[0]) or ()] == ["4", "3"]


@pytest.mark.parametrize("is_new", [True, False])
def test_a_rank_known_to_one_of_them_is_known(is_new: bool):
    module, dims = model()
    x, z = value(module, "x"), value(module, "z")
    dims.unite(x, z, is_new=is_new)
    assert dims.same_shape(x, z)
    module, dims = model()
    x, z = value(module, "x"), value(module, "z")
    dims.unite(z, x, is_new=is_new)
    assert [str(dim) for dim in dims.shape(x) or ()] == ["n", "3"]


def test_elements_are_kept():
    module, dims = model()
    shape = make(onnx.ShapeOp, [value(module, "x")], [TensorType(i64, [2])])
    dims.update(shape)
    other = make(onnx.CustomOp, [value(module, "x")], [TensorType(i64, [2])])
    dims.unite(shape.results[0], other.results[0], is_new=True)
    known = dims.known_value(other.results[0])
    assert known is not None and str(known[0]) == "n"


def test_values_that_are_no_tensors_have_nothing_to_unite():
    module = function('%n = "onnx.NoValue"() {value} : () -> none', "y = Neg x")
    dims = DimAnalysis.of(module)
    dims.unite(value(module, "n"), value(module, "x"), is_new=False)
    assert dims.refined_type(value(module, "n")) is None and len(dims.shape(value(module, "x")) or ()) == 2
