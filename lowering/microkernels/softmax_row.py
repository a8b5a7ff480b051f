"""How is the softmax of contiguous rows emitted? Three sweeps of whole vectors per row, the last one masked.

A row is `x = scale * source (+ mask, or where a truth value says so)`. The sweeps find its largest element,
write exp(x - largest) and add it up, and multiply by the inverse of the sum. A NaN needs no care while the
largest is looked for: its exponential makes the sum NaN, and so every element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.expand_math.exponential import EXP_POLYNOMIAL, LN2_HIGH, LN2_LOW, LOG2_E, ROUNDER
from onnxloom.lowering.microkernels.multiply_add import intrinsic

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32 = ir.FloatType()
PTR = ir.PointerType()

_CHAINS = 4
"""Maxima that are kept side by side: one waits for the other otherwise."""


def emit_llvm(
    builder: ir.IRBuilder, params: dict[str, Any], args: Sequence[ir.Value], target: CpuTarget
) -> None:
    """Emits some rows at the builder's position.

    Args:
        params: `lanes`; `scale`; `mask`: `none`, `added` or `truth`; `normalized`: whether rows are
            multiplied by the inverse of their sum; `hidden`: whether a row of -inf alone is 0, not NaN.
        args: buffers source, mask if there is one (f32, or bytes), result, and, where rows are not
            normalized, inverses of the sums; offset in each of them; distance between rows in each;
            rows; elements per row.
    """
    count = (len(args) - 2) // 3
    buffers, offsets = args[:count], args[count : 2 * count]
    pointers = [
        builder.bitcast(builder.gep(buffer, [at]), PTR) for buffer, at in zip(buffers, offsets, strict=True)
    ]
    function = _Rows(builder.module, params, target).function()
    builder.call(function, [*pointers, *args[2 * count :]])


@dataclass
class _Rows:
    module: ir.Module
    params: dict[str, Any]
    target: CpuTarget

    def __post_init__(self) -> None:
        self.lanes: int = self.params["lanes"]
        self.vector = ir.VectorType(F32, self.lanes)
        self.words = ir.VectorType(I32, self.lanes)
        self.bits = ir.VectorType(I1, self.lanes)

    def function(self) -> ir.Function:
        """`void(buffers, distances between rows in them, rows, elements)`; see `emit_llvm`."""
        kind, scale = self.params["mask"], float(self.params["scale"])
        self.is_normalized = bool(self.params["normalized"])
        flags = f"{int(self.is_normalized)}{int(self.params['hidden'])}"
        name = f"loom.softmax_row.v{self.lanes}.{kind}.{flags}.{scale.hex()}"
        found = self.module.globals.get(name)
        if found is not None:
            return found
        buffers = 2 + (kind != "none") + (not self.is_normalized)
        signature = ir.FunctionType(ir.VoidType(), [PTR] * buffers + [I64] * (buffers + 2))
        function = ir.Function(self.module, signature, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        pointers, strides = function.args[:buffers], function.args[buffers:-2]
        rows, count = function.args[-2:]
        entry = b.block
        head, body, done = (b.append_basic_block(name) for name in ("rows", "row", "rows.done"))
        b.branch(head)
        b.position_at_end(head)
        row = b.phi(I64)
        row.add_incoming(ir.Constant(I64, 0), entry)
        b.cbranch(b.icmp_signed("<", row, rows), body, done)
        b.position_at_end(body)
        self._write(b, [b.mul(row, stride) for stride in strides], pointers, count)
        row.add_incoming(b.add(row, ir.Constant(I64, 1)), b.block)
        b.branch(head)
        b.position_at_end(done)
        b.ret_void()
        return function

    def _write(
        self, b: ir.IRBuilder, offsets: Sequence[ir.Value], buffers: Sequence[ir.Value], count: ir.Value
    ) -> None:
        """One row: the offsets of its parts in the buffers, and its elements."""
        kinds = [F32, *([] if self.params["mask"] == "none" else [self._mask_type]), F32]
        kinds += [] if self.is_normalized else [F32]
        parts = zip(buffers, offsets, kinds, strict=True)
        places = [b.gep(buffer, [at], source_etype=kind) for buffer, at, kind in parts]
        source, *rest = places
        inverse = None if self.is_normalized else rest.pop()
        *masks, result = rest
        mask = masks[0] if masks else None
        lowest = self._splat(-math.inf)
        scale = float(self.params["scale"])
        # A maximum does not care about a positive factor.
        is_late = mask is None and scale > 0
        factor = None if is_late or scale == 1.0 else self._splat(scale)

        def element(at: ir.Value, live: ir.Value | None) -> ir.Value:
            """Elements of the row; -inf behind its end."""
            x = self._load(b, source, at, live, lowest)
            if mask is None or self.params["mask"] == "truth":
                x = x if factor is None else b.fmul(x, factor)
                x = x if mask is None else b.select(self._truth(b, mask, at, live), x, lowest)
            else:
                added = self._load(b, mask, at, live, self._splat(0.0))
                x = b.fadd(x, added) if factor is None else self._fma(b, x, factor, added)
            # The factor may have another sign, or be 0.
            return x if live is None or factor is None else b.select(live, x, lowest)

        def larger(at: ir.Value, live: ir.Value | None, carried: Sequence[ir.Value]) -> list[ir.Value]:
            return [self._larger(b, element(at, live), carried[0]), *carried[1:]]

        whole = self._sweep_side_by_side(b, count, larger, lowest)
        most = intrinsic(self.module, f"llvm.vector.reduce.fmax.v{self.lanes}f32", F32, [self.vector])
        largest = b.call(most, [whole], fastmath=("nnan",))  # `_larger` keeps no NaN
        if self.params["hidden"]:
            none = b.fcmp_ordered("==", largest, ir.Constant(F32, -math.inf))
            largest = b.select(none, ir.Constant(F32, 0.0), largest)
        if is_late and scale != 1.0:
            largest = b.fmul(largest, ir.Constant(F32, scale))
        shift = self._spread(b, largest)
        below = self._spread(b, b.fneg(largest))

        def exponential(at: ir.Value, live: ir.Value | None, carried: Sequence[ir.Value]) -> list[ir.Value]:
            x = element(at, live)
            if is_late and scale != 1.0:
                value = self._exp(b, self._fma(b, x, self._splat(scale), below))
            else:
                value = self._exp(b, b.fsub(x, shift))
            if live is not None:
                value = b.select(live, value, self._splat(0.0))
            self._store(b, value, result, at, live)
            return [b.fadd(carried[0], value)]

        (sums,) = self._sweep(b, count, exponential, [self._splat(0.0)])
        add = intrinsic(self.module, f"llvm.vector.reduce.fadd.v{self.lanes}f32", F32, [F32, self.vector])
        total = b.call(add, [ir.Constant(F32, -0.0), sums], fastmath=("reassoc",))
        one = ir.Constant(F32, 1.0)
        share = b.fdiv(one, total)
        if self.params["hidden"]:
            empty = b.fcmp_ordered("==", total, ir.Constant(F32, 0.0))
            share = b.select(empty, one, share)
        if inverse is not None:
            b.store(share, inverse, align=4)
            return
        shares = self._spread(b, share)

        def scaled(at: ir.Value, live: ir.Value | None, _: Sequence[ir.Value]) -> list[ir.Value]:
            value = self._load(b, result, at, live, self._splat(0.0))
            self._store(b, b.fmul(value, shares), result, at, live)
            return []

        self._sweep(b, count, scaled, [])

    @property
    def _mask_type(self) -> ir.Type:
        return F32 if self.params["mask"] == "added" else I8

    # Sweeps

    def _sweep(
        self,
        b: ir.IRBuilder,
        count: ir.Value,
        step: Callable[[ir.Value, ir.Value | None, Sequence[ir.Value]], list[ir.Value]],
        initial: Sequence[ir.Value],
        begin: ir.Value | None = None,
    ) -> list[ir.Value]:
        """`carried = step(offset, live lanes or None for all, carried)` along the row."""
        width = ir.Constant(I64, self.lanes)
        start = ir.Constant(I64, 0) if begin is None else begin
        entry, head, body, tail, done = (
            b.block,
            *(b.append_basic_block(name) for name in ("sweep", "sweep.body", "sweep.tail", "sweep.done")),
        )
        b.branch(head)
        b.position_at_end(head)
        at = b.phi(I64)
        at.add_incoming(start, entry)
        carried = [b.phi(self.vector) for _ in initial]
        for phi, value in zip(carried, initial, strict=True):
            phi.add_incoming(value, entry)
        following = b.add(at, width)
        rest = b.append_basic_block("sweep.rest")
        b.cbranch(b.icmp_signed("<=", following, count), body, rest)
        b.position_at_end(body)
        for phi, value in zip(carried, step(at, None, carried), strict=True):
            phi.add_incoming(value, b.block)
        at.add_incoming(following, b.block)
        b.branch(head)
        b.position_at_end(rest)
        b.cbranch(b.icmp_signed("<", at, count), tail, done)
        b.position_at_end(tail)
        lanes = ir.Constant(self.words, list(range(self.lanes)))
        left = self._spread(b, b.trunc(b.sub(count, at), I32), self.words)
        last = step(at, b.icmp_signed("<", lanes, left), carried)
        after = b.block
        b.branch(done)
        b.position_at_end(done)
        results: list[ir.Value] = []
        for phi, value in zip(carried, last, strict=True):
            merged = b.phi(self.vector)
            merged.add_incoming(phi, rest)
            merged.add_incoming(value, after)
            results.append(merged)
        return results

    def _sweep_side_by_side(
        self,
        b: ir.IRBuilder,
        count: ir.Value,
        step: Callable[[ir.Value, ir.Value | None, Sequence[ir.Value]], list[ir.Value]],
        initial: ir.Value,
    ) -> ir.Value:
        """The maximum along the row: several vectors per step first, then one."""
        stride = ir.Constant(I64, _CHAINS * self.lanes)
        entry, head, body, rest = (
            b.block,
            *(b.append_basic_block(name) for name in ("blocks", "blocks.body", "blocks.done")),
        )
        b.branch(head)
        b.position_at_end(head)
        at = b.phi(I64)
        at.add_incoming(ir.Constant(I64, 0), entry)
        chains = [b.phi(self.vector) for _ in range(_CHAINS)]
        for phi in chains:
            phi.add_incoming(initial, entry)
        following = b.add(at, stride)
        b.cbranch(b.icmp_signed("<=", following, count), body, rest)
        b.position_at_end(body)
        for i, phi in enumerate(chains):
            (value,) = step(b.add(at, ir.Constant(I64, i * self.lanes)), None, [phi])
            phi.add_incoming(value, b.block)
        at.add_incoming(following, b.block)
        b.branch(head)
        b.position_at_end(rest)
        merged: ir.Value = chains[0]
        for phi in chains[1:]:
            merged = self._larger(b, phi, merged)
        (result,) = self._sweep(b, count, step, [merged], at)
        return result

    # Vectors

    def _splat(self, value: float) -> ir.Constant:
        return ir.Constant(self.vector, [float(value)] * self.lanes)

    def _spread(self, b: ir.IRBuilder, scalar: ir.Value, vector: ir.Type | None = None) -> ir.Value:
        undefined = ir.Constant(vector or self.vector, ir.Undefined)
        zeros = ir.Constant(self.words, None)
        return b.shuffle_vector(b.insert_element(undefined, scalar, ir.Constant(I32, 0)), undefined, zeros)

    def _larger(self, b: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
        """The larger one, `y` where `x` is NaN: one instruction."""
        return b.select(b.fcmp_ordered(">", x, y), x, y)

    def _load(
        self, b: ir.IRBuilder, base: ir.Value, at: ir.Value, live: ir.Value | None, other: ir.Value
    ) -> ir.Value:
        pointer = b.gep(base, [at], source_etype=F32)
        if live is None:
            return b.load(pointer, align=4, typ=self.vector)
        return self._masked_load(b, pointer, live, other, 4, f"v{self.lanes}f32")

    def _masked_load(
        self, b: ir.IRBuilder, pointer: ir.Value, live: ir.Value, other: ir.Value, align: int, suffix: str
    ) -> ir.Value:
        load = intrinsic(
            self.module, f"llvm.masked.load.{suffix}.p0", other.type, [PTR, I32, self.bits, other.type]
        )
        return b.call(load, [pointer, ir.Constant(I32, align), live, other])

    def _truth(self, b: ir.IRBuilder, base: ir.Value, at: ir.Value, live: ir.Value | None) -> ir.Value:
        pointer = b.gep(base, [at], source_etype=I8)
        vector = ir.VectorType(I8, self.lanes)
        zero = ir.Constant(vector, None)
        if live is None:
            value = b.load(pointer, align=1, typ=vector)
        else:
            value = self._masked_load(b, pointer, live, zero, 1, f"v{self.lanes}i8")
        return b.icmp_unsigned("!=", value, zero)

    def _store(
        self, b: ir.IRBuilder, value: ir.Value, base: ir.Value, at: ir.Value, live: ir.Value | None
    ) -> None:
        pointer = b.gep(base, [at], source_etype=F32)
        if live is None:
            b.store(value, pointer, align=4)
            return
        store = intrinsic(
            self.module,
            f"llvm.masked.store.v{self.lanes}f32.p0",
            ir.VoidType(),
            [self.vector, PTR, I32, self.bits],
        )
        b.call(store, [value, pointer, ir.Constant(I32, 4), live])

    def _fma(self, b: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        if not self.target.has_fma:
            return b.fadd(b.fmul(x, y), z)
        fma = intrinsic(self.module, f"llvm.fma.v{self.lanes}f32", self.vector, [self.vector] * 3)
        return b.call(fma, [x, y, z])

    def _exp(self, b: ir.IRBuilder, x: ir.Value) -> ir.Value:
        """e**x for x at most a little above 0, as `expand_math` computes it."""
        low = self._splat(-105.0)
        x = b.select(b.fcmp_ordered("<", x, low), low, x)
        shifted = self._fma(b, x, self._splat(LOG2_E), self._splat(ROUNDER))
        n = b.fsub(shifted, self._splat(ROUNDER))
        r = self._fma(b, n, self._splat(-LN2_LOW), self._fma(b, n, self._splat(-LN2_HIGH), x))
        value: ir.Value = self._splat(EXP_POLYNOMIAL[-1])
        for coefficient in reversed(EXP_POLYNOMIAL[:-1]):
            value = self._fma(b, value, r, self._splat(coefficient))
        if self.lanes == 16 and self.target.is_x86 and self.target.has("avx512f"):
            types = [self.vector, self.vector, self.vector, I16, I32]
            scale = intrinsic(self.module, "llvm.x86.avx512.mask.scalef.ps.512", self.vector, types)
            all_lanes, nearest = ir.Constant(I16, -1), ir.Constant(I32, 4)
            return b.call(scale, [value, n, self._splat(0.0), all_lanes, nearest])
        exponent = b.shl(b.bitcast(shifted, self.words), ir.Constant(self.words, [23] * self.lanes))
        power = b.add(exponent, ir.Constant(self.words, [(127 + 64) << 23] * self.lanes))
        return b.fmul(b.fmul(value, b.bitcast(power, self.vector)), self._splat(2.0**-64))
