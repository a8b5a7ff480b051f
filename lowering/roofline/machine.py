"""What can this machine do at most? FMAs of one core, and bytes it moves by how large the data is."""

from __future__ import annotations

import ctypes
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.plan.memory import address_of

if TYPE_CHECKING:
    from llvmlite import ir

CHAINS: Final = 12
"""Independent accumulators: enough to hide the latency of two FMA units."""

FOOTPRINTS: Final = (1 << 17, 1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27)
"""Bytes gone through at which bandwidth is measured: in the caches, and in memory."""

ASSUMED_GHZ: Final = 3.0
ASSUMED_BANDWIDTHS: Final = (100e9, 80e9, 50e9, 35e9, 20e9, 15e9)

_FMA: Final = "loom_fma_chains"
_SUM: Final = "loom_sum"
_STEPS: Final = 200_000


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per second when `footprint` bytes are gone through again and again."""

    footprint: int
    copied: float
    """Read and written, half of them each."""
    read: float


@dataclass(frozen=True)
class Stream:
    """What a kernel reads and writes of data of one footprint."""

    read: float
    written: float
    footprint: float


@dataclass(frozen=True)
class Machine:
    """Limits of one core."""

    flops: float
    """Operations per second of f32 FMAs, each of them two."""
    bandwidths: tuple[Bandwidth, ...]
    """By ascending footprint."""
    is_measured: bool

    def bandwidth(self, footprint: float) -> Bandwidth:
        """Between footprints that were measured on a line over their logarithm."""
        if footprint <= self.bandwidths[0].footprint:
            return self.bandwidths[0]
        for low, high in pairwise(self.bandwidths):
            if footprint <= high.footprint:
                share = math.log(footprint / low.footprint) / math.log(high.footprint / low.footprint)
                copied = low.copied + share * (high.copied - low.copied)
                return Bandwidth(int(footprint), copied, low.read + share * (high.read - low.read))
        return self.bandwidths[-1]

    def moving(self, stream: Stream) -> float:
        """The least seconds: what is read beyond what is written may go faster than a copy."""
        found = self.bandwidth(stream.footprint)
        reading = max(stream.read - stream.written, 0.0)
        return reading / found.read + (stream.read + stream.written - reading) / found.copied

    def seconds(self, operations: float, streams: Sequence[Stream], itemsize: int = 4) -> float:
        """The least time for so many operations on elements of `itemsize` and for moving `streams`."""
        computing = operations / (self.flops * 4 / max(itemsize, 4))
        return max(computing, sum(map(self.moving, streams)))


def assumed_machine() -> Machine:
    """Limits of a processor of this one's vectors, at a usual clock and with usual memory."""
    pairs = zip(FOOTPRINTS, ASSUMED_BANDWIDTHS, strict=True)
    bandwidths = tuple(Bandwidth(size, found, 1.5 * found) for size, found in pairs)
    return Machine(_lanes() * 2 * 2 * ASSUMED_GHZ * 1e9, bandwidths, is_measured=False)


def measure_machine(rounds: int = 11) -> Machine:
    """Takes about a second."""
    from onnxloom.lowering.kernel_library import load_library
    from onnxloom.lowering.object_code import compile_object

    def add(module: ir.Module) -> None:
        _add_chains(module)
        _add_sum(module)

    library = load_library([compile_object([_FMA, _SUM], add)], {"fma": _FMA, "sum": _SUM})
    chains = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)(library.address("fma"))
    total = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_void_p, ctypes.c_int64)(library.address("sum"))
    flops = _STEPS * CHAINS * _lanes() * 2 / _median_seconds(lambda: chains(_STEPS), rounds)
    bandwidths = tuple(
        Bandwidth(size, _copy_bandwidth(size, rounds), _read_bandwidth(total, size, rounds))
        for size in FOOTPRINTS
    )
    return Machine(flops, bandwidths, is_measured=True)


