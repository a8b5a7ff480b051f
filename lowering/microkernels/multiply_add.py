"""How does a register tile multiply two vectors and add the products to a third?

An element of 2 `parts` is a word of two 16-bit integers, one of 4 a word of four bytes, unsigned in the left
vector and signed in the right one or, with `signed_left`, the other way round; they are multiplied part by
part, and the products are added to a 32-bit accumulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from onnxloom.lowering.cpu_target import CpuTarget

_DOT_BYTES = {
    4: "llvm.x86.avx512.vpdpbusd.128",
    8: "llvm.x86.avx512.vpdpbusd.256",
    16: "llvm.x86.avx512.vpdpbusd.512",
}
"""Lanes -> intrinsic that multiplies bytes and adds each four products to an accumulator."""

_PAIR_SUMS = {
    4: ("sse2", "llvm.x86.sse2.pmadd.wd"),
    8: ("avx2", "llvm.x86.avx2.pmadd.wd"),
    16: ("avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
}
"""Lanes -> feature and intrinsic that multiplies 16-bit integers and adds neighbours; with a following
addition it is one instruction where the processor has that (VNNI)."""


def intrinsic(module: ir.Module, name: str, result: ir.Type, args: Sequence[ir.Type]) -> ir.Function:
    """The declaration of an intrinsic in a module."""
    found = module.globals.get(name)
    return found if found is not None else ir.Function(module, ir.FunctionType(result, args), name)


@dataclass(frozen=True)
class MultiplyAdd:
    """One step of the accumulators of a tile."""

    module: ir.Module
    element: ir.Type
    lanes: int
    target: CpuTarget
    parts: int = 1
    signed_left: bool = False

    @property
    def vector(self) -> ir.VectorType:
        """The type of factors and accumulators."""
        return ir.VectorType(self.element, self.lanes)

    @property
    def bits(self) -> int:
        """Width of an element."""
        return 64 if isinstance(self.element, ir.DoubleType) else 32

    @property
    def suffix(self) -> str:
        """The vector type as names of intrinsics have it."""
        return f"v{self.lanes}{'f' if self.parts == 1 else 'i'}{self.bits}"

    @property
    def form(self) -> str:
        """What tells functions of different steps apart."""
        return f"{self.suffix}x{self.parts}{'s' if self.signed_left else ''}"

    @property
    def zero(self) -> ir.Constant:
        """What an accumulator starts from."""
        return ir.Constant(self.vector, None)

    def step(self, b: ir.IRBuilder, factor: ir.Value, column: ir.Value, total: ir.Value) -> ir.Value:
        """`total + factor * column`, rounded once where that is an instruction."""
        if self.parts == 1 and not self.target.has_fma:
            return b.fadd(total, b.fmul(factor, column))
        if self.parts == 1:
            fma = intrinsic(self.module, f"llvm.fma.{self.suffix}", self.vector, [self.vector] * 3)
            return b.call(fma, [factor, column, total])
        if self.parts == 4:
            return self._bytes(b, factor, column, total)
        name = _PAIR_SUMS.get(self.lanes)
        if name is not None and self.target.is_x86 and self.target.has(name[0]):
            halves = ir.VectorType(ir.IntType(16), 2 * self.lanes)
            both = intrinsic(self.module, name[1], self.vector, [halves, halves])
            return b.add(total, b.call(both, [b.bitcast(factor, halves), b.bitcast(column, halves)]))
        shift = ir.Constant(self.vector, [16] * self.lanes)
        low = b.mul(*(b.ashr(b.shl(x, shift), shift) for x in (factor, column)))
        high = b.mul(*(b.ashr(x, shift) for x in (factor, column)))
        return b.add(total, b.add(low, high))

    def _bytes(self, b: ir.IRBuilder, factor: ir.Value, column: ir.Value, total: ir.Value) -> ir.Value:
        """`total` + the sums of four products."""
        if self.signed_left:
            factor, column = column, factor
        if self.lanes in _DOT_BYTES and self._has_dot_bytes:
            quarters = ir.VectorType(ir.IntType(8), 4 * self.lanes)
            args = [self.vector, quarters, quarters]
            dot = intrinsic(self.module, _DOT_BYTES[self.lanes], self.vector, args)
            return b.call(dot, [total, b.bitcast(factor, quarters), b.bitcast(column, quarters)])
        down = ir.Constant(self.vector, [24] * self.lanes)
        for part in range(4):
            up = ir.Constant(self.vector, [24 - 8 * part] * self.lanes)
            left, right = b.lshr(b.shl(factor, up), down), b.ashr(b.shl(column, up), down)
            total = b.add(total, b.mul(left, right))
        return total

    @property
    def _has_dot_bytes(self) -> bool:
        if not self.target.is_x86:
            return False
        wide = self.target.has("avx512vnni") and (self.lanes == 16 or self.target.has("avx512vl"))
        return wide or (self.lanes < 16 and self.target.has("avxvnni"))
