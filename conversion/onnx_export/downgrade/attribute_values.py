"""Values of attributes that came with a later version than the attribute."""

from __future__ import annotations

from onnx import NodeProto

from onnxloom.conversion.onnx_export.downgrade.registry import Downgrade, Refused, downgrade, string_of


def _refuse(node: NodeProto, attribute: str, *values: str) -> None:
    value = string_of(node, attribute, "")
    if value in values:
        raise Refused(f"its {attribute} is {value}")


@downgrade("Pad", below=19)
def pad_mode(node: NodeProto, context: Downgrade) -> None:
    _refuse(node, "mode", "wrap")


@downgrade("Resize", below=19)
def coordinates(node: NodeProto, context: Downgrade) -> None:
    _refuse(node, "coordinate_transformation_mode", "half_pixel_symmetric")


@downgrade("ScatterElements", "ScatterND", below=18)
def scatter_reduction(node: NodeProto, context: Downgrade) -> None:
    _refuse(node, "reduction", "max", "min")
