"""Where do values live? In the memory of the process, which is device `cpu`; there is no other."""

from __future__ import annotations

from typing import Any, Final

from onnxloom.errors import InputError, UnsupportedFeatureError
from onnxloom.lowering.runtime.compat.enums import (
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtMemType,
)

_TYPES: Final = {"cpu": 0, "gpu": 1, "cuda": 1, "dml": 1, "webgpu": 1, "fpga": 2, "npu": 3, "cann": 3}


class OrtDevice:
    """A kind of device and the number of one. Any can be named; only `cpu` holds values."""

    def __init__(
        self, device_type: int | OrtDevice = 0, mem_type: int = 0, vendor_id: int = 0, device_id: int = 0
    ):
        given = device_type
        if isinstance(given, OrtDevice):
            self._key = given._key
        else:
            self._key = (int(given), int(mem_type), int(vendor_id), int(device_id))

    @staticmethod
    def make(
        ort_device_name: str, device_id: int, vendor_id: int | OrtDeviceVendorId = OrtDeviceVendorId.NONE
    ) -> OrtDevice:
        """Raises InputError for a kind nobody knows."""
        kind = _TYPES.get(ort_device_name.lower())
        if kind is None:
            raise InputError(f"Unsupported device type: {ort_device_name}")
        return OrtDevice(kind, 0, max(int(vendor_id), 0), device_id)

    @staticmethod
    def cpu() -> int:
        return 0

    @staticmethod
    def cuda() -> int:
        return 1

    @staticmethod
    def gpu() -> int:
        return 1

    @staticmethod
    def npu() -> int:
        return 3

    @staticmethod
    def default_memory() -> int:
        return 0

    def device_type(self) -> int:
        return self._key[0]

    def device_mem_type(self) -> int:
        return self._key[1]

    def device_vendor_id(self) -> int:
        return self._key[2]

    def device_id(self) -> int:
        return self._key[3]

    def _get_c_device(self) -> OrtDevice:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrtDevice) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)


class OrtMemoryInfo:
    """Which memory it is, as `get_input_memory_infos` tells."""

    def __init__(
        self,
        name: str = "Cpu",
        allocator_type: OrtAllocatorType = OrtAllocatorType.ORT_ARENA_ALLOCATOR,
        device_id: int = 0,
        mem_type: OrtMemType = OrtMemType.DEFAULT,
    ) -> None:
        self.name = name
        self.allocator_type = allocator_type
        self.device_id = device_id
        self.mem_type = mem_type
        self.device_mem_type = OrtDeviceMemoryType.DEFAULT
        self.device_vendor_id = 0

    @staticmethod
    def create_v2(name: str, *_: Any) -> OrtMemoryInfo:
        """What is said besides the name has no effect."""
        return OrtMemoryInfo(name)


def check_cpu(device: str | OrtDevice) -> None:
    """Raises UnsupportedFeatureError for memory of other devices, InputError for what is no device."""
    kind: Any = device if isinstance(device, OrtDevice) else OrtDevice.make(device, 0)
    if kind.device_type():
        raise UnsupportedFeatureError(f"values live in the memory of the CPU; there is no device {device}")
