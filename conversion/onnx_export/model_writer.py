"""How are the graphs of a whole model written, before any data are copied into them?"""

from __future__ import annotations

from onnx import GraphProto
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation

from onnxloom.conversion.onnx_export.names import Names
from onnxloom.conversion.onnx_export.node import NodeWriter, value_info
from onnxloom.conversion.onnx_import.signature import signature
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import OVERRIDABLE
from onnxloom.errors import PassError


class ModelWriter(NodeWriter):
    """Writes initializers by name only: their data are added when nothing is copied any more."""

    def __init__(self, names: Names, constants: dict[str, Attribute], types: dict[str, Attribute]) -> None:
        super().__init__(names)
        self.constants = constants
        self.types = types
        self.has_old_trees = False
        self.overridable: dict[str, Attribute] = {}
        """Inputs with a default value: name and type."""

    def write_graph(self, graph: GraphProto, block: Block, name: str) -> None:
        super().write_graph(graph, block, name)
        self.types.update((self.names.of(arg), arg.type) for arg in block.args)

    def write_ops(self, graph: GraphProto, block: Block) -> None:
        self.types.update((self.names.of(arg), arg.type) for arg in block.args)
        super().write_ops(graph, block)

    def write_op(self, graph: GraphProto, op: Operation) -> None:
        inputs = [self.names.of(operand) for operand in op.operands]
        outputs = self._outputs(op)
        self.types.update(zip(outputs, op.result_types, strict=True))
        graph.node.append(self.node(op, inputs, outputs))
        if isinstance(op, onnx.CustomOp):
            named = zip(outputs, op.result_types, strict=True)
            graph.value_info.extend(value_info(name, t) for name, t in named if name)
        elif op.name in ("onnx.TreeEnsembleClassifier", "onnx.TreeEnsembleRegressor"):
            self.has_old_trees = True

    def _outputs(self, op: Operation) -> list[str]:
        """Names of the results; optional ones that nothing reads are left out."""
        names = [self.names.of(result) for result in op.results]
        if not isinstance(op, onnx.OnnxOp) or (op.domain, op.onnx_name) not in onnx.OPS_BY_NAME:
            return names
        formals = signature(op.domain, op.onnx_name).outputs
        for index, (formal, result) in enumerate(zip(formals, op.results, strict=False)):
            if formal.is_optional and index and not result.uses.get_length():
                names[index] = ""
        return names

    def write_initializer(self, graph: GraphProto, op: onnx.ConstantOp) -> None:
        value: Attribute | None = op.value if op.value is not None else op.sparse_value
        if value is None:
            raise PassError("onnx export: onnx.Constant has no value")
        wish = op.attributes.get("onnx_node_name")
        name = self.names.wish(op.output, wish.data if isinstance(wish, StringAttr) else "")
        self.constants[name] = value
        self.types[name] = op.output.type
        graph.initializer.add(name=name)
        if OVERRIDABLE in op.attributes:
            self.overridable[name] = op.attributes[OVERRIDABLE]
