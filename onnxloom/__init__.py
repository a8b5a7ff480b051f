"""onnxloom: ONNX models compiled to loop kernels. Importing this package imports numpy only."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxloom.dialects.custom_ops import CustomOp, TensorInfo
    from onnxloom.errors import (
        ArtifactError,
        CustomOpError,
        DamagedModelError,
        InputError,
        ModelError,
        NoSuchModelError,
        OnnxloomError,
        PassError,
        TerminatedError,
        UnsupportedFeatureError,
        UnsupportedOpError,
        UsageError,
    )
    from onnxloom.lowering.runtime.api import (
        compile,
        load,
    )
    from onnxloom.lowering.runtime.compat.device import (
        OrtDevice,
        OrtMemoryInfo,
    )
    from onnxloom.lowering.runtime.compat.enums import (
        ExecutionMode,
        ExecutionOrder,
        GraphOptimizationLevel,
        ModelPackageWriteMode,
        OrtAllocatorType,
        OrtCompileApiFlags,
        OrtDeviceMemoryType,
        OrtDeviceVendorId,
        OrtExecutionProviderDevicePolicy,
        OrtHardwareDeviceType,
        OrtMemoryInfoDeviceType,
        OrtMemType,
        OrtSparseFormat,
    )
    from onnxloom.lowering.runtime.compat.environment import (
        OrtEpDevice,
        OrtHardwareDevice,
        copy_tensors,
        create_and_register_allocator,
        create_and_register_allocator_v2,
        disable_telemetry_events,
        enable_telemetry_events,
        get_build_info,
        get_device,
        get_ep_devices,
        get_version_string,
        has_collective_ops,
        preload_dlls,
        print_debug_info,
        set_default_logger_callback,
        set_default_logger_severity,
        set_default_logger_verbosity,
        set_global_thread_pool_sizes,
        set_seed,
    )
    from onnxloom.lowering.runtime.compat.io_binding import (
        IOBinding,
    )
    from onnxloom.lowering.runtime.compat.io_binding import IOBinding as SessionIOBinding
    from onnxloom.lowering.runtime.compat.ort_value import (
        OrtValue,
    )
    from onnxloom.lowering.runtime.compat.providers import (
        ProviderWarning,
        get_all_providers,
        get_available_providers,
        register_execution_provider_library,
        unregister_execution_provider_library,
    )
    from onnxloom.lowering.runtime.compat.refused import (
        AdapterFormat,
        LoraAdapter,
        ModelCompiler,
        ModelPackage,
        ModelPackageComponentContext,
        ModelPackageContext,
        ModelPackageOptions,
        OrtArenaCfg,
        OrtEpAssignedNode,
        OrtEpAssignedSubgraph,
        OrtEpContextData,
        OrtEpContextDataBuffer,
        OrtExternalInitializerInfo,
        OrtSyncStream,
        SparseTensor,
    )
    from onnxloom.lowering.runtime.compat.run_options import (
        RunOptions,
    )
    from onnxloom.lowering.runtime.compat.session import (
        InferenceSession,
    )
    from onnxloom.lowering.runtime.compat.session_options import (
        SessionOptions,
    )
    from onnxloom.lowering.runtime.compat.stand_in import (
        as_onnxruntime,
    )
    from onnxloom.lowering.runtime.model import (
        CompiledModel,
        HostStepWarning,
        ModelMetadata,
        NodeArg,
    )

__version__ = "0.1.0"
__author__ = "onnxloom"

# What onnxruntime says of itself under these names.
package_name = "onnxloom"
version = __version__
cuda_version = ""
import_capi_exception = None

__all__ = [
    "AdapterFormat",
    "ArtifactError",
    "CompiledModel",
    "CustomOp",
    "CustomOpError",
    "DamagedModelError",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "HostStepWarning",
    "IOBinding",
    "InferenceSession",
    "InputError",
    "LoraAdapter",
    "ModelCompiler",
    "ModelError",
    "ModelMetadata",
    "ModelPackage",
    "ModelPackageComponentContext",
    "ModelPackageContext",
    "ModelPackageOptions",
    "ModelPackageWriteMode",
    "NoSuchModelError",
    "NodeArg",
    "OnnxloomError",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtCompileApiFlags",
    "OrtDevice",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph",
    "OrtEpContextData",
    "OrtEpContextDataBuffer",
    "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy",
    "OrtExternalInitializerInfo",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
    "OrtSyncStream",
    "OrtValue",
    "PassError",
    "ProviderWarning",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "SparseTensor",
    "TensorInfo",
    "TerminatedError",
    "UnsupportedFeatureError",
    "UnsupportedOpError",
    "UsageError",
    "as_onnxruntime",
    "compile",
    "copy_tensors",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "load",
    "preload_dlls",
    "print_debug_info",
    "register_execution_provider_library",
    "set_default_logger_callback",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "unregister_execution_provider_library",
]

_HOMES = {
    "errors": (
        "ArtifactError",
        "CustomOpError",
        "DamagedModelError",
        "InputError",
        "ModelError",
        "NoSuchModelError",
        "OnnxloomError",
        "PassError",
        "TerminatedError",
        "UnsupportedFeatureError",
        "UnsupportedOpError",
        "UsageError",
    ),
    "lowering.runtime.api": (
        "compile",
        "load",
    ),
    "lowering.runtime.compat.device": (
        "OrtDevice",
        "OrtMemoryInfo",
    ),
    "lowering.runtime.compat.enums": (
        "ExecutionMode",
        "ExecutionOrder",
        "GraphOptimizationLevel",
        "ModelPackageWriteMode",
        "OrtAllocatorType",
        "OrtCompileApiFlags",
        "OrtDeviceMemoryType",
        "OrtDeviceVendorId",
        "OrtExecutionProviderDevicePolicy",
        "OrtHardwareDeviceType",
        "OrtMemType",
        "OrtMemoryInfoDeviceType",
        "OrtSparseFormat",
    ),
    "lowering.runtime.compat.environment": (
        "OrtEpDevice",
        "OrtHardwareDevice",
        "copy_tensors",
        "create_and_register_allocator",
        "create_and_register_allocator_v2",
        "disable_telemetry_events",
        "enable_telemetry_events",
        "get_build_info",
        "get_device",
        "get_ep_devices",
        "get_version_string",
        "has_collective_ops",
        "preload_dlls",
        "print_debug_info",
        "set_default_logger_callback",
        "set_default_logger_severity",
        "set_default_logger_verbosity",
        "set_global_thread_pool_sizes",
        "set_seed",
    ),
    "lowering.runtime.compat.io_binding": ("IOBinding",),
    "lowering.runtime.compat.ort_value": ("OrtValue",),
    "lowering.runtime.compat.providers": (
        "ProviderWarning",
        "get_all_providers",
        "get_available_providers",
        "register_execution_provider_library",
        "unregister_execution_provider_library",
    ),
    "lowering.runtime.compat.refused": (
        "AdapterFormat",
        "LoraAdapter",
        "ModelCompiler",
        "ModelPackage",
        "ModelPackageComponentContext",
        "ModelPackageContext",
        "ModelPackageOptions",
        "OrtArenaCfg",
        "OrtEpAssignedNode",
        "OrtEpAssignedSubgraph",
        "OrtEpContextData",
        "OrtEpContextDataBuffer",
        "OrtExternalInitializerInfo",
        "OrtSyncStream",
        "SparseTensor",
    ),
    "lowering.runtime.compat.run_options": ("RunOptions",),
    "lowering.runtime.compat.session": ("InferenceSession",),
    "lowering.runtime.compat.session_options": ("SessionOptions",),
    "lowering.runtime.compat.stand_in": ("as_onnxruntime",),
    "lowering.runtime.model": (
        "CompiledModel",
        "HostStepWarning",
        "ModelMetadata",
        "NodeArg",
    ),
    "dialects.custom_ops": ("CustomOp", "TensorInfo"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_OTHER_NAMES = {"SessionIOBinding": "IOBinding"}
_SUBMODULES = {"capi": "capi", "onnxruntime_validation": "capi.onnxruntime_validation"}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"onnxloom.{_SUBMODULES[name]}")
    known = _OTHER_NAMES.get(name, name)
    home = _HOME_OF.get(known)
    if home is None:
        raise AttributeError(f"module 'onnxloom' has no attribute {name!r}")
    value = getattr(import_module(f"onnxloom.{home}"), known)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_SUBMODULES])
