"""What does onnxruntime's interface tell about, or set for, the whole process?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from onnxloom.errors import InputError
from onnxloom.lowering.runtime.compat.device import OrtMemoryInfo
from onnxloom.lowering.runtime.compat.enums import OrtDeviceMemoryType, OrtHardwareDeviceType
from onnxloom.lowering.runtime.compat.providers import CPU

FOLLOWED: Final = "1.32.0"
"""The version of onnxruntime whose interface this is."""

_severity = 2


@dataclass(frozen=True)
class OrtHardwareDevice:
    """The processor."""

    type: OrtHardwareDeviceType = OrtHardwareDeviceType.CPU
    vendor: str = ""
    vendor_id: int = 0
    device_id: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class OrtEpDevice:
    """What runs models: the CPU."""

    ep_name: str = CPU
    ep_vendor: str = "onnxloom"
    ep_metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    ep_options: Mapping[str, str] = field(default_factory=dict[str, str])
    device: OrtHardwareDevice = OrtHardwareDevice()

    def memory_info(self, memory_type: OrtDeviceMemoryType = OrtDeviceMemoryType.DEFAULT) -> OrtMemoryInfo:
        return OrtMemoryInfo()


def get_device() -> str:
    return "CPU"


def get_ep_devices() -> list[OrtEpDevice]:
    return [OrtEpDevice()]


def get_version_string() -> str:
    """The version of onnxruntime whose interface this is; that of onnxloom is `onnxloom.__version__`."""
    return FOLLOWED


def get_build_info() -> str:
    return f"onnxloom, with the interface of onnxruntime {FOLLOWED}"


def has_collective_ops() -> bool:
    return False


def set_default_logger_severity(severity: int) -> None:
    """From 3 (errors) on, sessions made from then on do not warn of steps that run in Python."""
    global _severity
    if type(severity) is not int or not 0 <= severity <= 4:
        raise InputError(f"severity is {severity!r}; expected 0 (verbose) to 4 (fatal)")
    _severity = severity


def severity() -> int:
    """What `set_default_logger_severity` was told last; 2 by default."""
    return _severity


def set_default_logger_verbosity(verbosity: int) -> None:
    """Without effect."""


def set_default_logger_callback(callback: Callable[..., Any] | None) -> None:
    """Without effect: what there is to say is said by Python's warnings."""


def set_seed(seed: int) -> None:
    """Without effect: Random ops without a seed of their own draw anew in every run."""


def set_global_thread_pool_sizes(intra_op: int, inter_op: int) -> None:
    """Without effect: threads are told of per session."""


def enable_telemetry_events() -> None:
    """Without effect: nothing is ever reported to anyone."""


def disable_telemetry_events() -> None:
    """Without effect: nothing is ever reported to anyone."""


def preload_dlls(*_: Any, **__: Any) -> None:
    """Without effect: there are none."""


def print_debug_info() -> None:
    """Prints the versions of what matters here."""
    import platform

    import numpy as np

    from onnxloom import __version__

    print(f"onnxloom {__version__} ({get_build_info()})")
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.platform()}")


def create_and_register_allocator(*_: Any) -> None:
    """Without effect: memory is planned for each model."""


def create_and_register_allocator_v2(*_: Any) -> None:
    """Without effect."""


def copy_tensors(src: Any, dst: Any, stream: Any = None) -> None:
    """Copies tensors into the memory of others, pair by pair."""
    for one, other in zip(src, dst, strict=True):
        other.update_inplace(one)
