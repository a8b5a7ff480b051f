"""Ops that are made quickly are those that xDSL's constructors make."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, MemRefType, f32
from xdsl.ir import Attribute, Block, Operation, Region

from onnxloom.dialects.onnx.semantics import quick_ops

BLOCK = Block(arg_types=[IndexType(), IndexType(), f32, f32, MemRefType(f32, [-1])])
N, M, X, Y, BUFFER = BLOCK.args

INTEGER = (
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp,
    arith.CeilDivSIOp, arith.DivSIOp, arith.RemSIOp,
)  # fmt: skip
FLOAT = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp)


def same(quick: Operation, usual: Operation) -> None:
    assert type(quick) is type(usual)
    assert tuple(quick.operands) == tuple(usual.operands)
    assert [r.type for r in quick.results] == [r.type for r in usual.results]
    assert quick.properties == usual.properties
    assert quick.attributes == usual.attributes
    quick.verify_()


@pytest.mark.parametrize("op", [*INTEGER, *FLOAT])
def test_binary_ops(op: type[arith.AddiOp]) -> None:
    operands = (N, M) if op in INTEGER else (X, Y)
    same(quick_ops.binary(op, *operands), op(*operands))


def test_two_ops_share_no_properties() -> None:
    first, second = quick_ops.binary(arith.AddfOp, X, Y), quick_ops.binary(arith.AddfOp, X, Y)
    first.properties["fastmath"] = arith.FastMathFlagsAttr("fast")
    assert second.properties["fastmath"] == arith.FastMathFlagsAttr("none")


@pytest.mark.parametrize("value", [IntegerAttr(7, IndexType()), IntegerAttr(-1, 8), FloatAttr(0.5, f32)])
def test_constants(value: IntegerAttr | FloatAttr) -> None:
    same(quick_ops.constant(value), arith.ConstantOp(value))


def test_memory() -> None:
    same(quick_ops.load(BUFFER, N), memref.LoadOp.get(BUFFER, [N]))
    same(quick_ops.store(X, BUFFER, N), memref.StoreOp.get(X, BUFFER, [N]))


def test_loops() -> None:
    def body(*carried: Attribute) -> Region:
        block = Block(arg_types=[IndexType(), *carried])
        block.add_op(scf.YieldOp(*block.args[1:]))
        return Region(block)

    same(quick_ops.loop((N, M, N), (X,), body(f32)), scf.ForOp(N, M, N, [X], body(f32)))
    same(quick_ops.loop((N, M, N), (), body()), scf.ForOp(N, M, N, [], body()))
    same(quick_ops.end_of(), scf.YieldOp())
    same(quick_ops.end_of((X, Y)), scf.YieldOp(X, Y))
