"""Plan-time arithmetic gives what the ops mean, and remembers results that need IR classes."""

from __future__ import annotations

import numpy as np
import pytest

from onnxloom.errors import ModelError
from onnxloom.lowering.plan.index_ops import evaluate
from onnxloom.lowering.plan.memo import Memo
from onnxloom.lowering.plan.program import IndexStep
from onnxloom.lowering.plan.values import NeedValue, Value, known_value


def step(op: str, count: int, results: int = 1, **props: str) -> IndexStep:
    return IndexStep(op, tuple(sorted(props.items())), tuple(range(count)), tuple(range(90, 90 + results)))


@pytest.mark.parametrize(
    ("op", "operands", "expected"),
    [
        ("arith.divsi", (-7, 2), -3),
        ("arith.floordivsi", (-7, 2), -4),
        ("arith.ceildivsi", (7, 2), 4),
        ("arith.ceildivsi", (-7, 2), -3),
        ("arith.remsi", (-7, 2), -1),
        ("arith.select", (0, 5, 6), 6),
        ("arith.maxsi", (-1, 3), 3),
    ],
)
def test_arithmetic(op: str, operands: tuple[int, ...], expected: int) -> None:
    assert evaluate(step(op, len(operands)), operands, Memo()) == [expected]


def test_comparison_by_predicate_number() -> None:
    assert evaluate(step("arith.cmpi", 2, predicate="2 : i64"), (1, 2), Memo()) == [1]
    assert evaluate(step("arith.cmpi", 2, predicate="5 : i64"), (1, 2), Memo()) == [0]


def test_division_by_zero_is_a_typed_error() -> None:
    with pytest.raises(ModelError, match="arith.divsi"):
        evaluate(step("arith.divsi", 2), (1, 0), Memo())


def test_unknown_contents_are_asked_for() -> None:
    unknown = Value(np.dtype(np.int64), (3,))
    with pytest.raises(NeedValue) as raised:
        evaluate(step("loom.extract", 1, position="1 : i64"), (unknown,), Memo())
    assert raised.value.value is unknown


def test_results_of_ir_classes_are_remembered_by_content() -> None:
    memo = Memo()
    extract = step("loom.extract", 1, position="1 : i64")
    assert evaluate(extract, (known_value(np.array([4, 5, 6])),), memo) == [5]
    assert evaluate(extract, (known_value(np.array([4, 7, 6])),), memo) == [7]
    assert len(memo.entries) == 2
    memo.entries = {key: [42] for key in memo.entries}
    assert evaluate(extract, (known_value(np.array([4, 5, 6])),), memo) == [42]
