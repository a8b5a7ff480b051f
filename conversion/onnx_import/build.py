"""How does a graph (functions inlined, every op at its latest version) become operations?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto
from xdsl.dialects.builtin import NoneType, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from onnxloom.conversion.onnx_import.attributes import (
    attribute_of_proto,
    kind_name,
    kind_of,
    tensor_attribute,
)
from onnxloom.conversion.onnx_import.control_flow import CONTROL_FLOW, body_types, control_flow_types
from onnxloom.conversion.onnx_import.custom_types import custom_types
from onnxloom.conversion.onnx_import.payloads import Payloads
from onnxloom.conversion.onnx_import.result_types import LIKE_INPUT, ResultTypes, own_element, unranked
from onnxloom.conversion.onnx_import.scope import Scope, node_title
from onnxloom.conversion.onnx_import.signature import Signature, signature
from onnxloom.conversion.onnx_import.tensors import Array, array_of_sparse
from onnxloom.conversion.onnx_import.types import type_of_proto
from onnxloom.dialects import onnx
from onnxloom.dialects.custom_ops import custom_op
from onnxloom.dialects.onnx.annotations import FROM_METADATA
from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES
from onnxloom.errors import ModelError, UnsupportedOpError

_NONE = NoneType()
_CONSTANT_VALUES = {
    "value_float": AttributeProto.FLOAT,
    "value_floats": AttributeProto.FLOATS,
    "value_int": AttributeProto.INT,
    "value_ints": AttributeProto.INTS,
    "value_string": AttributeProto.STRING,
    "value_strings": AttributeProto.STRINGS,
}


def normal_domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


class GraphBuilder:
    """Builds the operations of a graph and of the graphs inside it."""

    def __init__(
        self,
        payloads: Payloads,
        types: ResultTypes,
        file: str | None,
        unique_names: frozenset[str],
        standard_domains: frozenset[str],
    ) -> None:
        self.payloads = payloads
        self.types = types
        self.file = file
        self.unique_names = unique_names
        self.standard_domains = standard_domains

    # Graphs

    def fill(self, block: Block, graph: GraphProto, scope: Scope) -> list[SSAValue]:
        """Adds the graph's constants and nodes to `block`; gives the values of its outputs."""
        ops: list[Operation] = []
        self._add_initializers(graph, scope, ops)
        for index, node in enumerate(graph.node):
            self._add_node(node, node_title(node, index), scope, ops)
        outputs = [scope.output(output.name, graph) for output in graph.output]
        block.add_ops(ops)
        return outputs

    def _add_initializers(self, graph: GraphProto, scope: Scope, ops: list[Operation]) -> None:
        for tensor in graph.initializer:
            what = f"initializer {tensor.name!r}"
            value = tensor_attribute(tensor, self.payloads, what, self._place(tensor.name))
            self._add_constant(value, tensor.name, what, scope, ops)
        for sparse in graph.sparse_initializer:
            name = sparse.values.name
            what = f"sparse initializer {name!r}"
            self._add_constant(
                onnx.constant_attr(array_of_sparse(sparse, what, self.payloads.array)), name, what, scope, ops
            )

    def _add_constant(
        self, value: Attribute, name: str, what: str, scope: Scope, ops: list[Operation]
    ) -> None:
        constant = onnx.make_constant(value)
        constant.attributes["onnx_node_name"] = StringAttr(name)
        ops.append(constant)
        scope.define(name, constant.output, what)

    def _place(self, name: str) -> onnx.WeightsPlace | None:
        """Where text can find the data again: only under a name that is unique in the file."""
        if self.file is None or name not in self.unique_names:
            return None
        return onnx.WeightsPlace(self.file, name)

    # Nodes

    def _add_node(self, node: NodeProto, title: str, scope: Scope, ops: list[Operation]) -> None:
        domain = normal_domain(node.domain)
        operands = [scope.lookup(name, title) if name else scope.no_value(ops) for name in node.input]
        if domain == "" and node.op_type == "Constant":
            op: Operation = self._constant(node, title)
        elif domain in self.standard_domains:
            op = self._standard(node, domain, title, operands, scope, ops)
        else:
            op = self._foreign(node, domain, title, operands, scope)
        if node.name:
            op.attributes["onnx_node_name"] = StringAttr(node.name)
        for entry in node.metadata_props:
            if entry.key in FROM_METADATA:
                op.attributes[entry.key] = StringAttr(entry.value)
        ops.append(op)
        for name, result in zip(node.output, op.results, strict=False):
            if name:
                scope.define(name, result, title)

    def _constant(self, node: NodeProto, title: str) -> onnx.ConstantOp:
        if len(node.attribute) != 1 or len(node.output) != 1 or node.input:
            raise ModelError(f"{title} has {len(node.attribute)} values; expected one value, one output")
        attribute = node.attribute[0]
        if attribute.name in ("value", "sparse_value"):
            if kind_of(attribute) not in (AttributeProto.TENSOR, AttributeProto.SPARSE_TENSOR):
                raise ModelError(f"{title} has a {attribute.name} of kind {kind_name(kind_of(attribute))}")
            if attribute.name == "value":
                place = self._place(node.output[0])
                return onnx.make_constant(tensor_attribute(attribute.t, self.payloads, title, place))
            return onnx.make_constant(attribute_of_proto(attribute, self.payloads, title))
        kind = _CONSTANT_VALUES.get(attribute.name)
        if kind is None or kind != kind_of(attribute):
            raise ModelError(
                f"{title} has no attribute {attribute.name} of kind {kind_name(kind_of(attribute))}"
            )
        return onnx.make_constant(constant_array(attribute))

    def _standard(
        self,
        node: NodeProto,
        domain: str,
        title: str,
        operands: list[SSAValue],
        scope: Scope,
        ops: list[Operation],
    ) -> Operation:
        op_class = onnx.OPS_BY_NAME.get((domain, node.op_type))
        if op_class is None:
            name = f"{domain or 'ai.onnx'}.{node.op_type}"
            raise UnsupportedOpError(f"{title}: {name} is not an op of the ONNX standard")
        schema = signature(domain, node.op_type)
        _check_inputs(node, schema, title)
        while len(operands) < len(schema.inputs) and not schema.inputs[len(operands)].is_variadic:
            operands.append(scope.no_value(ops))
        properties, graphs = self._attributes(node, schema, title)
        # An optional graph that is left out is a region without a block.
        regions = [
            self._region(graphs[name], scope, title, body_types(node, operands, properties))
            if name in graphs
            else Region()
            for name in schema.graphs
        ]
        if node.op_type in CONTROL_FLOW:
            types = control_flow_types(node, operands, regions, properties, self.types, title)
        else:
            types = _all_results(node, schema, self.types.of_standard(node, domain, schema, operands), title)
        return op_class.create(
            operands=operands,
            result_types=types,
            properties=properties,
            regions=regions,
        )

    def _attributes(
        self, node: NodeProto, schema: Signature, title: str
    ) -> tuple[dict[str, Attribute], Mapping[str, GraphProto]]:
        properties: dict[str, Attribute] = {}
        graphs: dict[str, GraphProto] = {}
        for attribute in sorted(node.attribute, key=lambda a: a.name):
            name, kind = attribute.name, kind_of(attribute)
            if name not in schema.kinds:
                raise ModelError(f"{title} has an attribute {name!r} that {node.op_type} does not have")
            if name in properties or name in graphs:
                raise ModelError(f"{title} has two attributes {name!r}")
            if attribute.ref_attr_name:
                raise ModelError(
                    f"{title}: attribute {name} refers to {attribute.ref_attr_name!r} outside a function"
                )
            if kind != schema.kinds[name]:
                expected = kind_name(schema.kinds[name])
                raise ModelError(
                    f"{title} has attribute {name} of kind {kind_name(kind)}; expected {expected}"
                )
            if kind == AttributeProto.GRAPH:
                graphs[name] = attribute.g
            else:
                properties[name] = attribute_of_proto(attribute, self.payloads, title)
        for name in schema.required:
            if name not in properties and name not in graphs:
                raise ModelError(f"{title} lacks the attribute {name!r} that {node.op_type} needs")
        return properties, graphs

    def _foreign(
        self, node: NodeProto, domain: str, title: str, operands: Sequence[SSAValue], scope: Scope
    ) -> Operation:
        attributes: dict[str, Attribute] = {}
        regions: dict[str, Region] = {}
        for attribute in sorted(node.attribute, key=lambda a: a.name):
            kind = kind_of(attribute)
            if kind == AttributeProto.GRAPH:
                regions[attribute.name] = self._region(attribute.g, scope, title)
            elif kind == AttributeProto.GRAPHS:
                for index, graph in enumerate(attribute.graphs):
                    regions[f"{attribute.name}[{index}]"] = self._region(graph, scope, title)
            else:
                attributes[attribute.name] = attribute_of_proto(attribute, self.payloads, title)
        like = LIKE_INPUT.get((domain, node.op_type), 0)
        types: list[Attribute] = []
        for index, name in enumerate(node.output):
            own = own_element(node, domain, index)
            element = None if own is None else unranked(ELEMENT_TYPES[own])
            types.append((element or self.types.of_foreign(name, operands, like)) if name else _NONE)
        own = custom_op(domain, node.op_type)
        if own is not None:
            types = custom_types(own, operands, types, attributes, title)
        return onnx.CustomOp.make(domain, node.op_type, operands, types, attributes, regions)

    def _region(self, graph: GraphProto, outer: Scope, title: str, known: Sequence[Attribute] = ()) -> Region:
        arg_types: list[Attribute] = []
        for index, graph_input in enumerate(graph.input):
            found = type_of_proto(graph_input.type)
            if found is None and index < len(known):
                found = known[index]
            if found is None:
                raise ModelError(f"{title}: input {graph_input.name!r} of its graph has no element type")
            arg_types.append(found)
        block = Block(arg_types=arg_types)
        scope = outer.inner(title)
        for graph_input, arg in zip(graph.input, block.args, strict=True):
            scope.define(graph_input.name, arg, title)
        outputs = self.fill(block, graph, scope)
        block.add_op(onnx.YieldOp.create(operands=outputs))
        return Region(block)


