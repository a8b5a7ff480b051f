"""Which type is the more precise one, for sequences and optionals of tensors?"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, UnrankedTensorType
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.types import OptType, SeqType

AnyTensor = TensorType[Attribute]


def more_precise(declared: Attribute, inferred: Attribute) -> Attribute:
    """What both say together; where they contradict each other, the inferred type."""
    if isinstance(declared, SeqType) and isinstance(inferred, SeqType):
        return SeqType(more_precise(declared.element_type, inferred.element_type))
    if isinstance(declared, OptType) and isinstance(inferred, OptType):
        return OptType(more_precise(declared.element_type, inferred.element_type))
    if isinstance(declared, TensorType) and isinstance(inferred, TensorType | UnrankedTensorType):
        return _tensor(cast(AnyTensor, declared), cast(AnyTensor | UnrankedTensorType[Attribute], inferred))
    return inferred


def _tensor(declared: AnyTensor, inferred: AnyTensor | UnrankedTensorType[Attribute]) -> Attribute:
    if declared.element_type != inferred.element_type:
        return inferred
    if not isinstance(inferred, TensorType):
        return declared
    ours, theirs = declared.get_shape(), inferred.get_shape()
    if len(ours) != len(theirs):
        return inferred
    dims = [a if b == DYNAMIC_INDEX else b for a, b in zip(ours, theirs, strict=True)]
    return TensorType(declared.element_type, dims, declared.encoding)
