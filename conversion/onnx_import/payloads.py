"""Where are the raw data of each tensor of a skeleton?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnx import TensorProto

from onnxloom.conversion.onnx_import.external_data import ExternalData
from onnxloom.conversion.onnx_import.tensors import Array, Buffer, array_of_tensor, checked_dims, raw_length
from onnxloom.dialects.onnx.dtypes import dtype_of_element, element_of_proto
from onnxloom.errors import ModelError

Payload = Buffer | TensorProto
"""Raw data, or the tensor of the user's own proto that holds them."""


class Payloads:
    """Gives the array of each tensor, wherever its data are."""

    def __init__(
        self,
        mark: str,
        payloads: Sequence[Payload],
        folder: Path | None,
        external_data_dirs: Sequence[Path] = (),
    ) -> None:
        self.mark = mark
        self.payloads = payloads
        self.external = ExternalData(folder, external_data_dirs)

    def raw(self, tensor: TensorProto, what: str) -> Buffer | None:
        """Data that are not in the skeleton's own tensor; None when they are."""
        payload = self._marked(tensor)
        if isinstance(payload, TensorProto):
            return payload.raw_data
        if payload is not None:
            return payload
        if tensor.data_location != TensorProto.EXTERNAL:
            return None
        if tensor.data_type == TensorProto.STRING:
            raise ModelError(f"{what} holds strings as external data; expected numbers")
        dtype = dtype_of_element(element_of_proto(tensor.data_type))
        length = raw_length(checked_dims(tensor, what), dtype)
        return self.external.read({entry.key: entry.value for entry in tensor.external_data}, length, what)

    def _marked(self, tensor: TensorProto) -> Payload | None:
        # The mark comes last: cutting appends it.
        for entry in reversed(tensor.external_data):
            if entry.key == self.mark:
                return self.payloads[int(entry.value)]
        return None

    def array(self, tensor: TensorProto, what: str) -> Array:
        """The array of a tensor; a view of the file, of its map, or of the given bytes where possible."""
        if tensor.data_location != TensorProto.EXTERNAL and not tensor.external_data:
            return array_of_tensor(tensor, what)
        return array_of_tensor(tensor, what, self.raw(tensor, what))
