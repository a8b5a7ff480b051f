"""The `loom` dialect: loop kernels and the program that launches them. It knows nothing of ONNX."""

from xdsl.ir import Dialect

from onnxloom.dialects.loom.axis_space import AxisSplitOp, SqueezeDimsOp
from onnxloom.dialects.loom.broadcast_strides import BroadcastStridesOp
from onnxloom.dialects.loom.channels_last_space import ChannelsLastSpaceOp
from onnxloom.dialects.loom.check import CheckOp
from onnxloom.dialects.loom.conv_space import ConvSpaceOp, ImageSpaceOp
from onnxloom.dialects.loom.kernel import EndOp, KernelOp, MicrokernelOp
from onnxloom.dialects.loom.matmul_space import MatmulDimsOp, MatmulSpaceOp
from onnxloom.dialects.loom.movement import (
    ConcatSpaceOp,
    ExpandSpaceOp,
    PadSpaceOp,
    SliceSpaceOp,
    SplitSpaceOp,
    TileSpaceOp,
)
from onnxloom.dialects.loom.plan_time import (
    BroadcastDimsOp,
    BroadcastSpaceOp,
    DimOp,
    DimsEqualOp,
    ExtractOp,
    NeedValue,
    PlanTensor,
    PlanTimeOp,
    ReshapeSizesOp,
    WorkersOp,
    known,
)
from onnxloom.dialects.loom.program import (
    ConstantOp,
    HostOp,
    IfOp,
    LaunchOp,
    LoopOp,
    PackOp,
    ProgramOp,
    ReturnOp,
    ScanOp,
    ViewOp,
    YieldOp,
)
from onnxloom.dialects.loom.reduction_space import ReductionSpaceOp
from onnxloom.dialects.loom.resize_space import ResizeSpaceOp
from onnxloom.dialects.loom.signal_space import DftSpaceOp, StftSpaceOp
from onnxloom.dialects.loom.tasks import TASKS, WorkerOp, task_loop
from onnxloom.dialects.loom.transposed_space import TransposedSpaceOp
from onnxloom.dialects.loom.window_space import WindowSpaceOp
from onnxloom.dialects.loom.winograd_space import WinogradSpaceOp

LOOM = Dialect(
    "loom",
    [
        KernelOp, MicrokernelOp, EndOp, WorkerOp, WorkersOp,
        ProgramOp, ReturnOp, ConstantOp, LaunchOp, CheckOp, ViewOp, PackOp, HostOp,
        IfOp, LoopOp, ScanOp, YieldOp,
        DimOp, DimsEqualOp, ExtractOp, BroadcastSpaceOp, BroadcastDimsOp, BroadcastStridesOp,
        ReshapeSizesOp, MatmulSpaceOp, MatmulDimsOp,
        ConvSpaceOp, ImageSpaceOp, TransposedSpaceOp, ChannelsLastSpaceOp, WinogradSpaceOp,
        ConcatSpaceOp, ExpandSpaceOp, PadSpaceOp, SliceSpaceOp,
        SplitSpaceOp, TileSpaceOp, ReductionSpaceOp, WindowSpaceOp,
        AxisSplitOp, ResizeSpaceOp, SqueezeDimsOp, DftSpaceOp, StftSpaceOp,
    ],
    [],
)  # fmt: skip

__all__ = [
    "LOOM",
    "TASKS",
    "AxisSplitOp",
    "BroadcastDimsOp",
    "BroadcastSpaceOp",
    "BroadcastStridesOp",
    "ChannelsLastSpaceOp",
    "CheckOp",
    "ConcatSpaceOp",
    "ConstantOp",
    "ConvSpaceOp",
    "DftSpaceOp",
    "DimOp",
    "DimsEqualOp",
    "EndOp",
    "ExpandSpaceOp",
    "ExtractOp",
    "HostOp",
    "IfOp",
    "ImageSpaceOp",
    "KernelOp",
    "LaunchOp",
    "LoopOp",
    "MatmulDimsOp",
    "MatmulSpaceOp",
    "MicrokernelOp",
    "NeedValue",
    "PackOp",
    "PadSpaceOp",
    "PlanTensor",
    "PlanTimeOp",
    "ProgramOp",
    "ReductionSpaceOp",
    "ReshapeSizesOp",
    "ResizeSpaceOp",
    "ReturnOp",
    "ScanOp",
    "SliceSpaceOp",
    "SplitSpaceOp",
    "SqueezeDimsOp",
    "TileSpaceOp",
    "StftSpaceOp",
    "TransposedSpaceOp",
    "ViewOp",
    "WindowSpaceOp",
    "WinogradSpaceOp",
    "WorkerOp",
    "WorkersOp",
    "YieldOp",
    "known",
    "task_loop",
]
