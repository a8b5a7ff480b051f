"""Which instructions of a module are checked, and how?

Loads, stores and their masked forms, in loops as in tuned tiles: the address each of them uses goes through a
check of its own (`check_functions`). What is prefetched is not touched, and is not checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from llvmlite.ir import instructions

from onnxloom.dialects.loom.kernel import KernelOp
from onnxloom.errors import PassError
from onnxloom.lowering.checked.check_functions import PTR, CheckFunctions, c64
from onnxloom.lowering.checked.pointer_bounds import (
    PointerBounds,
    add_bounds_arguments,
    is_pointer,
    memory_bytes,
    write_bounds,
)

I64 = ir.IntType(64)

_UNTOUCHED = ("llvm.prefetch.", "llvm.assume", "llvm.lifetime.")
"""Beginnings of names of functions that take addresses and touch nothing."""


@dataclass(frozen=True)
class Entry:
    """An exported kernel: its function, and what its words are."""

    function: ir.Function
    buffers: int
    sizes: int

    @staticmethod
    def of(module: ir.Module, kernel: KernelOp, symbol: str = "") -> Entry:
        """That of `kernel`, which is exported under `symbol` or under its name."""
        function = module.get_global(symbol or kernel.sym_name.data)
        return Entry(function, len(kernel.buffers), len(kernel.sizes))


def add_checks(module: ir.Module, entries: list[Entry]) -> None:
    """Checks all accesses of the kernels of a module.

    The words of a checked kernel are: buffers, sizes, bytes of each buffer, address of the fault words.

    Raises:
        PassError: an instruction uses memory in a way that there is no check for.
    """
    exported = {id(entry.function) for entry in entries}
    inner = [f for f in module.functions if f.blocks and id(f) not in exported]
    for function in inner:
        add_bounds_arguments(function)
    functions = CheckFunctions(module)
    for function in inner:
        FunctionChecks(function, functions).add()
    for entry in entries:
        _pass_bounds(entry)


def _pass_bounds(entry: Entry) -> None:
    """Has the entry give the body the bounds of the buffers."""
    calls = [i for block in entry.function.blocks for i in block.instructions if _is_call(i)]
    (call,) = calls
    words = entry.function.args[0]
    b = ir.IRBuilder()
    b.position_before(call)

    def word_at(number: int) -> ir.Value:
        return b.load(b.gep(words, [c64(number)], source_etype=I64), typ=I64)

    first = entry.buffers + entry.sizes
    record = word_at(first + entry.buffers)
    for number in range(entry.buffers):
        bounds = b.alloca(I64, 4)
        write_bounds(b, bounds, word_at(number), word_at(first + number), c64(number), record)
        call.operands.append(b.bitcast(bounds, PTR))


def _is_call(instruction: Any) -> bool:
    return isinstance(instruction, instructions.CallInstr)


class FunctionChecks:
    """Adds checks to one function."""

    def __init__(self, function: ir.Function, functions: CheckFunctions):
        self.function, self.functions = function, functions
        self.bounds = PointerBounds(function)
        name = function.name
        self.place = "the kernel's loops" if name.endswith(".body") else name

    def add(self) -> None:
        """Checks all that touches memory."""
        for block in self.function.blocks:
            for instruction in list(block.instructions):
                self._instruction(instruction)

    def _instruction(self, instruction: Any) -> None:
        match instruction:
            case instructions.LoadInstr():
                self.check_access(instruction, 0, instruction.type, "load")
            case instructions.StoreInstr():
                self.check_access(instruction, 1, instruction.operands[0].type, "store")
            case instructions.CallInstr():
                self._call(instruction)
            case instructions.GEPInstr():
                instruction.inbounds = False  # a promise that an address which fails its check breaks
            case instructions.CmpXchg() | instructions.AtomicRMW():
                raise PassError("checked kernels: no check for an atomic access")
            case _:
                if instruction.opname in ("add", "sub", "mul", "shl") and "nsw" in instruction.flags:
                    instruction.flags.remove("nsw")

    def check_access(self, instruction: Any, position: int, kind: Any, verb: str) -> None:
        """Checks a load or store of an LLVM type `kind`, whose address is this operand."""
        operands = list(instruction.operands)
        pointer = operands[position]
        nbytes = memory_bytes(kind)
        alignment = instruction.align or _natural(nbytes)
        site = self._site(verb, kind)
        bounds = self.bounds.of(pointer)
        b = ir.IRBuilder()
        b.position_before(instruction)
        args = [b.bitcast(pointer, PTR), c64(nbytes), c64(alignment), bounds, site]
        operands[position] = b.bitcast(b.call(self.functions.plain(), args), pointer.type)
        instruction.operands = operands

    def _call(self, call: Any) -> None:
        name = call.callee.name
        if name.startswith("llvm.masked.load."):
            self._masked(call, 0, 2, call.type, "masked load")
        elif name.startswith("llvm.masked.store."):
            self._masked(call, 1, 3, call.args[0].type, "masked store")
        elif call.callee.blocks:
            call.operands = [*call.operands, *(self.bounds.of(a) for a in call.args if is_pointer(a))]
        elif any(map(is_pointer, call.args)) and not name.startswith(_UNTOUCHED):
            raise PassError(f"checked kernels: no check for what {name} touches")

    def _masked(self, call: Any, position: int, mask_at: int, kind: Any, verb: str) -> None:
        pointer, alignment, mask = (call.args[n] for n in (position, position + 1, mask_at))
        bounds = self.bounds.of(pointer)
        b = ir.IRBuilder()
        b.position_before(call)
        lanes = b.bitcast(mask, ir.IntType(mask.type.count))
        lanes = lanes if mask.type.count == 64 else b.zext(lanes, I64)
        args = [pointer, lanes, c64(memory_bytes(kind.element)), c64(alignment.constant), bounds]
        checked = b.call(self.functions.masked(), [*args, self._site(verb, kind)])
        operands = list(call.operands)
        operands[1 + position] = checked
        call.operands = operands

    def _site(self, verb: str, kind: Any) -> ir.Value:
        return self.functions.site(f"{verb} of {str(kind).strip('<>')} in {self.place}")


def _natural(nbytes: int) -> int:
    """The alignment an access claims that names none."""
    return 1 << max(nbytes - 1, 0).bit_length()
