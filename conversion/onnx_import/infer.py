"""What does the standard's shape inference know about the values of the main graph?

Declared types are removed first, except where only the model can know (results of foreign ops).
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import GraphProto, ModelProto, TypeProto, shape_inference
from onnx.checker import ValidationError
from onnx.onnx_cpp2py_export.shape_inference import InferenceError


def declared_types(graph: GraphProto) -> dict[str, TypeProto]:
    """The types the model declares, by value name."""
    declared = {info.name: info.type for info in graph.value_info}
    declared.update((info.name, info.type) for info in graph.output)
    return declared


def inferred_types(
    model: ModelProto, declared: Mapping[str, TypeProto], standard_domains: frozenset[str]
) -> dict[str, TypeProto]:
    """Types by value name, of the main graph only; nothing when the inference refuses the model.

    `model` has its functions inlined and every op at its latest version; it is changed.
    """
    graph = model.graph
    foreign = {
        name for node in graph.node if node.domain not in standard_domains for name in node.output if name
    }
    del graph.value_info[:]
    for name in sorted(foreign & declared.keys()):
        graph.value_info.add(name=name, type=declared[name])
    for output in graph.output:
        if output.name not in foreign:
            output.ClearField("type")
    try:
        result = shape_inference.infer_shapes(model)
    except (InferenceError, ValidationError, ValueError, RuntimeError):
        return {}
    return {
        info.name: info.type
        for infos in (result.graph.value_info, result.graph.output)
        for info in infos
        if info.type.WhichOneof("value") is not None
    }
