"""What is the list of values that the lower level of onnxruntime's interface hands around?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxloom.lowering.runtime.compat.ort_value import OrtValue


class OrtValueVector(list[OrtValue]):
    """A list of values."""

    def push_back(self, value: Any) -> None:
        self.append(OrtValue(value))

    def reserve(self, count: int) -> None:
        """Nothing to do: lists grow as they need."""

    def shrink_to_fit(self) -> None:
        """Nothing to do."""

    def element_type_at(self, idx: int) -> int:
        """Number of the element type in TensorProto."""
        return self[idx].element_type()

    def dlpack_at(self, idx: int) -> Any:
        return self[idx].to_dlpack()

    def to_dlpacks(self, to_tensor: Any) -> Sequence[Any]:
        """Each value as a DLPack capsule, or what `to_tensor` makes of it."""
        capsules = [value.to_dlpack() for value in self]
        return capsules if to_tensor is None else [to_tensor(capsule) for capsule in capsules]
