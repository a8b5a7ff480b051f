"""The `onnx` dialect: every op of the ONNX standard, latest version, plus what a compiler needs."""

from __future__ import annotations

from xdsl.ir import Dialect

from onnxloom.dialects.onnx import ops
from onnxloom.dialects.onnx.constant import (
    ConstantOp,
    constant_attr,
    constant_value,
    make_constant,
)
from onnxloom.dialects.onnx.dense import DenseStringsAttr
from onnxloom.dialects.onnx.fused import FusedOp
from onnxloom.dialects.onnx.op import NonDeterministic, OnnxOp
from onnxloom.dialects.onnx.ops import *  # noqa: F403 (the one place that re-exports every op)
from onnxloom.dialects.onnx.ops import GENERATED_OPS
from onnxloom.dialects.onnx.structure import (
    CustomOp,
    DimOp,
    EntryPointOp,
    NoValueOp,
    ReturnOp,
    YieldOp,
)
from onnxloom.dialects.onnx.types import STRING_TYPE, MapType, OptType, SeqType, StringType
from onnxloom.dialects.onnx.weights import WeightsAttr, WeightsPlace, weights_attr

OPS_BY_NAME: dict[tuple[str, str], type[OnnxOp]] = {
    (op.domain, op.onnx_name): op for op in (*GENERATED_OPS, ConstantOp)
}
"""(domain, name in the standard) -> op class."""

ONNX = Dialect(
    "onnx",
    [
        *GENERATED_OPS,
        ConstantOp,
        CustomOp,
        DimOp,
        EntryPointOp,
        FusedOp,
        NoValueOp,
        ReturnOp,
        YieldOp,
    ],
    [StringType, SeqType, OptType, MapType, WeightsAttr],
)

__all__ = [
    "ONNX",
    "OPS_BY_NAME",
    "STRING_TYPE",
    "ConstantOp",
    "CustomOp",
    "DenseStringsAttr",
    "DimOp",
    "EntryPointOp",
    "FusedOp",
    "MapType",
    "NoValueOp",
    "NonDeterministic",
    "OnnxOp",
    "OptType",
    "ReturnOp",
    "SeqType",
    "StringType",
    "WeightsAttr",
    "WeightsPlace",
    "YieldOp",
    "constant_attr",
    "constant_value",
    "make_constant",
    "weights_attr",
]
__all__ += ops.__all__
