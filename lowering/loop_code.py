"""The native form of a loop: iterations that run the same records on moving addresses.

`int64_t loop(int64_t *table, int64_t *starts, int64_t records, int64_t *moves, int64_t begin, int64_t end)`
runs iterations [begin, end). Each puts addresses into the table, runs all records, looks at the statuses that
kernels left, copies what has to be elsewhere, and asks whether to go on. It returns the number of the
iteration to run next, times four, plus why it stopped: `AT_END`, `CONDITION_FALSE` or `CHECK_FAILED`.

A place that moves is three words, `even, odd, stride`: in iteration i its address is `even + i * stride`
where i is even, else `odd + i * stride`. `moves` begins with a header: address of the iteration number
(0 if nothing reads it), the place of the condition (three words; address 0 if there is none), and the numbers
of addresses, statuses and copies. They follow: each address is the word of the table and its place, each
status the address of its first word, each copy the place to read, the place to write, and a number of bytes.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from llvmlite import ir

HEADER_WORDS: Final = 7
ADDRESS_WORDS: Final = 4
COPY_WORDS: Final = 7

AT_END: Final = 0
CONDITION_FALSE: Final = 1
CHECK_FAILED: Final = 2
REASON_BITS: Final = 2


def add_loop(module: ir.Module, run: ir.Function, symbol: str) -> None:
    """Adds `loop`, which runs records with `run`, to an LLVM module."""
    from llvmlite import ir

    word = ir.IntType(64)
    pointer = word.as_pointer()
    function = ir.Function(
        module, ir.FunctionType(word, [pointer, pointer, word, pointer, word, word]), symbol
    )
    _Writer(function, run).write()


class _Writer:
    def __init__(self, function: Any, run: Any) -> None:
        from llvmlite import ir

        self.ir: Any = ir  # llvmlite says little of the types of what its builders make
        self.function, self.run_records = function, run
        self.word = ir.IntType(64)
        self.byte = ir.IntType(8)
        self.b = ir.IRBuilder(function.append_basic_block("entry"))

    def write(self) -> None:
        b, word = self.b, self.word
        table, starts, records, moves, begin, end = self.function.args
        self.moves = moves
        counter, addresses, statuses, copies = (self.load(self.const(i)) for i in (0, 4, 5, 6))
        first_status = b.add(self.const(HEADER_WORDS), b.mul(addresses, self.const(ADDRESS_WORDS)))
        first_copy = b.add(first_status, statuses)
        has_condition = b.icmp_signed("!=", self.load(self.const(1)), self.const(0))
        has_counter = b.icmp_signed("!=", counter, self.const(0))
        with self.counted(begin, end) as iteration:
            self.odd = b.trunc(iteration, self.ir.IntType(1))
            self.iteration = iteration
            with self.counted(self.const(0), addresses) as number:
                at = b.add(self.const(HEADER_WORDS), b.mul(number, self.const(ADDRESS_WORDS)))
                target = b.gep(table, [self.load(at)])
                b.store(self.place(b.add(at, self.const(1))), target)
            with b.if_then(has_counter):
                b.store(iteration, b.inttoptr(counter, word.as_pointer()))
            b.call(self.run_records, [table, starts, self.const(0), records])
            with self.counted(self.const(0), statuses) as number:
                status = b.inttoptr(self.load(b.add(first_status, number)), word.as_pointer())
                with b.if_then(b.icmp_signed("!=", b.load(status), self.const(0))):
                    self.leave(iteration, CHECK_FAILED)
            with self.counted(self.const(0), copies) as number:
                self.copy(b.add(first_copy, b.mul(number, self.const(COPY_WORDS))))
            with b.if_then(has_condition):
                value = b.load(b.inttoptr(self.place(self.const(1)), self.byte.as_pointer()))
                with b.if_then(b.icmp_signed("==", value, self.ir.Constant(self.byte, 0))):
                    self.leave(b.add(iteration, self.const(1)), CONDITION_FALSE)
        b.ret(b.shl(b.select(b.icmp_signed(">", end, begin), end, begin), self.const(REASON_BITS)))

    def const(self, value: int) -> Any:
        return self.ir.Constant(self.word, value)

    def load(self, at: Any) -> Any:
        """A word of `moves`."""
        return self.b.load(self.b.gep(self.moves, [at]))

    def place(self, at: Any) -> Any:
        """The address that the three words at `at` mean in this iteration."""
        b = self.b
        even, odd, stride = (self.load(b.add(at, self.const(i))) for i in range(3))
        return b.add(b.select(self.odd, odd, even), b.mul(self.iteration, stride))

    def leave(self, iteration: Any, reason: int) -> None:
        self.b.ret(self.b.or_(self.b.shl(iteration, self.const(REASON_BITS)), self.const(reason)))
        # What follows in this block is never reached, but a block goes on until its scope ends.
        self.b.position_at_end(self.function.append_basic_block("never"))

    def copy(self, at: Any) -> None:
        b = self.b
        source, target = (
            b.inttoptr(self.place(place), self.byte.as_pointer()) for place in (at, b.add(at, self.const(3)))
        )
        with self.counted(self.const(0), self.load(b.add(at, self.const(6)))) as number:
            b.store(b.load(b.gep(source, [number])), b.gep(target, [number]))

    @contextmanager
    def counted(self, begin: Any, end: Any) -> Generator[Any]:
        """A loop over the numbers from `begin` to `end`."""
        b = self.b
        entry = b.block
        header, body, done = (self.function.append_basic_block(n) for n in ("next", "body", "done"))
        b.branch(header)
        b.position_at_end(header)
        number = b.phi(self.word)
        number.add_incoming(begin, entry)
        b.cbranch(b.icmp_signed("<", number, end), body, done)
        b.position_at_end(body)
        yield number
        number.add_incoming(b.add(number, self.const(1)), b.block)
        b.branch(header)
        b.position_at_end(done)
