"""What does the code of a check do? It gives the address to use: the one asked for, or memory of nobody's."""

from __future__ import annotations

from llvmlite import ir

from onnxloom.lowering.checked import fault

I1, I8, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(64)
PTR = ir.PointerType()

SINK_BYTES = 1024
"""At least as long as what one instruction touches."""


def c64(value: int) -> ir.Constant:
    """An i64 constant."""
    return ir.Constant(I64, value)


def word(b: ir.IRBuilder, words: ir.Value, number: int) -> ir.Value:
    """The address of a word."""
    return b.gep(words, [c64(number)], source_etype=I64)


class CheckFunctions:
    """The functions that checks call, made in one module when first needed."""

    def __init__(self, module: ir.Module):
        self.module = module

    def plain(self) -> ir.Function:
        """`ptr(ptr, bytes, alignment, bounds, site)`: an access to `bytes` bytes."""
        name = "loom.check"
        found = self.module.globals.get(name)
        if found is not None:
            return found
        function, b = self._function(name, [PTR, I64, I64, PTR, PTR], PTR)
        function.attributes.add("alwaysinline")
        pointer, nbytes, alignment, bounds, site = function.args
        b.ret(self._checked(b, pointer, (c64(0), nbytes), alignment, bounds, site))
        return function

    def masked(self) -> ir.Function:
        """`ptr(ptr, lanes, bytes per lane, alignment, bounds, site)`: an access to the lanes that are set."""
        name = "loom.check_masked"
        found = self.module.globals.get(name)
        if found is not None:
            return found
        function, b = self._function(name, [PTR, I64, I64, I64, PTR, PTR], PTR)
        function.attributes.add("alwaysinline")
        pointer, lanes, width, alignment, bounds, site = function.args
        none = b.icmp_unsigned("==", lanes, c64(0))
        some = b.select(none, c64(1), lanes)
        first = self._zeros(b, "cttz", some)
        last = b.sub(c64(63), self._zeros(b, "ctlz", some))
        count = b.select(none, c64(0), b.add(b.sub(last, first), c64(1)))
        start = b.select(none, c64(0), first)
        span = b.mul(start, width), b.mul(count, width)
        b.ret(self._checked(b, pointer, span, alignment, bounds, site, none))
        return function

    def _checked(
        self,
        b: ir.IRBuilder,
        pointer: ir.Value,
        span: tuple[ir.Value, ir.Value],
        alignment: ir.Value,
        bounds: ir.Value,
        site: ir.Value,
        allowed: ir.Value | None = None,
    ) -> ir.Value:
        """`pointer` if it may be used for `span` (first byte, number of bytes)."""
        first, nbytes = span
        address = b.ptrtoint(pointer, I64)
        base, size = (b.load(word(b, bounds, n), typ=I64) for n in (fault.BASE, fault.SIZE))
        offset = b.sub(b.add(address, first), base)
        begins = b.icmp_unsigned("<=", offset, size)
        ends = b.icmp_unsigned("<=", nbytes, b.sub(size, offset))
        inside = b.and_(begins, ends)
        if allowed is not None:
            inside = b.or_(inside, allowed)
        rest = b.and_(address, b.sub(alignment, c64(1)))
        aligned = b.icmp_unsigned("==", rest, c64(0))
        before = b.block
        good, bad = b.append_basic_block("good"), b.append_basic_block("bad")
        b.cbranch(b.and_(inside, aligned), good, bad)
        b.position_at_end(bad)
        wrong = b.select(inside, alignment, c64(0))
        sink = b.call(self._fail(), [bounds, offset, nbytes, wrong, site])
        b.branch(good)
        b.position_at_end(good)
        result = b.phi(PTR)
        result.add_incoming(pointer, before)
        result.add_incoming(sink, bad)
        return result

    def _fail(self) -> ir.Function:
        """`ptr(bounds, offset, bytes, alignment, site)`: writes the fault down; gives memory of nobody's."""
        name = "loom.fault"
        found = self.module.globals.get(name)
        if found is not None:
            return found
        function, b = self._function(name, [PTR, I64, I64, I64, PTR], PTR)
        function.attributes.add("noinline")
        function.attributes.add("cold")
        bounds, offset, nbytes, alignment, site = function.args
        number, size, record = (
            b.load(word(b, bounds, n), typ=I64) for n in (fault.NUMBER, fault.SIZE, fault.RECORD)
        )
        words = b.inttoptr(record, PTR)
        taken = b.cmpxchg(words, c64(0), c64(1), "acq_rel", "acquire")
        with b.if_then(b.extract_value(taken, 1)):
            rows = {
                fault.BUFFER: number,
                fault.OFFSET: offset,
                fault.BYTES: nbytes,
                fault.EXTENT: size,
                fault.ALIGNMENT: alignment,
                fault.SITE: b.ptrtoint(site, I64),
            }
            for at, value in rows.items():
                b.store(value, word(b, words, at))
        b.ret(self._sink())
        return function

    def _sink(self) -> ir.Value:
        name = "loom.sink"
        found = self.module.globals.get(name)
        if found is None:
            found = ir.GlobalVariable(self.module, ir.ArrayType(I8, SINK_BYTES), name)
            found.linkage = "internal"
            found.align = 128
            found.initializer = ir.Constant(found.value_type, None)
        return found.bitcast(PTR)

    def site(self, text: str) -> ir.Value:
        """The address of a text."""
        data = bytearray(text.encode() + b"\0")
        name = f"loom.site.{text}"
        found = self.module.globals.get(name)
        if found is None:
            found = ir.GlobalVariable(self.module, ir.ArrayType(I8, len(data)), name)
            found.linkage = "internal"
            found.global_constant = True
            found.initializer = ir.Constant(found.value_type, data)
        return found.bitcast(PTR)

    def _function(self, name: str, types: list[ir.Type], result: ir.Type) -> tuple[ir.Function, ir.IRBuilder]:
        function = ir.Function(self.module, ir.FunctionType(result, types), name)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        return function, ir.IRBuilder(function.append_basic_block("entry"))

    def _zeros(self, b: ir.IRBuilder, name: str, value: ir.Value) -> ir.Value:
        signature = ir.FunctionType(I64, [I64, I1])
        intrinsic = self.module.declare_intrinsic(f"llvm.{name}", [I64], signature)
        return b.call(intrinsic, [value, ir.Constant(I1, 1)])
