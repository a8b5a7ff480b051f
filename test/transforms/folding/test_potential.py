"""Potential constants: who may write them, and when they take effect."""

from __future__ import annotations

import numpy as np
import pytest
from single_ops import op_of
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Operation

from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import DO_NOT_FOLD, OVERRIDABLE, POTENTIAL
from onnxloom.dialects.onnx.attributes import ints_value
from onnxloom.dialects.onnx.constant import constant_attr
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.folding.fold_constants import fold_constant_op
from onnxloom.transforms.folding.folding import Fold
from onnxloom.transforms.folding.policy import DEFAULT_POLICY
from onnxloom.transforms.folding.potential import (
    Potential,
    clear,
    known_value,
    mark,
    potential_of,
    ripe,
)
from onnxloom.transforms.shape_inference import set_type

SEVEN = np.array(7)


def negation() -> Operation:
    """Of something that is no constant."""
    source = op_of(onnx.AbsOp, [SEVEN])
    op = op_of(onnx.NegOp, [SEVEN])
    op.operands[0] = source.results[0]
    return op


def test_what_is_kept_aside_is_read_back():
    op = negation()
    assert potential_of(op) is None and known_value(op.results[0]) is None
    assert mark(op, Potential("mine", [SEVEN], (0,)))
    assert potential_of(op) == Potential("mine", [SEVEN], (0,))
    assert known_value(op.results[0]) == SEVEN


def test_only_its_pass_replaces_or_clears_it():
    op = negation()
    mark(op, Potential("mine", [SEVEN]))
    assert not mark(op, Potential("yours", [np.array(8)]))
    assert not clear(op, "yours")
    assert known_value(op.results[0]) == 7
    assert mark(op, Potential("mine", [np.array(9)]))
    assert known_value(op.results[0]) == 9
    assert clear(op, "mine") and POTENTIAL not in op.attributes


def test_it_waits_for_what_is_missing():
    op = negation()
    assert ripe(op) is None
    mark(op, Potential("mine", [SEVEN], (0,)))
    assert ripe(op) is None
    op.operands[0] = onnx.make_constant(SEVEN).output
    assert ripe(op) == Fold([SEVEN], what="potential constant")
    op.attributes[DO_NOT_FOLD] = StringAttr("")
    assert ripe(op) is None


def test_constants_are_known_unless_a_caller_may_override_them():
    constant = onnx.make_constant(SEVEN)
    assert known_value(constant.output) == 7
    constant.attributes[OVERRIDABLE] = constant.output.type
    assert known_value(constant.output) is None


def _entry(**changes: Attribute | None) -> DictionaryAttr:
    entries: dict[str, Attribute] = {
        "origin": StringAttr("mine"),
        "values": ArrayAttr([constant_attr(SEVEN)]),
        "missing": ints_value([0]),
    }
    return DictionaryAttr({k: v for k, v in {**entries, **changes}.items() if v is not None})


@pytest.mark.parametrize(
    "text",
    [
        StringAttr("nonsense"),
        _entry(origin=None),
        _entry(values=StringAttr("7")),
        _entry(values=ArrayAttr([])),
        _entry(values=ArrayAttr([StringAttr("7")])),
        _entry(missing=None),
        _entry(missing=ints_value([1])),
        _entry(missing=ints_value([-1])),
    ],
)
def test_text_that_says_nothing_sensible_is_nothing(text: Attribute):
    op = negation()
    op.attributes[POTENTIAL] = _entry()
    assert potential_of(op) is not None
    op.attributes[POTENTIAL] = text
    assert potential_of(op) is None
    assert ripe(op) is None and known_value(op.results[0]) is None


def test_an_input_that_is_left_out_is_known():
    op = op_of(onnx.ClipOp, [SEVEN, None, SEVEN])
    source = op_of(onnx.AbsOp, [SEVEN])
    op.operands[0] = source.results[0]
    for value in (source.results[0], op.results[0]):
        set_type(value, TensorType(i64, []))
    with use_evaluator(HostEvaluator()):
        assert fold_constant_op(op, DEFAULT_POLICY) is None
        assert POTENTIAL not in op.attributes, "its first input is not known"
        mark(source, Potential("mine", [SEVEN]))
        assert fold_constant_op(op, DEFAULT_POLICY) is None
    assert potential_of(op) == Potential("fold-constants", [SEVEN], (0,))
