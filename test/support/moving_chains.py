"""Random chains of ops that only move elements, as text, with the array numpy makes of the same input."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from fused_values import Array


@dataclass
class MovingChain:
    """A function that is being written; every op reads the result of the one before."""

    array: Array
    dynamic: frozenset[int]
    """Axes of the input whose sizes the text does not tell; they are not cut or joined."""
    element: str
    lines: list[str] = field(default_factory=list[str])
    types: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.open = list(self.dynamic)
        self.types.append(self.type())

    def type(self) -> str:
        dims = ["?" if axis in self.open else str(size) for axis, size in enumerate(self.array.shape)]
        return f"tensor<{'x'.join([*dims, self.element])}>"

    def op(self, name: str, array: Array, *operands: Sequence[int] | int, attributes: str = "") -> None:
        number, names, types = len(self.types), [], []
        for place, value in enumerate(operands):
            names.append(f"%c{number}_{place}")
            types.append("tensor<i64>" if isinstance(value, int) else f"tensor<{len(value)}xi64>")
            listed = value if isinstance(value, int) else list(value)
            self.lines.append(f"{names[-1]} = onnx.Constant dense<{listed}> : {types[-1]}")
        self.array, data = array, f"%{number - 1}"
        self.types.append(self.type())
        sources = ", ".join([data, *names])
        source_types = ", ".join([self.types[-2], *types])
        braces = f" {{{attributes}}}" if attributes else ""
        self.lines.append(
            f'%{number} = "onnx.{name}"({sources}){braces} : ({source_types}) -> {self.types[-1]}'
        )

    def text(self) -> str:
        last = f"%{len(self.types) - 1}"
        body = "\n".join(self.lines).replace("%0", "%x").replace("%c%x", "%c0")
        return (
            f"func.func @f(%x: {self.types[0]}) -> {self.types[-1]} {{\n{body}\n"
            f"onnx.Return {last} : {self.types[-1]}\n}}"
        )


def transpose(chain: MovingChain, rng: random.Random) -> None:
    perm = list(range(chain.array.ndim))
    rng.shuffle(perm)
    chain.open = [perm.index(axis) for axis in chain.open]
    listed = ", ".join(f"{p} : si64" for p in perm)
    chain.op("Transpose", chain.array.transpose(perm), attributes=f"perm = [{listed}]")


def slice_(chain: MovingChain, rng: random.Random) -> None:
    known = [axis for axis in range(chain.array.ndim) if axis not in chain.open]
    if not known:
        return
    axis = rng.choice(known)
    size = chain.array.shape[axis]
    step = rng.choice([1, 1, 1, 2, -1, -2])
    low = rng.randrange(size)
    high = rng.randint(low + 1, size)
    start, end = (low, high) if step > 0 else (high - 1, low - 1 if low else -size - 1)
    if rng.random() < 0.5 and step > 0:
        start -= size
    index = [slice(None)] * chain.array.ndim
    index[axis] = slice(low, high, step) if step > 0 else slice(high - 1, low - 1 if low else None, step)
    chain.op("Slice", chain.array[tuple(index)], [start], [end], [axis], [step])


def gather(chain: MovingChain, rng: random.Random) -> None:
    known = [axis for axis in range(chain.array.ndim) if axis not in chain.open]
    if not known or chain.array.ndim < 2:
        return
    axis = rng.choice(known)
    place = rng.randrange(-chain.array.shape[axis], chain.array.shape[axis])
    array = chain.array.take(place, axis)
    chain.open = [d - (d > axis) for d in chain.open]
    chain.op("Gather", array, place, attributes=f"axis = {axis} : si64")


def expand(chain: MovingChain, rng: random.Random) -> None:
    ones = [axis for axis, size in enumerate(chain.array.shape) if size == 1 and axis not in chain.open]
    shape = [rng.choice([2, 9]) if axis in ones else size for axis, size in enumerate(chain.array.shape)]
    asked = [1 if axis in chain.open else size for axis, size in enumerate(shape)]
    lead = rng.choice([0, 0, 1])
    array = np.broadcast_to(chain.array, [*[3] * lead, *shape])
    chain.open = [axis + lead for axis in chain.open]
    chain.op("Expand", array, [*[3] * lead, *asked])


def reshape(chain: MovingChain, rng: random.Random) -> None:
    """Two known neighbours become one, or one of a known size two."""
    shape, known = list(chain.array.shape), [a for a in range(chain.array.ndim) if a not in chain.open]
    pairs = [a for a in known if a + 1 in known]
    if pairs and rng.random() < 0.6:
        axis = rng.choice(pairs)
        size = shape[axis] * shape[axis + 1]
        asked = [*shape[:axis], size, *shape[axis + 2 :]]
        moved = [a - (a > axis) for a in chain.open]
    elif known:
        axis = rng.choice(known)
        parts = [d for d in range(1, shape[axis] + 1) if shape[axis] % d == 0]
        part = rng.choice(parts)
        asked = [*shape[:axis], part, shape[axis] // part, *shape[axis + 1 :]]
        moved = [a + (a > axis) for a in chain.open]
    else:
        return
    if len(moved) > 1:
        return
    array = chain.array.reshape(asked)
    chain.open = moved
    told = [-1 if a in moved else size for a, size in enumerate(asked)]
    chain.op("Reshape", array, told)


def unsqueeze(chain: MovingChain, rng: random.Random) -> None:
    axis = rng.randint(0, chain.array.ndim)
    array = np.expand_dims(chain.array, axis)
    chain.open = [a + (a >= axis) for a in chain.open]
    chain.op("Unsqueeze", array, [axis])


def squeeze(chain: MovingChain, rng: random.Random) -> None:
    ones = [a for a, size in enumerate(chain.array.shape) if size == 1 and a not in chain.open]
    if ones:
        axis = rng.choice(ones)
        array = chain.array.squeeze(axis)
        chain.open = [a - (a > axis) for a in chain.open]
        chain.op("Squeeze", array, [axis])


STEPS = (transpose, transpose, slice_, gather, expand, reshape, reshape, unsqueeze, squeeze)


def moving_chain(seed: int, element: str, source: Array, dynamic: frozenset[int]) -> MovingChain:
    """A chain of up to seven ops, the first and the last of which are Transposes."""
    rng = random.Random(seed)
    chain = MovingChain(source, dynamic, element)
    transpose(chain, rng)
    for _ in range(rng.randint(0, 5)):
        if chain.array.ndim < 6 and math.prod(chain.array.shape) < 1 << 16:
            rng.choice(STEPS)(chain, rng)
    transpose(chain, rng)
    return chain
