"""How does a register tile read what its finish needs beside the accumulators?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from llvmlite import ir

from onnxloom.lowering.emit_llvm.splats import in_all_lanes
from onnxloom.lowering.microkernels import Finish
from onnxloom.lowering.microkernels.multiply_add import MultiplyAdd, intrinsic

BY_COLUMN, ALL_ROWS = 1, 2
"""An operand of the finish has one element per column; it does not differ between rows."""

I32 = ir.IntType(32)
PTR = ir.PointerType()


@dataclass(frozen=True)
class Finishing:
    """The finish of a tile."""

    finish: Finish
    forms: Sequence[int]
    """Per operand the sum of BY_COLUMN and ALL_ROWS where they hold."""


@dataclass(frozen=True)
class FinishRead:
    """One operand; each element is read once."""

    adder: MultiplyAdd
    form: int
    lines: Sequence[ir.Value]
    """Addresses of the rows."""
    masks: Sequence[ir.Value] | None
    """Per vector the lanes that are columns, None if all are."""
    known: dict[tuple[int, int], ir.Value] = field(default_factory=dict[tuple[int, int], ir.Value])

    def vector(self, b: ir.IRBuilder, row: int, j: int) -> ir.Value:
        """The elements for vector `j` of a row."""
        place = (0 if self.form & ALL_ROWS else row, j if self.form & BY_COLUMN else 0)
        if place not in self.known:
            self.known[place] = self._read(b, *place)
        return self.known[place]

    def _read(self, b: ir.IRBuilder, row: int, j: int) -> ir.Value:
        adder = self.adder
        if not self.form & BY_COLUMN:
            return in_all_lanes(b, b.load(self.lines[row], typ=adder.element), adder.lanes)
        offset = ir.Constant(ir.IntType(64), j * adder.lanes)
        place = b.gep(self.lines[row], [offset], source_etype=adder.element)
        align = adder.bits // 8
        if self.masks is None:
            return b.load(place, align=align, typ=adder.vector)
        types = [PTR, I32, self.masks[j].type, adder.vector]
        load = intrinsic(adder.module, f"llvm.masked.load.{adder.suffix}.p0", adder.vector, types)
        return b.call(load, [place, ir.Constant(I32, align), self.masks[j], adder.zero])
