"""Do the arrays given to `run` fit the model? They are copied only if kernels cannot read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from onnxloom.errors import InputError
from onnxloom.lowering.plan.program import DYNAMIC, Array, Program, Spec, is_array, numpy_dtype
from onnxloom.lowering.runtime.compat.ort_value import unwrapped


@dataclass(frozen=True)
class InputPort:
    """One input of a model: its name, declared type, and the names of its symbolic dims."""

    name: str
    spec: Spec
    dims: tuple[str, ...]

    def fit(self, value: Any) -> Any:
        """`value` as kernels read it: native, contiguous, aligned. The very array if it is that already.

        Raises:
            InputError: it has another dtype, rank, or dim.
        """
        value = unwrapped(value)
        if self.spec.kind != "tensor":
            return value
        if value is None:
            raise InputError(f"input {self.name!r} is None; expected {self.spec.text} {self.shape_text()}")
        array = self._array(value)
        self._check_shape(array)
        if array.dtype.kind == "O":
            return array
        flags = array.flags
        if flags.c_contiguous and flags.aligned and array.dtype.isnative:
            return array
        return np.array(array, dtype=numpy_dtype(self.spec.dtype), order="C")

    def _array(self, value: Any) -> Array:
        wanted = numpy_dtype(self.spec.dtype)
        if isinstance(value, np.generic):
            value = cast(Any, np.asarray(value))  # pyright: ignore[reportUnknownArgumentType]
        if not is_array(value):
            try:
                return _converted(value, wanted)
            except MemoryError:
                raise
            except Exception as error:  # `__array__` of a caller's class may raise anything
                raise InputError(
                    f"input {self.name!r}: got a {type(value).__name__} that is no {self.spec.text} ({error})"
                ) from error
        array = value
        if wanted.kind == "O" and array.dtype.kind in "USO":
            return _strings(array)
        if array.dtype.newbyteorder("=") != wanted:
            raise InputError(f"input {self.name!r}: expected {self.spec.text}, got dtype {array.dtype}")
        return array

    def _check_shape(self, array: Array) -> None:
        shape = self.spec.shape
        if self.spec.accepts(array.shape):
            return
        assert shape is not None
        expected = self.shape_text()
        if len(shape) != len(array.shape):
            raise InputError(
                f"input {self.name!r}: expected rank {len(shape)} {expected}, "
                f"got rank {array.ndim} {list(array.shape)}"
            )
        axis = next(i for i, d in enumerate(shape) if d not in (DYNAMIC, array.shape[i]))
        raise InputError(
            f"input {self.name!r}: expected dim {axis} to be {shape[axis]} in {expected}, "
            f"got {list(array.shape)}"
        )

    def shape_text(self) -> str:
        """`[batch, 3, ?]`."""
        shape = self.spec.shape or ()
        names = [*self.dims, *("" for _ in shape)]
        texts = [str(d) if d != DYNAMIC else name or "?" for d, name in zip(shape, names, strict=False)]
        return "[" + ", ".join(texts) + "]"


def _converted(value: Any, wanted: np.dtype[Any]) -> Array:
    """A list or number as an array. (numpy would cut fractions off, and read numbers from texts.)"""
    natural: Array = np.asarray(value)
    numeric = wanted.kind != "O"
    if natural.size and (
        (natural.dtype.kind in "fc" and wanted.kind in "iub") or (natural.dtype.kind in "US" and numeric)
    ):
        raise TypeError(f"its elements are of type {natural.dtype}")
    return np.asarray(value, dtype=wanted)


def _strings(array: Array) -> Array:
    """An object array of `str`."""
    flat = [v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else str(v) for v in array.ravel()]
    strings = np.empty(len(flat), object)
    strings[:] = flat
    return strings.reshape(array.shape)


class InputPorts:
    """The inputs of a program, in order."""

    def __init__(self, program: Program) -> None:
        dims = program.arg_dims or ((),) * len(program.args)
        self.ports = [
            InputPort(name, program.specs[slot], names)
            for name, slot, names in zip(program.arg_names, program.args, dims, strict=True)
        ]
        self.names = [port.name for port in self.ports]
        self._known = set(self.names)

    def by_name(self, feeds: Mapping[str, Any]) -> list[Any]:
        """The values in the order of the inputs.

        Raises:
            InputError: a name is missing or unknown.
        """
        is_dict = feeds.__class__ is dict  # asking for the abstract class takes longer
        if not is_dict and not isinstance(feeds, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"inputs: got {_kind(feeds)}; expected a dict of arrays by input name")
        try:
            values = [feeds[name] for name in self.names]
        except KeyError as error:
            raise InputError(
                f"input {error.args[0]!r} is missing; the model has {_listed(self.names)}"
            ) from None
        if len(feeds) != len(values):
            unknown = next(name for name in feeds if name not in self._known)
            raise InputError(f"the model has no input {unknown!r}; it has {_listed(self.names)}")
        return values

    def fit(self, values: Sequence[Any]) -> list[Any]:
        """The values as kernels read them. Raises InputError."""
        if len(values) != len(self.ports):
            raise InputError(
                f"the model has {len(self.ports)} input{'' if len(self.ports) == 1 else 's'} "
                f"({_listed(self.names)}), got {len(values)}"
            )
        arrays = [port.fit(value) for port, value in zip(self.ports, values, strict=True)]
        self._check_symbols(arrays)
        return arrays

    def _check_symbols(self, arrays: Sequence[Any]) -> None:
        seen: dict[str, tuple[int, str, int]] = {}
        for port, array in zip(self.ports, arrays, strict=True):
            if not is_array(array):
                continue
            for axis, (symbol, size) in enumerate(zip(port.dims, array.shape, strict=False)):
                # "?" is how some exporters write a dim they know nothing of.
                named = symbol not in ("", "?")
                first = seen.setdefault(symbol, (size, port.name, axis)) if named else None
                if first is not None and first[0] != size:
                    raise InputError(
                        f"input {port.name!r}: dim {axis} ({symbol}) is {size}, but dim {first[2]} of "
                        f"{first[1]!r}, also {symbol}, is {first[0]}"
                    )


def _kind(value: object) -> str:
    """How messages name a value that is of the wrong type altogether."""
    return "None" if value is None else f"a {type(value).__name__}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(n) for n in names) if names else "no inputs"