def _copy_bandwidth(footprint: int, rounds: int) -> float:
    """By a copy, or by a multiplication if that is faster."""
    source, target = (np.ones(max(1, footprint // 8), np.float32) for _ in range(2))
    seconds = min(
        _per_call(lambda: np.copyto(target, source), footprint, rounds),
        _per_call(lambda: np.multiply(source, np.float32(1.5), out=target), footprint, rounds),
    )
    return 2 * source.nbytes / seconds


def _read_bandwidth(total: Callable[[int, int], float], footprint: int, rounds: int) -> float:
    """By a sum of vectors."""
    source = np.ones(footprint // 4, np.float32)
    address = address_of(source)
    calling = _per_call(lambda: total(address, 0), footprint, rounds)
    seconds = _per_call(lambda: total(address, source.size), footprint, rounds)
    return source.nbytes / max(seconds - calling, seconds / 2)


def _per_call(call: Callable[[], object], footprint: int, rounds: int) -> float:
    repeats = max(1, (1 << 24) // footprint)

    def several() -> None:
        for _ in range(repeats):
            call()

    return _median_seconds(several, rounds) / repeats


def _lanes() -> int:
    return CpuTarget.host().tiles.vector_bytes // 4


def _median_seconds(call: Callable[[], object], rounds: int) -> float:
    call()
    seconds: list[float] = []
    for _ in range(rounds):
        start = time.thread_time()
        call()
        seconds.append(time.thread_time() - start)
    return max(statistics.median(seconds), 1e-9)


def _add_chains(module: ir.Module) -> None:
    """`float fma(int64_t steps)`: rounds of CHAINS vector FMAs."""
    from llvmlite import ir

    vector = ir.VectorType(ir.FloatType(), _lanes())
    fma = ir.Function(module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{_lanes()}f32")
    factor, term = (ir.Constant(vector, [value] * _lanes()) for value in (0.999, 0.001))
    function = ir.Function(module, ir.FunctionType(ir.FloatType(), [ir.IntType(64)]), _FMA)
    _accumulate(
        function, function.args[0], 1, lambda b, at, number, value: b.call(fma, [value, factor, term])
    )


def _add_sum(module: ir.Module) -> None:
    """`float sum(float *data, int64_t count)` of whole rounds of CHAINS vectors."""
    from llvmlite import ir

    vector, real, word = ir.VectorType(ir.FloatType(), _lanes()), ir.FloatType(), ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(real, [real.as_pointer(), word]), _SUM)
    data, count = function.args

    def add(b: Any, at: Any, number: int, value: Any) -> Any:
        place = b.gep(data, [b.add(at, ir.Constant(word, number * _lanes()))])
        return b.fadd(value, b.load(b.bitcast(place, vector.as_pointer()), align=4))

    step = CHAINS * _lanes()
    _accumulate(function, count, step, add)


def _accumulate(function: Any, count: Any, step: int, update: Callable[[Any, Any, int, Any], Any]) -> None:
    """A loop from 0 to below `count` over CHAINS vectors; gives one lane, so that all of it is needed."""
    from llvmlite import ir

    vector, word = ir.VectorType(ir.FloatType(), _lanes()), ir.IntType(64)
    entry, loop, done = (function.append_basic_block(name) for name in ("entry", "loop", "done"))
    b = ir.IRBuilder(entry)
    b.branch(loop)
    b.position_at_end(loop)
    at: Any = b.phi(word)
    at.add_incoming(ir.Constant(word, 0), entry)
    sums: list[Any] = [b.phi(vector) for _ in range(CHAINS)]
    made = [update(b, at, number, value) for number, value in enumerate(sums)]
    for number, (value, result) in enumerate(zip(sums, made, strict=True)):
        value.add_incoming(ir.Constant(vector, [float(number)] * _lanes()), entry)
        value.add_incoming(result, loop)
    following = b.add(at, ir.Constant(word, step))
    at.add_incoming(following, loop)
    # The last round is whole, so that nothing beyond `count` is read.
    last = b.sub(count, ir.Constant(word, step))
    b.cbranch(b.icmp_signed("<=", following, last), loop, done)
    b.position_at_end(done)
    total = made[0]
    for value in made[1:]:
        total = b.fadd(total, value)
    b.ret(b.extract_element(total, ir.Constant(ir.IntType(32), 0)))
