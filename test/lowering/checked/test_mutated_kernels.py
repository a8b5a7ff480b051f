"""Are wrong indices and operands of tiles found in the kernels of real ops?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from text_models import model_of
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Operation

from onnxloom.dialects.loom.kernel import MicrokernelOp
from onnxloom.errors import KernelFault
from onnxloom.lowering.compile import CompileOptions, compile_model

RNG = np.random.default_rng(0)

PRODUCT = "agraph (float[5,7] a, float[7,33] b) => (float[5,33] y) { y = MatMul(a, b) }"
SOFTMAX = "agraph (float[3,45] x) => (float[3,45] y) { y = Softmax(x) }"
TRANSPOSE = "agraph (float[32,32] x) => (float[32,32] y) { y = Transpose<perm=[1,0]>(x) }"
KINDS = {PRODUCT: "gemm_tile", SOFTMAX: "softmax_row", TRANSPOSE: "transpose_tile"}
FEEDS = {PRODUCT: ((5, 7), (7, 33)), SOFTMAX: ((3, 45),), TRANSPOSE: ((32, 32),)}


def run(graph: str, change: Callable[[ModuleOp], None] = lambda module: None) -> list[Any]:
    options = CompileOptions(cache=False, checked=True, observe=change)
    feeds = [RNG.standard_normal(shape).astype(np.float32) for shape in FEEDS[graph]]
    return compile_model(model_of(graph), options)(*feeds)


def shift(op: Operation, operand: int, by: int) -> None:
    """Adds `by` to an operand of an op of a kernel."""
    block = op.parent
    assert block is not None
    number = arith.ConstantOp(IntegerAttr(by, IndexType()))
    total = arith.AddiOp(op.operands[operand], number.result)
    block.insert_ops_before([number, total], op)
    op.operands[operand] = total.result


def tiles(graph: str, module: ModuleOp) -> list[MicrokernelOp]:
    found = [op for op in module.walk() if isinstance(op, MicrokernelOp)]
    return [op for op in found if op.kind.data == KINDS[graph]]


@pytest.mark.parametrize("graph", KINDS)
def test_no_fault_without_a_change(graph: str) -> None:
    seen: list[int] = []
    run(graph, lambda module: seen.append(len(tiles(graph, module))))
    assert seen[0]


@pytest.mark.parametrize(
    ("graph", "scalar", "by", "tile", "place"),
    [
        (PRODUCT, 0, -1, "load of float in loom.gemm_tile.", "byte -4 (element -1) of buffer 0 (input 0)"),
        (PRODUCT, 1, 1, "load of float in loom.gemm_tile.", "of buffer 0 (input 0), which has 140 bytes"),
        (PRODUCT, 7, 1, "in loom.gemm_tile.", "bytes at byte"),
        (PRODUCT, 9, 1, "store of", "(output "),
        (SOFTMAX, 0, 1, "masked load of 16 x float in loom.softmax_row.", "(input 0), which has 540 bytes"),
        (SOFTMAX, 1, 1, "masked store of 16 x float in loom.softmax_row.", "of buffer 1 (output 0)"),
        (SOFTMAX, 4, 1, "load of 16 x float in loom.softmax_row.", "of buffer 0 (input 0)"),
        (TRANSPOSE, 0, 1, "load of 16 x float in loom.transpose_tile.", "of buffer 0 (input 0)"),
        (TRANSPOSE, 3, 1, "store of 16 x float in loom.transpose_tile.", "of buffer 1 (output 0)"),
    ],
)
def test_an_operand_of_a_tile_that_is_off_by_one(
    graph: str, scalar: int, by: int, tile: str, place: str
) -> None:
    def change(module: ModuleOp) -> None:
        for op in tiles(graph, module):
            shift(op, sum(isinstance(v.type, MemRefType) for v in op.args) + scalar, by)

    with pytest.raises(KernelFault) as caught:
        run(graph, change)
    words = str(caught.value).replace("16 x float", "x float"), tile.replace("16 x float", "x float")
    assert all(part in words[0] for part in (*words[1].split("x float"), place)), caught.value


def test_a_store_of_a_loop_that_is_off_by_one() -> None:
    graph = "agraph (float[3,4] x) => (float[3,4] y) { y = Abs(x) }"
    FEEDS[graph] = ((3, 4),)

    def change(module: ModuleOp) -> None:
        for op in list(module.walk()):
            if isinstance(op, memref.StoreOp):
                shift(op, 2, 1)

    with pytest.raises(
        KernelFault, match=r"^Abs: kernel \w+: store of float .* \(element 12\) of .* \(output 0\)"
    ):
        run(graph, change)
