"""Which op is no matrix product?"""

from __future__ import annotations

from fusion_reasons import unfit
from ir_graphs import graph

from onnxloom.transforms.fusion.kinds.matmul_epilogue import MatMulEpilogueFusion


def test_another_op_is_none() -> None:
    assert unfit(MatMulEpilogueFusion, graph("%y = Mul %x %x"), "Mul") == "onnx.Mul is not a matrix product"
