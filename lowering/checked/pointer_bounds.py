"""Which buffer does a pointer lie in? Bounds follow pointers through the instructions that compute them.

The bounds of a buffer are four words in memory (see `fault`). What has a pointer has the address of its
bounds: an address computed from another one has that one's, a choice between pointers is a choice between
bounds, and a function takes the bounds of each pointer it is given as one more argument.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.ir import instructions

from onnxloom.errors import PassError
from onnxloom.lowering.checked import fault
from onnxloom.lowering.checked.check_functions import PTR, c64, word

I8, I64 = ir.IntType(8), ir.IntType(64)


def is_pointer(value: Any) -> bool:
    """Whether a value is an address."""
    return isinstance(value.type, ir.PointerType)


def add_bounds_arguments(function: ir.Function) -> None:
    """Gives a function an argument more for each pointer it takes."""
    count = sum(map(is_pointer, function.args))
    old = function.ftype
    function.ftype = ir.FunctionType(old.return_type, [*old.args, *[PTR] * count])
    function.type = function.ftype.as_pointer()
    function.args = (*function.args, *(ir.Argument(function, PTR) for _ in range(count)))


class PointerBounds:
    """The bounds of the pointers in one function, which has arguments for those it is given."""

    def __init__(self, function: ir.Function):
        self.function = function
        given = [a for a in function.args if is_pointer(a)]
        half = len(given) // 2
        self._bounds: dict[int, ir.Value] = dict(zip(map(id, given[:half]), given[half:], strict=True))
        self._given = given[half:]
        self._scratch = 0
        self._keep: list[ir.Value] = []

    def of(self, pointer: Any) -> ir.Value:
        """The address of the bounds of `pointer`.

        Raises:
            PassError: it comes from somewhere that bounds are not known of.
        """
        found = self._bounds.get(id(pointer))
        if found is not None:
            return found
        chain = [pointer]
        while isinstance(chain[-1], instructions.GEPInstr | instructions.CastInstr):
            chain.append(chain[-1].operands[0])
        bounds = self._bounds.get(id(chain[-1])) or self._of_origin(chain[-1])
        for value in chain:
            self._bounds[id(value)] = bounds
        return bounds

    def _of_origin(self, pointer: Any) -> ir.Value:
        match pointer:
            case instructions.AllocaInstr():
                return self._of_scratch(pointer)
            case instructions.SelectInstr():
                sides = [self.of(v) for v in pointer.operands[1:]]
                b = ir.IRBuilder()
                b.position_after(pointer)
                return b.select(pointer.operands[0], *sides)
            case instructions.PhiInstr():
                return self._of_phi(pointer)
            case _:
                raise PassError(f"checked kernels: nothing tells which buffer {pointer} lies in")

    def _of_phi(self, pointer: Any) -> ir.Value:
        b = ir.IRBuilder()
        b.position_before(pointer)
        bounds = b.phi(PTR)
        self._bounds[id(pointer)] = bounds  # what comes in may be computed from it
        for value, block in pointer.incomings:
            bounds.add_incoming(self.of(value), block)
        return bounds

    def _of_scratch(self, memory: Any) -> ir.Value:
        """Bounds of memory in the kernel's frame. They are written where it is allocated, and so is it."""
        if not self._given:
            raise PassError("checked kernels: a function without buffers has scratch memory")
        self._scratch += 1
        size = memory_bytes(memory.allocated_type)
        b = ir.IRBuilder()
        b.position_after(memory)
        bounds = b.alloca(I64, 4)
        record = b.load(word(b, self._given[0], fault.RECORD), typ=I64)
        write_bounds(b, bounds, b.ptrtoint(memory, I64), c64(size), c64(-self._scratch), record)
        name, types = "llvm.memset.p0.i64", [PTR, I8, I64, ir.IntType(1)]
        fill = self.function.module.globals.get(name)
        if fill is None:
            fill = ir.Function(self.function.module, ir.FunctionType(ir.VoidType(), types), name)
        byte = b.trunc(b.load(word(b, b.inttoptr(record, PTR), fault.FILL), typ=I64), I8)
        b.call(fill, [b.bitcast(memory, PTR), byte, c64(size), ir.Constant(types[3], 0)])
        return bounds


def write_bounds(b: ir.IRBuilder, bounds: ir.Value, *words: ir.Value) -> None:
    """Fills in address, bytes, number and address of the fault words."""
    for at, value in enumerate(words):
        b.store(value, word(b, bounds, at))


def memory_bytes(kind: Any) -> int:
    """The bytes that a value of LLVM type `kind` takes in memory."""
    if isinstance(kind, ir.VectorType | ir.ArrayType):
        if isinstance(kind, ir.VectorType) and isinstance(kind.element, ir.IntType):
            return -(-kind.count * kind.element.width // 8)  # lanes of less than a byte are packed
        return kind.count * memory_bytes(kind.element)
    if isinstance(kind, ir.IntType):
        return -(-kind.width // 8)
    if isinstance(kind, ir.DoubleType | ir.PointerType):
        return 8
    return 4 if isinstance(kind, ir.FloatType) else 2
