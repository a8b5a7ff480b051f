"""Which ops work on vectors as they do on numbers? LLVM's names of those."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.ir import Operation

BINARY: dict[type[Operation], str] = {
    arith.AddfOp: "fadd", arith.SubfOp: "fsub", arith.MulfOp: "fmul", arith.DivfOp: "fdiv",
    arith.AddiOp: "add", arith.SubiOp: "sub", arith.MuliOp: "mul", arith.AndIOp: "and_",
    arith.OrIOp: "or_", arith.XOrIOp: "xor", arith.ShLIOp: "shl", arith.ShRSIOp: "ashr",
    arith.ShRUIOp: "lshr",
}  # fmt: skip
EXTREMES: dict[type[Operation], tuple[str, bool]] = {
    arith.MaximumfOp: (">", True), arith.MinimumfOp: ("<", True),
    arith.MaxnumfOp: (">", False), arith.MinnumfOp: ("<", False),
}  # fmt: skip
INT_EXTREMES: dict[type[Operation], tuple[str, bool]] = {
    arith.MaxSIOp: (">", True), arith.MinSIOp: ("<", True),
    arith.MaxUIOp: (">", False), arith.MinUIOp: ("<", False),
}  # fmt: skip
CASTS: dict[type[Operation], str] = {
    arith.SIToFPOp: "sitofp", arith.UIToFPOp: "uitofp", arith.FPToSIOp: "fptosi", arith.FPToUIOp: "fptoui",
    arith.ExtSIOp: "sext", arith.ExtUIOp: "zext", arith.TruncIOp: "trunc",
}  # fmt: skip
INTRINSICS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs", math.SqrtOp: "sqrt", math.FloorOp: "floor", math.CeilOp: "ceil",
    math.TruncOp: "trunc", math.RoundEvenOp: "roundeven", math.CopySignOp: "copysign",
}  # fmt: skip
