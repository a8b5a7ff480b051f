"""Which `NodeProto` stands for one operation?

Ops with regions get their subgraphs as graph attributes; values captured from outside appear in them
by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import cast

from onnx import AttributeProto, GraphProto, NodeProto, ValueInfoProto
from xdsl.dialects.builtin import ArrayAttr, NoneType, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from onnxloom.conversion.onnx_export.attributes import attribute_proto, tensor_array, tensor_proto
from onnxloom.conversion.onnx_export.names import Names
from onnxloom.conversion.onnx_export.types import proto_of_type
from onnxloom.conversion.onnx_import.signature import signature
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.annotations import FROM_METADATA, PREFIX
from onnxloom.dialects.onnx.captures import captured_values
from onnxloom.errors import PassError

Captured = Mapping[SSAValue, str] | Callable[[SSAValue], str]


def op_to_node(
    op: Operation,
    input_names: Sequence[str],
    output_names: Sequence[str],
    *,
    captured: Captured | None = None,
) -> NodeProto:
    """One node; `input_names` and `output_names` are one per operand and result ("" when left out).

    `captured` names the values from outside that the op's regions read (`captured_values(op)`).
    Raises PassError for an op the ONNX standard does not have.
    """
    names = Names(prefix=f"{next(filter(None, output_names), 'n')}/")
    for value, name in [*zip(op.operands, input_names, strict=True)]:
        names.bind(value, name)
    for name in output_names:
        names.reserve(name)
    for value in captured_values(op):
        if callable(captured):
            names.bind(value, captured(value))
        elif captured is not None and value in captured:
            names.bind(value, captured[value])
        elif not names.knows(value):
            raise PassError(f"onnx export: {op.name} reads a value from outside that has no name")
    return NodeWriter(names).node(op, input_names, output_names)


class NodeWriter:
    """Writes operations as nodes of one model; `names` is shared by all its graphs."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def node(self, op: Operation, input_names: Sequence[str], output_names: Sequence[str]) -> NodeProto:
        node = NodeProto(input=_trimmed(input_names), output=_trimmed(output_names))
        title = op.attributes.get("onnx_node_name")
        if isinstance(title, StringAttr):
            node.name = title.data
        for name in FROM_METADATA:
            if name in op.attributes:
                note = op.attributes[name]
                node.metadata_props.add(key=name, value=note.data if isinstance(note, StringAttr) else "")
        if isinstance(op, onnx.CustomOp):
            self._write_foreign(node, op)
        elif isinstance(op, onnx.DimOp):
            self._write_dim(node, op)
        elif isinstance(op, onnx.ConstantOp):
            self._write_constant(node, op)
        elif isinstance(op, onnx.OnnxOp) and (op.domain, op.onnx_name) in onnx.OPS_BY_NAME:
            self._write_standard(node, op)
        else:
            raise PassError(f"onnx export: {op.name} is not an op of the ONNX standard")
        return node

    def _write_standard(self, node: NodeProto, op: onnx.OnnxOp) -> None:
        node.op_type, node.domain = op.onnx_name, op.domain
        schema = signature(op.domain, op.onnx_name)
        for name in sorted(schema.kinds):
            attr = op.properties.get(name, op.attributes.get(name))  # an IntegerAttr of 0 is falsy
            if attr is not None:
                node.attribute.append(attribute_proto(name, attr, schema.kinds[name]))
        for name, region in zip(schema.graphs, op.regions, strict=True):
            if region.first_block is not None:
                self._add_graph(node, name, region)

    def _write_constant(self, node: NodeProto, op: onnx.ConstantOp) -> None:
        node.op_type = "Constant"
        value: Attribute | None = op.value if op.value is not None else op.sparse_value
        if value is None:
            raise PassError("onnx export: onnx.Constant has no value")
        node.attribute.append(attribute_proto("value", value))

    def _write_dim(self, node: NodeProto, op: onnx.DimOp) -> None:
        """One dim of a tensor is a slice of its shape."""
        from onnxloom.dialects.onnx.access import int_attr

        axis = int_attr(op, "axis")
        node.op_type = "Shape"
        node.attribute.add(name="start", i=axis, type=AttributeProto.INT)
        node.attribute.add(name="end", i=axis + 1, type=AttributeProto.INT)

    def _write_foreign(self, node: NodeProto, op: onnx.CustomOp) -> None:
        node.op_type = op.function_name.data
        node.domain = op.domain_name.data
        for name, attr in sorted(op.attributes.items()):
            if name != "onnx_node_name" and not name.startswith(PREFIX):
                node.attribute.append(attribute_proto(name, attr))
        names = cast(ArrayAttr[StringAttr] | None, op.graph_names)
        graphs = [] if names is None else [name.data for name in names.data]
        for name, region in zip(graphs, op.regions, strict=True):
            self._add_graph(node, name, region)

    def _add_graph(self, node: NodeProto, name: str, region: Region) -> None:
        list_name, bracket, _ = name.partition("[")
        if not bracket:
            attribute = node.attribute.add(name=name, type=AttributeProto.GRAPH)
            self.write_graph(attribute.g, region.block, name)
            return
        found = next((a for a in node.attribute if a.name == list_name), None)
        if found is None:
            found = node.attribute.add(name=list_name, type=AttributeProto.GRAPHS)
        self.write_graph(found.graphs.add(), region.block, list_name)

    # Graphs

    def write_graph(self, graph: GraphProto, block: Block, name: str) -> None:
        """The body of a region: its block arguments are the inputs, its Yield gives the outputs."""
        graph.name = name
        for arg in block.args:
            graph.input.append(value_info(self.names.of(arg), arg.type))
        last = block.last_op
        if last is None:
            raise PassError(f"onnx export: graph {name} is empty; expected ops ended by onnx.Yield")
        own: set[SSAValue] = {value for op in block.ops for value in op.results}
        # After the ops: the results of a fused op are named by what its body yields.
        self.write_ops(graph, block)
        outputs = self.output_names(graph, last.operands, own)
        for source, output in outputs.identities:
            graph.node.add(op_type="Identity", input=[source], output=[output])
        for output, value in zip(outputs.names, last.operands, strict=True):
            graph.output.append(value_info(output, value.type))

    def write_ops(self, graph: GraphProto, block: Block) -> None:
        """All ops of a block but its terminator; constants become initializers."""
        for op in block.ops:
            if op is block.last_op or isinstance(op, onnx.NoValueOp):
                continue
            if isinstance(op, onnx.FusedOp):
                self.write_fused(graph, op)
                continue
            if isinstance(op, onnx.ConstantOp):
                self.write_initializer(graph, op)
                continue
            self.write_op(graph, op)

    def write_op(self, graph: GraphProto, op: Operation) -> None:
        """One op that has a node of its own."""
        inputs = [self.names.of(operand) for operand in op.operands]
        outputs = [self.names.of(result) for result in op.results]
        graph.node.append(self.node(op, inputs, outputs))

    def write_fused(self, graph: GraphProto, op: onnx.FusedOp) -> None:
        """The ops of the body, in place."""
        body = op.body.block
        for arg, operand in zip(body.args, op.operands, strict=True):
            self.names.bind(arg, self.names.of(operand))
        self.write_ops(graph, body)
        last = body.last_op
        for result, value in zip(op.results, last.operands if last is not None else (), strict=True):
            self.names.bind(result, self.names.of(value))

    def write_initializer(self, graph: GraphProto, op: onnx.ConstantOp) -> None:
        value: Attribute | None = op.value if op.value is not None else op.sparse_value
        if value is None:
            raise PassError("onnx export: onnx.Constant has no value")
        wish = op.attributes.get("onnx_node_name")
        name = self.names.wish(op.output, wish.data if isinstance(wish, StringAttr) else "")
        graph.initializer.append(tensor_proto(tensor_array(value), name))

    def output_names(self, graph: GraphProto, values: Sequence[SSAValue], own: Set[SSAValue]) -> GraphOutputs:
        """Names of a subgraph's outputs; each must be a value of its own that nothing else is."""
        names: list[str] = []
        identities: list[tuple[str, str]] = []
        seen: set[SSAValue] = set()
        for value in values:
            if isinstance(value.type, NoneType):
                raise PassError(f"onnx export: graph {graph.name} gives a value that is left out")
            if value in own and value not in seen:
                seen.add(value)
                names.append(self.names.of(value))
                continue
            names.append(self.names.fresh())
            identities.append((self.names.of(value), names[-1]))
        return GraphOutputs(names, identities)


class GraphOutputs:
    """Names of a graph's outputs, and the Identity nodes that make them its own."""

    def __init__(self, names: list[str], identities: list[tuple[str, str]]) -> None:
        self.names = names
        self.identities = identities


def value_info(name: str, ir_type: Attribute, dim_params: Mapping[int, str] | None = None) -> ValueInfoProto:
    return ValueInfoProto(name=name, type=proto_of_type(ir_type, dim_params))


def _trimmed(names: Sequence[str]) -> list[str]:
    """Without the names left out at the end."""
    kept = list(names)
    while kept and not kept[-1]:
        kept.pop()
    return kept
