"""LLVM form of a loop over lanes: all iterations at once, one vector per value.

The iterations of a loop marked `loom.lanes` do not depend on each other. Values that differ between them
become vectors, all others stay scalars; loops and branches inside run once for all lanes, which is why
accumulators stay in registers over any loop nest. An op without a vector form is computed lane by lane;
a body whose control flow differs between lanes is an ordinary loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from llvmlite import ir
from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from onnxloom.lowering.constants import int_constant
from onnxloom.lowering.emit_llvm.arith_ops import FLOAT_PREDICATES, INT_PREDICATES, float_flags
from onnxloom.lowering.emit_llvm.conversions import narrow_lanes, widen_lanes
from onnxloom.lowering.emit_llvm.function import FunctionEmitter, is_index
from onnxloom.lowering.emit_llvm.lane_forms import BINARY, CASTS, EXTREMES, INT_EXTREMES, INTRINSICS
from onnxloom.lowering.emit_llvm.lane_offsets import Offsets, combined
from onnxloom.lowering.emit_llvm.metadata import mark_access
from onnxloom.lowering.emit_llvm.splats import in_all_lanes
from onnxloom.lowering.emit_llvm.types import F32, F64, I64, memory_alignment, memory_type, value_type
from onnxloom.lowering.emit_llvm.varying import varying_from, varying_values
from onnxloom.lowering.small_floats import small_float

I32 = ir.IntType(32)


def emit_lanes(f: FunctionEmitter, op: scf.ForOp) -> bool:
    """Emits the loop as vector code; False, with nothing emitted, where only a loop will do."""
    count = int_constant(op.ub)
    if count is None or count < 1 or int_constant(op.lb) != 0 or int_constant(op.step) != 1 or op.iter_args:
        return False
    lane = op.body.block.args[0]
    varying = varying_values(op.body.block, lane)
    if varying is None:
        return False
    lanes = _Lanes(f, count, varying)
    lanes.offsets[lane] = (None, tuple(range(count)))
    lanes.block(op.body.block)
    return True


def emit_on_vectors(f: FunctionEmitter, block: Block, values: Sequence[ir.Value], lanes: int) -> ir.Value:
    """The value that the terminator of `block` gives, given a vector for each of its arguments.

    The block holds scalar ops without control flow.
    """
    for argument, value in zip(block.args, values, strict=True):
        f[argument] = value
    (result,) = (emitter := _Lanes(f, lanes, varying_from(block))).block(block)
    return emitter.vector(result)


class _Lanes:
    """Emits the body of one loop."""

    def __init__(self, f: FunctionEmitter, count: int, varying: set[SSAValue]):
        self.f, self.b, self.count, self.varying = f, f.builder, count, varying
        self.offsets: dict[SSAValue, Offsets] = {}
        """The varying values of type index whose lanes are known up to a shared number."""

    def block(self, block: Block) -> Sequence[SSAValue]:
        """Emits all ops but the terminator, whose operands are returned."""
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is not last:
                self._op(op)
        return last.operands

    def _op(self, op: Operation) -> None:
        special = _SPECIAL.get(type(op))
        if special is not None:
            special(self, op)
        elif not any(v in self.varying for v in op.operands):
            self.f.op(op)
        elif not self._index(op):
            value = self._vector_form(op)
            if value is None:
                self._by_lane(op)
            else:
                self.f[op.results[0]] = value

    # Values

    def vector_type(self, attribute: Attribute) -> ir.VectorType:
        """One value of a scalar type per lane."""
        return ir.VectorType(value_type(attribute), self.count)

    def splat(self, scalar: ir.Value) -> ir.Value:
        """The same value in all lanes."""
        return in_all_lanes(self.b, scalar, self.count)

    def vector(self, value: SSAValue) -> ir.Value:
        """A value with one entry per lane."""
        if value not in self.varying:
            return self.splat(self.f[value])
        known = self.offsets.get(value)
        if known is None:
            return self.f[value]
        base, steps = known
        numbers = ir.Constant(ir.VectorType(I64, self.count), list(steps))
        return numbers if base is None else self.b.add(self.splat(base), numbers)

    def lane(self, value: SSAValue, lane: int) -> ir.Value:
        """The value in one lane."""
        if value not in self.varying:
            return self.f[value]
        known = self.offsets.get(value)
        if known is None:
            return self.b.extract_element(self.f[value], ir.Constant(I32, lane))
        base, steps = known
        step = ir.Constant(I64, steps[lane])
        return step if base is None else self.b.add(base, step, flags=("nsw",))

    def _known(self, value: SSAValue) -> Offsets | None:
        if value in self.varying:
            return self.offsets.get(value)
        number = int_constant(value)
        if number is not None:
            return None, (number,) * self.count
        return self.f[value], (0,) * self.count

    def _index(self, op: Operation) -> bool:
        """Index arithmetic on numbers that are known up to a shared one."""
        if len(op.operands) != 2 or not is_index(op.results[0]):
            return False
        a, b = (self._known(v) for v in op.operands)
        if a is None or b is None:
            return False
        result = combined(self.b, op, a, b)
        if result is None:
            return False
        self.offsets[op.results[0]] = result
        return True

    # Arithmetic

    def _vector_form(self, op: Operation) -> ir.Value | None:
        """The result as one vector operation or a few, None where there is none."""
        b, kind = self.b, type(op)
        if isinstance(op, (arith.ExtFOp, arith.TruncFOp)):
            return self._convert(op)
        if any(small_float(v.type) is not None for v in (*op.operands, *op.results)):
            return self.select(op) if isinstance(op, arith.SelectOp) else None
        if kind in BINARY:
            flags = float_flags(op) if BINARY[kind].startswith("f") else ()
            return getattr(b, BINARY[kind])(*map(self.vector, op.operands), flags=flags)
        if kind in EXTREMES:
            return self._extreme(op, *EXTREMES[kind])
        if kind in INT_EXTREMES:
            predicate, signed = INT_EXTREMES[kind]
            x, y = map(self.vector, op.operands)
            return b.select((b.icmp_signed if signed else b.icmp_unsigned)(predicate, x, y), x, y)
        if kind in CASTS:
            return getattr(b, CASTS[kind])(self.vector(op.operands[0]), self.vector_type(op.results[0].type))
        if kind in INTRINSICS:
            return self._intrinsic(INTRINSICS[kind], op)
        if isinstance(op, math.FmaOp):
            exact = self.f.target.has_fma or value_type(op.results[0].type) == F64
            return self._intrinsic("fma", op) if exact else None
        simple = _SIMPLE.get(kind)
        return None if simple is None else simple(self, op)

    def _extreme(self, op: Operation, predicate: str, keeps_nan: bool) -> ir.Value:
        b = self.b
        x, y = map(self.vector, op.operands)
        value = b.select(b.fcmp_ordered(predicate, y, x), y, x)
        if keeps_nan:
            return b.select(b.fcmp_unordered("uno", y, y), y, value)
        return b.select(b.fcmp_unordered("uno", x, x), y, value)

    def _intrinsic(self, name: str, op: Operation) -> ir.Value:
        args = [self.vector(v) for v in op.operands]
        bits = 64 if args[0].type.element == F64 else 32
        signature = ir.FunctionType(args[0].type, [a.type for a in args])
        full = f"llvm.{name}.v{self.count}f{bits}"
        known = self.f.module.globals.get(full)
        return self.b.call(known or ir.Function(self.f.module, signature, full), args)

    def negf(self, op: Operation) -> ir.Value:
        return self.b.fneg(self.vector(op.operands[0]))

    def cmpf(self, op: Operation) -> ir.Value | None:
        row = FLOAT_PREDICATES[cast(arith.CmpfOp, op).predicate.value.data]
        if row is None:
            return None
        ordered, name = row
        compare = self.b.fcmp_ordered if ordered else self.b.fcmp_unordered
        return compare(name, *map(self.vector, op.operands))

    def cmpi(self, op: Operation) -> ir.Value:
        number = cast(arith.CmpiOp, op).predicate.value.data
        compare = self.b.icmp_unsigned if number < 2 or number > 5 else self.b.icmp_signed
        return compare(INT_PREDICATES[number], *map(self.vector, op.operands))

    def select(self, op: Operation) -> ir.Value:
        condition, a, b = op.operands
        chosen = self.vector(condition) if condition in self.varying else self.f[condition]
        return self.b.select(chosen, self.vector(a), self.vector(b))

    def _convert(self, op: Operation) -> ir.Value | None:
        """Between float types; None where only the scalar form exists."""
        source, goal = op.operands[0], op.results[0].type
        value, form = self.vector(source), small_float(source.type)
        if form is not None:
            value = widen_lanes(self.b, value, form, self.f.target)
            if value is None:
                return None
        form = small_float(goal)
        if form is not None:
            return narrow_lanes(self.b, value, form, self.f.target) if value.type.element == F32 else None
        wanted = self.vector_type(goal)
        if value.type == wanted:
            return value
        return self.b.fpext(value, wanted) if value_type(goal) == F64 else self.b.fptrunc(value, wanted)

    def index_cast(self, op: Operation) -> ir.Value:
        value, goal = self.vector(op.operands[0]), self.vector_type(op.results[0].type)
        if value.type == goal:
            return value
        narrower = goal.element.width < value.type.element.width
        return self.b.trunc(value, goal) if narrower else self.b.sext(value, goal)

    def bitcast(self, op: Operation) -> ir.Value:
        value, goal = self.vector(op.operands[0]), self.vector_type(op.results[0].type)
        return value if value.type == goal else self.b.bitcast(value, goal)

    def _by_lane(self, op: Operation) -> None:
        """The scalar form once per lane."""
        singles = {v: [self.lane(v, i) for i in range(self.count)] for v in op.operands if v in self.varying}
        vectors = {v: self.f.find(v) for v in singles}
        results: list[ir.Value] = [ir.Constant(self.vector_type(r.type), ir.Undefined) for r in op.results]
        for lane in range(self.count):
            for value, entries in singles.items():
                self.f[value] = entries[lane]
            self.f.op(op)
            for i, result in enumerate(op.results):
                results[i] = self.b.insert_element(results[i], self.f[result], ir.Constant(I32, lane))
        for value, vector in vectors.items():
            if vector is not None:
                self.f[value] = vector
        for result, vector in zip(op.results, results, strict=True):
            self.f[result] = vector

    # Memory

    def load(self, op: Operation) -> None:
        op = cast(memref.LoadOp, op)
        (index,) = op.indices
        if index not in self.varying:
            self.f.op(op)
            return
        known = self.offsets.get(index)
        value = None if known is None else self._load_known(op, *known)
        if value is None:
            self._by_lane(op)
            return
        goal = self.vector_type(op.res.type)
        self.f[op.res] = value if value.type == goal else self.b.trunc(value, goal)

    def _load_known(
        self, op: memref.LoadOp, base: ir.Value | None, steps: tuple[int, ...]
    ) -> ir.Value | None:
        """One load or two whose elements are shuffled to their lanes, None where they lie too far apart.

        What lies between two elements of a buffer can be read.
        """
        first, span = min(steps), max(steps) - min(steps) + 1
        if span == self.count and steps == tuple(range(first, first + span)):
            return self._read(op, base, first, span)
        if span <= self.count:
            vector = self._read(op, base, first, span)
            return self._shuffled(vector, vector, [step - first for step in steps])
        if span > 2 * self.count:
            return None
        second = first + span - self.count
        order = [step - first if step < first + self.count else self.count + step - second for step in steps]
        return self._shuffled(
            self._read(op, base, first, self.count), self._read(op, base, second, self.count), order
        )

    def _read(self, op: memref.LoadOp, base: ir.Value | None, first: int, count: int) -> ir.Value:
        pointer, element = self._pointer(op.memref, base, first, count)
        loaded = self.b.load(pointer, align=memory_alignment(element))
        mark_access(loaded, self.f.groups(op.memref))
        return loaded

    def _shuffled(self, a: ir.Value, b: ir.Value, order: Sequence[int]) -> ir.Value:
        return self.b.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, self.count), list(order)))

    def _pointer(
        self, buffer: SSAValue, base: ir.Value | None, first: int, count: int
    ) -> tuple[ir.Value, ir.Type]:
        """The address of `count` elements from `base + first` on, and the type of one in memory."""
        element = memory_type(cast("MemRefType[Attribute]", buffer.type).element_type)
        pointer = self.f[buffer]
        if base is not None:
            pointer = self.b.gep(pointer, [base], inbounds=True)
        if first:
            pointer = self.b.gep(pointer, [ir.Constant(I64, first)], inbounds=True)
        return self.b.bitcast(pointer, ir.VectorType(element, count).as_pointer()), element

    def store(self, op: Operation) -> None:
        op = cast(memref.StoreOp, op)
        (index,) = op.indices
        base, steps = self.offsets.get(index, (None, (0, 0)))
        if steps != tuple(range(steps[0], steps[0] + self.count)):
            self._by_lane(op)
            return
        pointer, element = self._pointer(op.memref, base, steps[0], self.count)
        value = self.vector(op.value)
        if value.type.element != element:
            value = self.b.zext(value, ir.VectorType(element, self.count))
        stored = self.b.store(value, pointer, align=memory_alignment(element))
        mark_access(stored, self.f.groups(op.memref))

    # Control flow, the same for all lanes

    def _as_phi(self, value: SSAValue, like: SSAValue) -> ir.Value:
        """A value to merge with others into `like`, a vector if that is one."""
        return self.vector(value) if like in self.varying else self.f[value]

    def _phi(self, value: SSAValue) -> ir.PhiInstr:
        vector = value in self.varying
        return self.b.phi(self.vector_type(value.type) if vector else value_type(value.type))

    def for_loop(self, op: Operation) -> None:
        op = cast(scf.ForOp, op)
        f, b = self.f, self.b
        lower, upper, step = f[op.lb], f[op.ub], f[op.step]
        index, *arguments = op.body.block.args
        initial = [self._as_phi(v, like) for v, like in zip(op.iter_args, arguments, strict=True)]
        before = b.block
        header, body, done = (f.append_block(n) for n in ("for", "for.body", "for.done"))
        b.branch(header)
        b.position_at_end(header)
        counter = b.phi(lower.type)
        counter.add_incoming(lower, before)
        f[index] = counter
        phis = [self._phi(argument) for argument in arguments]
        for argument, phi, value in zip(arguments, phis, initial, strict=True):
            phi.add_incoming(value, before)
            f[argument] = phi
        b.cbranch(b.icmp_signed("<", counter, upper), body, done)
        b.position_at_end(body)
        yields = self.block(op.body.block)
        carried = [self._as_phi(v, like) for v, like in zip(yields, arguments, strict=True)]
        counter.add_incoming(b.add(counter, step, flags=("nsw",)), b.block)
        for phi, value in zip(phis, carried, strict=True):
            phi.add_incoming(value, b.block)
        b.branch(header)
        b.position_at_end(done)
        for result, phi in zip(op.results, phis, strict=True):
            f[result] = phi

    def branch(self, op: Operation) -> None:
        op = cast(scf.IfOp, op)
        f, b = self.f, self.b
        then, otherwise, done = (f.append_block(n) for n in ("if.then", "if.else", "if.done"))
        b.cbranch(f[op.cond], then, otherwise)
        arms: list[tuple[ir.Block, list[ir.Value]]] = []
        for start, region in ((then, op.true_region), (otherwise, op.false_region)):
            b.position_at_end(start)
            yields = self.block(region.block) if region.blocks else ()
            values = [self._as_phi(v, like) for v, like in zip(yields, op.results, strict=True)]
            arms.append((b.block, values))
            b.branch(done)
        b.position_at_end(done)
        for i, result in enumerate(op.results):
            phi = self._phi(result)
            for end, values in arms:
                phi.add_incoming(values[i], end)
            f[result] = phi


_SPECIAL: dict[type[Operation], Callable[[_Lanes, Operation], None]] = {
    scf.ForOp: _Lanes.for_loop, scf.IfOp: _Lanes.branch,
    memref.LoadOp: _Lanes.load, memref.StoreOp: _Lanes.store,
}  # fmt: skip
_SIMPLE: dict[type[Operation], Callable[[_Lanes, Operation], ir.Value | None]] = {
    arith.NegfOp: _Lanes.negf, arith.CmpfOp: _Lanes.cmpf, arith.CmpiOp: _Lanes.cmpi,
    arith.SelectOp: _Lanes.select, arith.IndexCastOp: _Lanes.index_cast, arith.BitcastOp: _Lanes.bitcast,
}  # fmt: skip
