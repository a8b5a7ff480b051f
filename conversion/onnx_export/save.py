"""How is a model written to disk, weights beside it when they are too large for one file?"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from onnx import TensorProto

from onnxloom.conversion.onnx_export.attributes import Array, raw_bytes, tensor_proto
from onnxloom.conversion.onnx_export.module import Exported
from onnxloom.dialects.onnx.dtypes import element_of_dtype, proto_of_element
from onnxloom.dialects.output_file import OutputFile
from onnxloom.errors import PassError

MAX_PROTO_BYTES = 2_000_000_000
"""A protobuf message may not pass 2 GiB."""
LARGE_BYTES = 1024
"""Smaller tensors stay in the model file."""
ALIGNMENT = 4096
"""Of each tensor in the data file, so that maps of it are aligned."""
_CHUNK = 1 << 24


def write_model(exported: Exported, path: str, external_data: bool | None) -> None:
    """Both files appear whole or not at all. Raises PassError when they cannot be written."""
    if external_data is None:
        external_data = exported.bytes_of_weights() > MAX_PROTO_BYTES
    data_path = Path(path + ".data")
    try:
        if external_data:
            with _DataFile(data_path) as data:
                exported.complete(partial(_external, data, data_path.name))
        else:
            exported.complete()
        data_of_model = exported.model.SerializeToString()
        with OutputFile(path) as file:
            file.write(data_of_model)
    except OSError as error:
        raise PassError(f"onnx export: {error.filename or path or repr(path)}: {error.strerror}") from None


class _DataFile(OutputFile):
    """Knows how far it is written, which a pipe does not."""

    end = 0

    def write(self, data: bytes | bytearray | memoryview) -> int:
        count = super().write(data)
        self.end += count
        return count


def _external(data: _DataFile, location: str, name: str, array: Array) -> TensorProto:
    if array.nbytes < LARGE_BYTES or array.dtype == object:
        return tensor_proto(array, name)
    data.write(bytes(-data.end % ALIGNMENT))
    offset = data.end
    _write_array(data, array)
    tensor = TensorProto(name=name, dims=array.shape, data_location=TensorProto.EXTERNAL)
    tensor.data_type = proto_of_element(element_of_dtype(array.dtype))
    entries = {"location": location, "offset": str(offset), "length": str(data.end - offset)}
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def _write_array(data: _DataFile, array: Array) -> None:
    """In pieces: a memory map is not read into memory whole."""
    flat = array.reshape(-1)
    step = max(8, _CHUNK // max(1, array.itemsize))
    for start in range(0, flat.size, step):
        data.write(raw_bytes(flat[start : start + step]))
