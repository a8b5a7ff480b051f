"""What do `requirements` and `replacement` get to see of a match?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from onnxloom.dialects.onnx.access import is_none
from onnxloom.transforms.rewriting.declarative.expressions import Bound
from onnxloom.transforms.rewriting.graph_index import GraphIndex


class Inputs:
    """The boundary inputs as expressions: `inputs.x`, None for one that is left out."""

    def __init__(self, values: Mapping[str, SSAValue | tuple[SSAValue, ...] | None]) -> None:
        self._values = {name: _expression(value) for name, value in values.items()}

    def __getattr__(self, name: str) -> Any:
        if name not in self._values:
            raise AttributeError(f"inputs.{name}: {_hint(name, self._values)}")
        return self._values[name]

    def __getitem__(self, index: int) -> Any:
        return tuple(self._values.values())[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values.values())

    def __len__(self) -> int:
        return len(self._values)


class Match:
    """A complete match: the values behind the names of parameters and captures."""

    def __init__(
        self,
        graph: GraphIndex,
        anchor: Operation,
        pattern: str,
        inputs: Mapping[str, SSAValue | tuple[SSAValue, ...] | None],
        captures: Mapping[str, SSAValue | None],
        attributes: Mapping[str, Any],
        outputs: Sequence[SSAValue],
    ) -> None:
        self.graph = graph
        self.anchor = anchor
        """The last op of the pattern; what `no_match` is told."""

        self.pattern = pattern
        """Name of the pattern function that matched."""

        self.outputs = tuple(outputs)
        """The values that are replaced, in the order the pattern returns them."""

        self.inputs = Inputs(inputs)
        """The boundary inputs as expressions, what `replacement` is given."""

        self._inputs = inputs
        self._captures = captures
        self._attributes = attributes

    def __getitem__(self, name: str) -> SSAValue:
        """The value of a parameter or a capture. Raises ValueError when it is left out here."""
        value = self._value(name)
        if value is None:
            raise ValueError(f"match[{name!r}] is left out in this match; ask match.has({name!r}) first")
        return value

    def has(self, name: str) -> bool:
        """Whether a parameter declared `| None`, or a capture in an alternative, is there."""
        return self._value(name) is not None

    def op(self, name: str) -> Operation:
        """The op that makes a captured value."""
        owner = self[name].owner
        if not isinstance(owner, Operation):
            raise ValueError(f"match.op({name!r}): no op makes this value")
        return owner

    def tensors(self, name: str) -> tuple[SSAValue, ...]:
        """The values of a parameter declared `Tensors`."""
        value = self._inputs.get(name)
        if not isinstance(value, tuple):
            raise ValueError(f"match.tensors({name!r}): no parameter of this name is declared Tensors")
        return value

    def scalar(self, name: str) -> int | float:
        """The number of a parameter declared `Scalar`."""
        number = self.graph.constant_scalar(self[name], broadcast=True)
        if number is None:
            raise ValueError(f"match.scalar({name!r}): the value is no constant number")
        return number

    def ints(self, name: str) -> tuple[int, ...]:
        """The integers of a parameter declared `Ints`."""
        found = self.graph.constant_ints(self[name])
        if found is None:
            raise ValueError(f"match.ints({name!r}): the value is no list of constant integers")
        return found

    def array(self, name: str) -> np.ndarray[Any, Any] | None:
        """The read-only array of a parameter declared `Constant`; None when it is too large to compute."""
        return self.graph.constant(self[name])

    def attribute(self, name: str) -> Any:
        """The value of a free attribute: a number, a string, a tuple of them; None when it is absent."""
        if name not in self._attributes:
            raise ValueError(f"match.attribute({name!r}): {_hint(name, self._attributes)}")
        return self._attributes[name]

    def _value(self, name: str) -> SSAValue | None:
        if name in self._captures:
            return self._captures[name]
        if name not in self._inputs:
            known = [*self._inputs, *self._captures]
            raise ValueError(f"match[{name!r}]: {_hint(name, known)}")
        value = self._inputs[name]
        if isinstance(value, tuple):
            raise ValueError(f"match[{name!r}] is declared Tensors; use match.tensors({name!r})")
        return value


def _expression(value: SSAValue | tuple[SSAValue, ...] | None) -> Bound | tuple[Bound, ...] | None:
    if isinstance(value, tuple):
        return tuple(map(Bound, value))
    return None if value is None or is_none(value) else Bound(value)


def _hint(name: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    close = get_close_matches(name, list(known), 1)
    there = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known) or 'none'}"
    return f"no such name; {there}"
