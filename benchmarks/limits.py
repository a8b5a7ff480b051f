"""What can this machine do at most? One core's FMA peak and its bandwidth at a given footprint."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.extending import intrinsic


def _vector_lanes() -> int:
    features = binding.get_host_cpu_features()
    return 16 if features.get("avx512f") else 8 if features.get("avx2") else 4


LANES = _vector_lanes()
CHAINS = 12  # independent accumulators: enough to hide the latency of two FMA units


@intrinsic
def _fma_chains(typing_context: Any, steps: Any) -> Any:
    """`steps` rounds of CHAINS independent vector FMAs; returns one lane so that nothing is removed."""

    def codegen(context: Any, b: Any, signature: Any, args: Any) -> Any:
        vector, index = ir.VectorType(ir.FloatType(), LANES), ir.IntType(64)
        name = f"llvm.fma.v{LANES}f32"
        fma = b.module.globals.get(name) or ir.Function(b.module, ir.FunctionType(vector, [vector] * 3), name)
        entry, loop, done = b.block, b.append_basic_block("loop"), b.append_basic_block("done")
        b.branch(loop)
        b.position_at_end(loop)
        step = b.phi(index)
        step.add_incoming(ir.Constant(index, 0), entry)
        sums = [b.phi(vector) for _ in range(CHAINS)]
        factor, term = (ir.Constant(vector, [value] * LANES) for value in (0.999, 0.001))
        last: list[Any] = []
        for start, value in enumerate(sums):
            value.add_incoming(ir.Constant(vector, [float(start)] * LANES), entry)
            last.append(b.call(fma, [value, factor, term]))
            value.add_incoming(last[-1], loop)
        following = b.add(step, ir.Constant(index, 1))
        step.add_incoming(following, loop)
        b.cbranch(b.icmp_signed("<", following, args[0]), loop, done)
        b.position_at_end(done)
        total = last[0]
        for value in last[1:]:
            total = b.fadd(total, value)
        return b.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return types.float32(types.int64), codegen


@njit
def _run_chains(steps: Any) -> Any:
    return _fma_chains(steps)  # pyright: ignore[reportCallIssue]  # an intrinsic drops its context


@njit
def _scale(source: Any, target: Any) -> None:
    for i in range(target.size):
        target[i] = source[i] * np.float32(1.5)


def _best(call: Callable[[], object], rounds: int) -> float:
    call()
    seconds: list[float] = []
    for _ in range(rounds):
        start = time.thread_time()
        call()
        seconds.append(time.thread_time() - start)
    return statistics.median(seconds)


def fma_peak(rounds: int = 21) -> float:
    """FLOP/s of one core on independent vector FMAs (f32)."""
    steps = 1_000_000
    return steps * CHAINS * LANES * 2 / _best(lambda: _run_chains(steps), rounds)


def bandwidth(elements: int, rounds: int = 21) -> float:
    """Bytes/s of one core that reads and writes `elements` f32 each, the better of a copy and a loop."""
    source, target = np.ones(elements, np.float32), np.zeros(elements, np.float32)
    repeats = max(1, 4_000_000 // elements)

    def copy() -> None:
        for _ in range(repeats):
            np.copyto(target, source)

    def scale() -> None:
        for _ in range(repeats):
            _scale(source, target)

    best = min(_best(copy, rounds), _best(scale, rounds))
    return 2 * source.nbytes * repeats / best
