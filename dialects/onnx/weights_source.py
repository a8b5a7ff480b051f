"""How is the key of a weight resolved to its data?"""

from __future__ import annotations

import weakref

from onnxloom.dialects.onnx.dense import AnyTensor, Array
from onnxloom.dialects.onnx.weights import MEMORY, Weights, WeightsPlace
from onnxloom.errors import ModelError

_IN_MEMORY: weakref.WeakValueDictionary[str, Array] = weakref.WeakValueDictionary()
"""Weights printed by their address; an entry goes with its array."""


def place_in_memory(weights: Weights) -> WeightsPlace:
    """A key for data that no file holds; it resolves in this process while the data live."""
    array = weights._array  # pyright: ignore[reportPrivateUsage]
    assert array is not None
    key = f"{id(array):#x}"
    _IN_MEMORY[key] = array
    return WeightsPlace(MEMORY, key)


def resolve(place: WeightsPlace, tensor_type: AnyTensor) -> Array:
    """The data a key stands for. Raises ModelError, in one line, when there are none."""
    if place.file == MEMORY:
        found = _IN_MEMORY.get(str(place.key))
        if found is None:
            raise ModelError(f"weights {place.key} were in the memory of another process")
        return found
    raise ModelError(f"weights file {place.file} is not there")