def constant_array(attribute: AttributeProto) -> Array:
    """The array of a Constant given as `value_float`, `value_ints`, ..."""
    match kind_of(attribute):
        case AttributeProto.FLOAT:
            return np.array(attribute.f, dtype=np.float32)
        case AttributeProto.FLOATS:
            return np.array(attribute.floats, dtype=np.float32)
        case AttributeProto.INT:
            return np.array(attribute.i, dtype=np.int64)
        case AttributeProto.INTS:
            return np.array(attribute.ints, dtype=np.int64)
        case AttributeProto.STRING:
            return np.array(attribute.s, dtype=object)
        case _:
            return np.array(list(attribute.strings), dtype=object)


def _check_inputs(node: NodeProto, schema: Signature, title: str) -> None:
    given = len(node.input)
    if given < schema.min_inputs or (given > len(schema.inputs) and not schema.has_variadic_input):
        limit = f" to {len(schema.inputs)}" if schema.min_inputs < len(schema.inputs) else ""
        limit = " or more" if schema.has_variadic_input else limit
        raise ModelError(f"{title} has {given} inputs; expected {schema.min_inputs}{limit}")
    for formal, name in zip(schema.inputs, node.input, strict=False):
        if not name and not formal.is_optional and not formal.is_variadic:
            raise ModelError(f"{title} leaves out its input {formal.name}, which {node.op_type} needs")


def _all_results(
    node: NodeProto, schema: Signature, types: Sequence[Attribute], title: str
) -> list[Attribute]:
    """One type per declared output, `none` for those left out."""
    if len(node.output) > len(schema.outputs) and not schema.has_variadic_output:
        raise ModelError(f"{title} has {len(node.output)} outputs; expected at most {len(schema.outputs)}")
    results = [found if name else _NONE for name, found in zip(node.output, types, strict=True)]
    while len(results) < len(schema.outputs) and not schema.outputs[len(results)].is_variadic:
        results.append(_NONE)
    return results
