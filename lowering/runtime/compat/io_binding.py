"""How are inputs and outputs bound to a session before it runs?"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxloom.errors import InputError, UsageError
from onnxloom.lowering.plan.program import Array, is_array
from onnxloom.lowering.runtime.compat.device import OrtDevice, check_cpu
from onnxloom.lowering.runtime.compat.element_types import dtype_of
from onnxloom.lowering.runtime.compat.ort_value import OrtValue, unwrapped
from onnxloom.lowering.runtime.compat.ort_value_vector import OrtValueVector

if TYPE_CHECKING:
    from onnxloom.lowering.runtime.compat.session import InferenceSession


class IOBinding:
    """Inputs and outputs of one session, by name. An output bound to memory is copied there after a run."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        """In the order they were bound; None where the run makes the value."""
        self._results = OrtValueVector()

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Each run reads the array as it is then. Raises UsageError for an unknown name."""
        self._check_input(name)
        self._inputs[name] = unwrapped(arr_on_cpu)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """The same for what a value holds."""
        self.bind_cpu_input(name, ortvalue)

    def bind_input(
        self,
        name: str,
        device_type: str | OrtDevice,
        device_id: int,
        element_type: Any,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Each run reads the memory at an address, which must be there until then."""
        check_cpu(device_type)
        self._check_input(name)
        self._inputs[name] = _memory(element_type, shape, buffer_ptr)

    def bind_output(
        self,
        name: str,
        device_type: str | OrtDevice = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Asks for an output; given an address, it is copied there, and has to have this type and shape.

        Raises:
            InputError: type or shape of the memory are not given.
            UnsupportedFeatureError: the device is not the CPU.
        """
        check_cpu(device_type)
        if buffer_ptr is None:
            self._outputs[name] = None
            return
        if element_type is None or shape is None:
            raise InputError(f"output {name!r}: memory is bound with its element_type and shape")
        self._outputs[name] = OrtValue(_memory(element_type, shape, buffer_ptr))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """The output is copied into the memory of a tensor; a sequence or map takes the place of another.

        Raises:
            UsageError: nothing can be written to the memory of the tensor.
        """
        held = ortvalue.value
        if is_array(held) and not held.flags.writeable:
            raise UsageError(f"output {name!r}: the memory it is bound to is read-only")
        self._outputs[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Nothing to do: there is one device."""

    def synchronize_outputs(self) -> None:
        """Nothing to do."""

    def get_outputs(self) -> list[OrtValue]:
        """Outputs of the last run, in the order they were bound."""
        return list(self._results)

    def get_outputs_as_ortvaluevector(self) -> OrtValueVector:
        return self._results

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Outputs of the last run as arrays."""
        return [value.numpy() for value in self._results]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results = OrtValueVector()

    def run(self, session: InferenceSession, run_options: Any) -> None:
        """Runs the session it was made for.

        Raises:
            InputError: it was made for another one.
            UsageError: no output is bound, an input does not fit, or an output not into its memory.
        """
        if session is not self._session:
            raise InputError("an IOBinding is run by the session that made it")
        if not self._outputs:
            raise UsageError("no output is bound; at least one has to be")
        try:
            results = session.run(list(self._outputs), self._inputs, run_options)
        except InputError as error:
            raise UsageError(str(error)) from error
        pairs = list(zip(self._outputs.items(), results, strict=True))
        for (name, bound), result in pairs:
            if bound is not None:
                _check_fits(name, bound.value, result)
        self._results = OrtValueVector(_placed(bound, result) for (_, bound), result in pairs)

    def _check_input(self, name: str) -> None:
        session = self._session
        known = [arg.name for arg in (*session.get_inputs(), *session.get_overridable_initializers())]
        if name not in known:
            raise UsageError(f"the model has no input {name!r}; it has {', '.join(map(repr, known))}")


def _memory(element_type: Any, shape: Sequence[int], address: int) -> Array:
    """The array at an address."""
    dtype, dims = dtype_of(element_type), tuple(int(d) for d in shape)
    nbytes = math.prod(dims) * dtype.itemsize
    if not nbytes:
        return np.empty(dims, dtype)
    if dtype.hasobject or not address or min(dims, default=0) < 0:
        raise UsageError(f"there is no memory for {dtype}{list(dims)} at address {address}")
    memory: Any = (ctypes.c_char * nbytes).from_address(address)
    return np.frombuffer(memory, dtype).reshape(dims)


def _check_fits(name: str, held: Any, result: Any) -> None:
    if _form(held) != _form(result):
        raise UsageError(f"output {name!r} is bound to memory for {_form(held)}, but is {_form(result)}")


def _form(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if is_array(value) else type(value).__name__


def _placed(bound: OrtValue | None, result: Any) -> OrtValue:
    if bound is None:
        return OrtValue(result)
    bound.take(result)
    return bound
