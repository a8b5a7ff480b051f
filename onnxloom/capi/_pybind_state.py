"""Another name of `onnxruntime_pybind11_state`."""

from onnxloom.capi.onnxruntime_pybind11_state import *  # noqa: F403
