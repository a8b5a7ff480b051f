"""The native loop that walks a plan: one call from Python runs any number of kernels.

`int64_t run(int64_t *table, int64_t *starts, int64_t begin, int64_t end)` runs, for each record r in
[begin, end), the kernel whose address is `table[starts[r]]` on the words behind the record's header, and
returns `end`. A record costs 4 ns beyond its kernel (3.9 measured on a Zen 5 core). `team_run` does the same
with the threads of a team, see `team_code.py`; `loop` runs them again and again, see `loop_code.py`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING

from onnxloom.lowering.kernel_library import KernelLibrary, LinkError, load_library
from onnxloom.lowering.plan.record import ALL_TASKS, HEADER
from onnxloom.lowering.runtime.team import TeamFunctions
from onnxloom.lowering.team_code import SYMBOLS, add_team

if TYPE_CHECKING:
    from llvmlite import ir

    from onnxloom.lowering.cache import KernelCache
    from onnxloom.lowering.cpu_target import CpuTarget

_SYMBOL = "loom_run"
_LOOP_SYMBOL = "loom_loop"
_CACHE_NAMES = ("executor", "team")  # the environment part of their keys covers this file
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_POINTER, _WORD = ctypes.c_void_p, ctypes.c_int64
_LOOP = ctypes.CFUNCTYPE(_WORD, _POINTER, _POINTER, _WORD, _POINTER, _WORD, _WORD)


class Executor:
    """Runs stretches of a plan; the GIL is released meanwhile."""

    def __init__(self, library: KernelLibrary, team: KernelLibrary | None = None):
        self.library = library
        """Holds the machine code; its `objects` can be stored beside a plan."""
        run = _RUN(library.address("run"))
        setattr(run, "library", library)  # noqa: B010  (whoever holds the function holds its code)
        # Found there by those who run loops, who have the function only.
        setattr(run, "loop", _LOOP(library.address("loop")))  # noqa: B010
        self.run: Callable[[int, int, int, int], int] = run
        """`run(table address, starts address, begin, end) -> end`."""
        self.team = None if team is None else TeamFunctions({n: team.address(n) for n in SYMBOLS}, team)
        """What a team of threads runs; None where the platform lacks what it takes."""

    @property
    def objects(self) -> list[bytes]:
        """Object code for `from_objects`."""
        return [*self.library.objects, *([] if self.team is None else self.team.library.objects)]

    @staticmethod
    def from_objects(objects: list[bytes]) -> Executor:
        """The executor of an earlier process (`executor.objects`)."""
        library = load_library(objects[:1], {"run": _SYMBOL, "loop": _LOOP_SYMBOL})
        try:
            team = load_library(objects[1:2], SYMBOLS) if len(objects) > 1 else None
        except LinkError:
            team = None  # no POSIX threads
        return Executor(library, team)


def load_executor(cache: KernelCache | None = None, target: CpuTarget | None = None) -> Executor:
    """The executor for `target` (this processor if None), compiled only when `cache` does not have it."""
    stored = {} if cache is None else cache.find(list(_CACHE_NAMES))
    if all(name in stored for name in _CACHE_NAMES):
        try:
            return Executor.from_objects([stored[name] for name in _CACHE_NAMES])
        except LinkError:
            pass
    from onnxloom.lowering.cpu_target import CpuTarget
    from onnxloom.lowering.object_code import compile_object

    processor = target or CpuTarget.host()
    run = compile_object([_SYMBOL, _LOOP_SYMBOL], add_run, processor)
    team = compile_object(list(SYMBOLS.values()), lambda m: add_team(m, processor.triple), processor)
    if cache is not None:
        for name, data in zip(_CACHE_NAMES, (run, team), strict=True):
            cache.store([name], data)
    return Executor.from_objects([run, team])


def add_run(module: ir.Module) -> None:
    """Adds `run` and `loop` to an LLVM module."""
    from llvmlite import ir

    from onnxloom.lowering.loop_code import add_loop

    word = ir.IntType(64)
    pointer = word.as_pointer()
    function = ir.Function(module, ir.FunctionType(word, [pointer, pointer, word, word]), _SYMBOL)
    table, starts, begin, end = function.args
    entry, header, body, done = (
        function.append_basic_block(name) for name in ("entry", "next", "call", "done")
    )
    b = ir.IRBuilder(entry)
    b.branch(header)
    b.position_at_end(header)
    number = b.phi(word)
    number.add_incoming(begin, entry)
    b.cbranch(b.icmp_signed("<", number, end), body, done)
    b.position_at_end(body)
    record = b.gep(table, [b.load(b.gep(starts, [number]))])
    kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
    words = b.gep(record, [ir.Constant(word, HEADER)])
    zero, last = ir.Constant(word, 0), ir.Constant(word, ALL_TASKS)
    b.call(b.inttoptr(b.load(record), kind.as_pointer()), [words, zero, last, zero])
    number.add_incoming(b.add(number, ir.Constant(word, 1)), body)
    b.branch(header)
    b.position_at_end(done)
    b.ret(end)
    add_loop(module, function, _LOOP_SYMBOL)
