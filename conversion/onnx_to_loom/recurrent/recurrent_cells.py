"""What does one time step of an LSTM, GRU or RNN compute? The gate arithmetic, on a `TimeStep`.

Gates are numbered as the weights are stacked: LSTM i, o, f, c; GRU z, r, h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_activations import Activation
from onnxloom.conversion.onnx_to_loom.recurrent.recurrent_loops import BatchRow, TimeStep
from onnxloom.dialects.onnx.semantics.scalars import Scalar, Scalars


class Cell(Protocol):
    """One kind of recurrent op with its attributes; state 0 is the output."""

    def step(self, step: TimeStep) -> None:
        """Writes one time step: products of the old state with R, then new states and outputs."""
        ...


@dataclass(frozen=True)
class Clip:
    """The bound on what goes into an activation function; None for no bound."""

    limit: float | None

    def __call__(self, s: Scalars, x: Scalar) -> Scalar:
        if self.limit is None:
            return x
        bounded = s.minimum(x, s.const(self.limit, x.type))
        return s.maximum(bounded, s.const(-self.limit, x.type))


@dataclass(frozen=True)
class RnnCell:
    """h = f(X W + h R + b)."""

    activations: Sequence[Activation]
    clip: Clip

    def step(self, step: TimeStep) -> None:
        s = step.k.scalars
        step.product(0, 1)
        with step.rows() as row, row.columns() as j:
            h = self.activations[0](s, self.clip(s, row.gate(0, j)))
            row.set_state(0, j, h)
            row.output(j, h)


@dataclass(frozen=True)
class LstmCell:
    """c = f * c + i * g(..); h = o * h(c); peepholes add P * c to i, f (old c) and o (fresh c)."""

    activations: Sequence[Activation]
    clip: Clip
    input_forget: bool

    def step(self, step: TimeStep) -> None:
        s = step.k.scalars
        f, g, h = self.activations
        step.product(0, 4)
        with step.rows() as row, row.columns() as j:
            c = row.state(1, j)
            i = f(s, self._gate(row, 0, j, 0, c))
            forget = (
                s.sub(s.const(1.0, c.type), i) if self.input_forget else f(s, self._gate(row, 2, j, 2, c))
            )
            fresh = g(s, self.clip(s, row.gate(3, j)))
            c = s.add(s.mul(forget, c), s.mul(i, fresh))
            o = f(s, self._gate(row, 1, j, 1, c))
            out = s.mul(o, h(s, c))
            row.set_state(1, j, c)
            row.set_state(0, j, out)
            row.output(j, out)

    def _gate(self, row: BatchRow, number: int, j: Scalar, peephole: int, c: Scalar) -> Scalar:
        s = row.step.k.scalars
        value = row.gate(number, j)
        weight = row.peephole(peephole, j)
        return self.clip(s, value if weight is None else s.add(value, s.mul(weight, c)))


@dataclass(frozen=True)
class GruCell:
    """h = (1 - z) * g(..) + z * h, where g sees r * (h R + b) or (r * h) R + b."""

    activations: Sequence[Activation]
    clip: Clip
    linear_before_reset: bool

    def step(self, step: TimeStep) -> None:
        if self.linear_before_reset:
            step.product(0, 3)
            with step.rows() as row, row.columns() as j:
                s = step.k.scalars
                inner = s.mul(self._gate(row, 1, j), row.recurrent(2, j))
                self._update(row, j, self._gate(row, 0, j), s.add(row.projected(2, j), inner))
            return
        step.product(0, 2)
        with step.rows(pad=False) as row, row.columns() as j:
            s = step.k.scalars
            row.set_scratch(0, j, self._gate(row, 0, j))
            # Gate r is read for the last time: its place takes r * h.
            row.set_scratch(1, j, s.mul(self._gate(row, 1, j), row.state(0, j)))
        step.product(2, 1, of_gate=1)
        with step.rows() as row, row.columns() as j:
            self._update(row, j, row.scratch(0, j), row.gate(2, j))

    def _gate(self, row: BatchRow, number: int, j: Scalar) -> Scalar:
        s = row.step.k.scalars
        return self.activations[0](s, self.clip(s, row.gate(number, j)))

    def _update(self, row: BatchRow, j: Scalar, z: Scalar, candidate: Scalar) -> None:
        s = row.step.k.scalars
        fresh = self.activations[1](s, self.clip(s, candidate))
        kept = s.mul(z, row.state(0, j))
        h = s.add(s.mul(s.sub(s.const(1.0, z.type), z), fresh), kept)
        row.set_state(0, j, h)
        row.output(j, h)
