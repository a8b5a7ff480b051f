"""Errors while a plan is made name the op of the model, also those of steps that do not carry its name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import onnxloom
from onnxloom.dialects.onnx.text import parse_module
from onnxloom.errors import InputError, ModelError

X = np.ones((2, 3), np.float32)
TENSOR = "tensor<?x?xf32>"
RESULT = "tensor<7x?xf32>"


def run(op: str, attributes: str, second: str, array: Any) -> None:
    arguments = f'%0: {TENSOR} {{onnx.name = "x"}}, %1: {second} {{onnx.name = "s"}}'
    node = f'{{onnx_node_name = "node 1"{attributes}}}'
    text = (
        f"func.func @main_graph({arguments}) -> {RESULT} {{\n"
        f'  %2 = "onnx.{op}"(%0, %1) {node} : ({TENSOR}, {second}) -> {RESULT}\n'
        f"  onnx.Return %2 : {RESULT}\n}}"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        onnxloom.compile(parse_module(text)).run({"x": X, "s": array})


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        pytest.param(
            ("Reshape", "", "tensor<2xi64>", np.array([3, 2])),
            r'Reshape "node 1": a view of shape \[7, 2\] does not fit a value of \[2, 3\]',
            id="view",
        ),
        pytest.param(
            ("Einsum", ', equation = "ij,jk->ik"', TENSOR, X.T.copy()),
            'Einsum "node 1": dim 0 of the result is declared as 7, which is wrong by -5',
            id="einsum",
        ),
        pytest.param(
            ("CenterCropPad", "", "tensor<2xi64>", np.array([2, 3])),
            'CenterCropPad "node 1": dim 0 .* by -5',
            id="function",
        ),
        pytest.param(
            ("MatMul", "", TENSOR, X.T.copy()),
            'MatMul "node 1": dim 0 of the result is declared as 7, which is wrong by -5',
            id="kernel",
        ),
        pytest.param(
            ("Expand", "", "tensor<2xi64>", np.array([2, 3])), 'Expand "node 1": dim 0 .* by -5', id="expand"
        ),
        pytest.param(
            ("Tile", "", "tensor<2xi64>", np.array([2, 1])), 'Tile "node 1": dim 0 .* by -3', id="tile"
        ),
        pytest.param(("Mul", "", TENSOR, X), 'Mul "node 1": dim 0 .* by -5', id="elementwise"),
        pytest.param(
            ("Concat", ", axis = 0 : si64", TENSOR, X), 'Concat "node 1": dim 0 .* by -3', id="concat"
        ),
        pytest.param(
            ("ReduceSum", "", "tensor<1xi64>", np.array([1])),
            'ReduceSum "node 1": dim 0 .* by -5',
            id="reduce",
        ),
        pytest.param(
            ("Add", "", TENSOR, np.ones((4, 5), np.float32)), 'Add "node 1": shape mismatch', id="broadcast"
        ),
    ],
)
def test_errors_name_the_node(case: tuple[str, str, str, Any], problem: str) -> None:
    with pytest.raises((ModelError, InputError), match=problem) as caught:
        run(*case)
    assert "\n" not in str(caught.value)
