"""The classes that onnxruntime writes in Python."""

from onnxloom.lowering.runtime.compat.device import OrtDevice
from onnxloom.lowering.runtime.compat.enums import OrtDeviceVendorId
from onnxloom.lowering.runtime.compat.environment import copy_tensors
from onnxloom.lowering.runtime.compat.io_binding import IOBinding
from onnxloom.lowering.runtime.compat.ort_value import OrtValue
from onnxloom.lowering.runtime.compat.refused import AdapterFormat, ModelCompiler, SparseTensor
from onnxloom.lowering.runtime.compat.session import InferenceSession

Session = InferenceSession

__all__ = [
    "AdapterFormat",
    "IOBinding",
    "InferenceSession",
    "ModelCompiler",
    "OrtDevice",
    "OrtDeviceVendorId",
    "OrtValue",
    "Session",
    "SparseTensor",
    "copy_tensors",
]
