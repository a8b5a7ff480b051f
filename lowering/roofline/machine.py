"""What can this machine do at most? FMAs of one core, and bytes it moves by how large the data is."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from onnxloom.lowering.cpu_target import CpuTarget

if TYPE_CHECKING:
    from llvmlite import ir

CHAINS: Final = 12
"""Independent accumulators: enough to hide the latency of two FMA units."""

FOOTPRINTS: Final = (1 << 17, 1 << 19, 1 << 22, 1 << 26)
"""Bytes read and written at which bandwidth is measured: in the caches, and in memory."""

ASSUMED_GHZ: Final = 3.0
ASSUMED_BANDWIDTHS: Final = (100e9, 60e9, 30e9, 15e9)

_SYMBOL: Final = "loom_fma_chains"
_STEPS: Final = 200_000


@dataclass(frozen=True)
class Machine:
    """Limits of one core."""

    flops: float
    """Operations per second of f32 FMAs, each of them two."""
    bandwidths: tuple[tuple[int, float], ...]
    """Footprint, and bytes per second read and written at that footprint; ascending."""
    is_measured: bool

    def bandwidth(self, footprint: float) -> float:
        """Bytes per second that move when `footprint` bytes are gone through again and again."""
        for size, found in self.bandwidths:
            if footprint <= size:
                return found
        return self.bandwidths[-1][1]

    def seconds(
        self, operations: float, streams: tuple[tuple[float, float], ...], itemsize: int = 4
    ) -> float:
        """The least time for so many operations on elements of `itemsize` and streams (bytes, footprint)."""
        moving = sum(nbytes / self.bandwidth(footprint) for nbytes, footprint in streams)
        return max(operations / (self.flops * 4 / max(itemsize, 4)), moving)


def assumed_machine() -> Machine:
    """Limits of a processor of this one's vectors, at a usual clock and with usual memory."""
    lanes = CpuTarget.host().tiles.vector_bytes // 4
    bandwidths = tuple(zip(FOOTPRINTS, ASSUMED_BANDWIDTHS, strict=True))
    return Machine(lanes * 2 * 2 * ASSUMED_GHZ * 1e9, bandwidths, is_measured=False)


def measure_machine(rounds: int = 15) -> Machine:
    """Takes about half a second."""
    return Machine(
        fma_peak(rounds), tuple((size, copy_bandwidth(size, rounds)) for size in FOOTPRINTS), is_measured=True
    )


def fma_peak(rounds: int = 15) -> float:
    """Operations per second of independent vector FMAs (f32) on one core."""
    from onnxloom.lowering.kernel_library import load_library
    from onnxloom.lowering.object_code import compile_object

    lanes = CpuTarget.host().tiles.vector_bytes // 4
    library = load_library(
        [compile_object([_SYMBOL], lambda module: _add_chains(module, lanes))], {"run": _SYMBOL}
    )
    run = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)(library.address("run"))
    return _STEPS * CHAINS * lanes * 2 / _median_seconds(lambda: run(_STEPS), rounds)


def copy_bandwidth(footprint: int, rounds: int = 15) -> float:
    """Bytes per second read and written by a copy, or by a multiplication if that is faster."""
    source, target = (np.ones(max(1, footprint // 8), np.float32) for _ in range(2))
    repeats = max(1, (1 << 24) // max(footprint, 1))

    def repeated(call: Callable[[], object]) -> float:
        def several() -> None:
            for _ in range(repeats):
                call()

        return _median_seconds(several, rounds)

    seconds = min(
        repeated(lambda: np.copyto(target, source)),
        repeated(lambda: np.multiply(source, np.float32(1.5), out=target)),
    )
    return 2 * source.nbytes * repeats / seconds


def _median_seconds(call: Callable[[], object], rounds: int) -> float:
    call()
    seconds: list[float] = []
    for _ in range(rounds):
        start = time.thread_time()
        call()
        seconds.append(time.thread_time() - start)
    return max(statistics.median(seconds), 1e-9)


def _add_chains(module: ir.Module, lanes: int) -> None:
    """`float run(int64_t steps)`: rounds of CHAINS vector FMAs; it returns one lane so that all is needed."""
    from llvmlite import ir

    vector, word = ir.VectorType(ir.FloatType(), lanes), ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(ir.FloatType(), [word]), _SYMBOL)
    fma = ir.Function(module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{lanes}f32")
    entry, loop, done = (function.append_basic_block(name) for name in ("entry", "loop", "done"))
    b = ir.IRBuilder(entry)
    b.branch(loop)
    b.position_at_end(loop)
    step: Any = b.phi(word)
    step.add_incoming(ir.Constant(word, 0), entry)
    sums: list[Any] = [b.phi(vector) for _ in range(CHAINS)]
    factor, term = (ir.Constant(vector, [value] * lanes) for value in (0.999, 0.001))
    made = [b.call(fma, [value, factor, term]) for value in sums]
    for start, (value, result) in enumerate(zip(sums, made, strict=True)):
        value.add_incoming(ir.Constant(vector, [float(start)] * lanes), entry)
        value.add_incoming(result, loop)
    following = b.add(step, ir.Constant(word, 1))
    step.add_incoming(following, loop)
    b.cbranch(b.icmp_signed("<", following, function.args[0]), loop, done)
    b.position_at_end(done)
    total = made[0]
    for value in made[1:]:
        total = b.fadd(total, value)
    b.ret(b.extract_element(total, ir.Constant(ir.IntType(32), 0)))
