"""How does a module become a `ModelProto`?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto, ModelProto, TensorProto, defs, helper
from xdsl.dialects.builtin import (
    ModuleOp,
)
from xdsl.ir import Attribute, Block, SSAValue

from onnxloom.conversion.onnx_export.attributes import Array, tensor_array, tensor_proto
from onnxloom.conversion.onnx_export.downgrade.registry import Downgrade, NotExpressible, downgrade_node
from onnxloom.conversion.onnx_export.graphs import inner_graphs, keep_initializers, read_names, used_domains
from onnxloom.conversion.onnx_export.model_writer import ModelWriter
from onnxloom.conversion.onnx_export.module_attributes import (
    attributes_of,
    int_of,
    text_of,
    value_names,
)
from onnxloom.conversion.onnx_export.names import Names
from onnxloom.conversion.onnx_export.node import value_info
from onnxloom.conversion.onnx_import.flatten import LAST_WITH_OLD_TREES, latest_opset
from onnxloom.conversion.onnx_import.scope import node_title
from onnxloom.conversion.onnx_import.types import element_of, is_unranked
from onnxloom.dialects import onnx
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.module_attributes import dim_names, metadata, opset_imports
from onnxloom.dialects.verify_dominance import verify_dominance
from onnxloom.errors import PassError

DEFAULT_OPSET = 17
"""Where the search starts for modules that do not say which opset they came from."""
_MIN_IR_VERSION = 4
"""Initializers need not be graph inputs from here on."""


@dataclass(frozen=True)
class Exported:
    """A model whose initializers have no data yet."""

    model: ModelProto
    constants: Mapping[str, Attribute]
    """Initializer name -> tensor attribute."""

    def complete(self, tensor_of: Callable[[str, Array], TensorProto] | None = None) -> ModelProto:
        """The model with the data of all initializers, each made by `tensor_of(name, array)`."""
        self._complete(self.model.graph, tensor_of or (lambda name, array: tensor_proto(array, name)))
        return self.model

    def _complete(self, graph: GraphProto, tensor_of: Callable[[str, Array], TensorProto]) -> None:
        for tensor in graph.initializer:
            tensor.MergeFrom(tensor_of(tensor.name, tensor_array(self.constants[tensor.name])))
        for inner in inner_graphs(graph):
            self._complete(inner, tensor_of)

    def bytes_of_weights(self) -> int:
        return sum(tensor_array(value).nbytes for value in self.constants.values())


def export(module: ModuleOp, opset: int | None) -> Exported:
    """Raises PassError for ops ONNX does not have, or an opset that cannot express the module; ModelError
    where a value is used before it is defined: the file could not be sorted.
    """
    verify_dominance(module)
    newest = defs.onnx_opset_version()
    if opset is not None and not isinstance(opset, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PassError(f"onnx export: opset is {opset!r}; expected a number")
    if opset is not None and not 1 <= opset <= newest:
        raise PassError(f"onnx export: opset {opset} is not known; expected 1 to {newest}")
    return _Exporter(module, opset).export()


class _Exporter:
    def __init__(self, module: ModuleOp, opset: int | None) -> None:
        self.module = module
        self.function = entry_function(module)
        self.opset = opset
        self.names = Names()
        self.constants: dict[str, Attribute] = {}
        self.added: list[str] = []
        self.types: dict[str, Attribute] = {}
        self.writer = ModelWriter(self.names, self.constants, self.types)
        self.imports = opset_imports(module)

    def export(self) -> Exported:
        latest = self._graph()
        domains, graph = self._at_opset(latest, self._domains(used_domains(latest)))
        model = ModelProto()
        self._write_metadata(model)
        model.graph.CopyFrom(graph)
        for domain, version in domains.items():
            model.opset_import.add(domain=domain, version=version)
        needed = helper.find_min_ir_version_for(model.opset_import, ignore_unknown=True)
        original = int_of(self.module, "onnx.ir_version", 10)
        model.ir_version = max(original, needed, _MIN_IR_VERSION)
        read = read_names(model.graph)
        for name in self.added:
            model.graph.initializer.add(name=name)
        keep_initializers(model.graph, read)
        for tensor in model.graph.initializer:
            if tensor.name in self.writer.overridable:
                model.graph.input.append(value_info(tensor.name, self.writer.overridable[tensor.name]))
        return Exported(model, {name: value for name, value in self.constants.items() if name in read})

    def _graph(self) -> GraphProto:
        """The main graph, every op in its latest form, constants left out."""
        block = self.function.body.block
        graph = GraphProto(name=text_of(self.module, "onnx.graph_name") or "main_graph")
        graph.doc_string = text_of(self.module, "onnx.graph_doc_string")
        inputs = attributes_of(self.function.arg_attrs, len(block.args))
        last = block.last_op
        if not isinstance(last, onnx.ReturnOp):
            raise PassError("onnx export: the entry function does not end with onnx.Return")
        outputs = attributes_of(self.function.res_attrs, len(last.operands))
        input_names = value_names(inputs, "input")
        output_names = value_names(outputs, "output")
        for name in (*input_names, *output_names):
            self.names.reserve(name)
        for arg, name, attributes in zip(block.args, input_names, inputs, strict=True):
            self.names.bind(arg, name)
            graph.input.append(value_info(name, arg.type, dim_names(attributes)))
        identities = self._bind_outputs(last.operands, output_names, block)
        self.writer.write_ops(graph, block)
        for value, name in identities:
            graph.node.add(op_type="Identity", input=[self.names.of(value)], output=[name])
        for value, name, attributes in zip(last.operands, output_names, outputs, strict=True):
            graph.output.append(value_info(name, _stated_type(value, attributes), dim_names(attributes)))
        return graph

    def _bind_outputs(
        self, values: Sequence[SSAValue], names: Sequence[str], block: Block
    ) -> list[tuple[SSAValue, str]]:
        """Output names go to the values that make them; what cannot have one gets an Identity."""
        identities: list[tuple[SSAValue, str]] = []
        for value, name in zip(values, names, strict=True):
            owner = value.owner
            is_plain = not isinstance(owner, Block | onnx.ConstantOp | onnx.FusedOp)
            if is_plain and not self.names.knows(value):
                self.names.bind(value, name)
            elif not self.names.knows(value) or self.names.of(value) != name:
                identities.append((value, name))
        return identities

    def _at_opset(self, latest: GraphProto, domains: dict[str, int]) -> tuple[dict[str, int], GraphProto]:
        """The graph at the asked-for opset, else at the original one or the next that can express it."""
        context = Downgrade(
            original=self.imports.get("", DEFAULT_OPSET),
            constant_of=self._constant_array,
            type_of=self.types.get,
            add_constant=self._add_constant,
        )
        while True:
            graph = GraphProto()
            graph.CopyFrom(latest)
            try:
                _downgrade_graph(graph, domains, context)
            except NotExpressible as error:
                opset = domains[error.domain]
                if self.opset is not None and error.domain == "":
                    raise PassError(f"onnx export: opset {opset} cannot express {error}") from None
                domains[error.domain] = max(error.needs, opset + 1)
            else:
                return domains, graph

    def _constant_array(self, name: str) -> Array | None:
        value = self.constants.get(name)
        return None if value is None else tensor_array(value)

    def _add_constant(self, array: Array) -> str:
        name = self.names.fresh()
        self.constants[name] = onnx.constant_attr(array)
        self.added.append(name)
        return name

    def _domains(self, used: set[str]) -> dict[str, int]:
        """The versions to try first."""
        domains = {domain: version for domain, version in self.imports.items() if domain in used}
        if "" in used or "" in self.imports or not self.imports:  # readers expect it of a model without ops
            domains[""] = self.opset or self.imports.get("", DEFAULT_OPSET)
        for domain in sorted(used - domains.keys()):
            is_standard = any(domain == standard for standard, _ in onnx.OPS_BY_NAME)
            domains[domain] = latest_opset(domain) if is_standard else 1
        if "ai.onnx.ml" not in self.imports and self.writer.has_old_trees:
            domains["ai.onnx.ml"] = LAST_WITH_OLD_TREES
        return domains

    def _write_metadata(self, model: ModelProto) -> None:
        module = self.module
        model.producer_name = text_of(module, "onnx.producer_name") or "onnxloom"
        model.producer_version = text_of(module, "onnx.producer_version")
        model.domain = text_of(module, "onnx.domain")
        model.doc_string = text_of(module, "onnx.doc_string")
        model.model_version = int_of(module, "onnx.model_version", 0)
        for key, value in metadata(module):
            model.metadata_props.add(key=key, value=value)


def _downgrade_graph(graph: GraphProto, domains: Mapping[str, int], context: Downgrade) -> None:
    for inner in inner_graphs(graph):
        _downgrade_graph(inner, domains, context)
    for index, node in enumerate(graph.node):
        if (node.domain, node.op_type) in onnx.OPS_BY_NAME:
            downgrade_node(node, node.domain, domains[node.domain], node_title(node, index), context)


def _stated_type(value: SSAValue, attributes: Mapping[str, Attribute]) -> Attribute:
    """A graph output must have a shape; the declared one stands in where none is known."""
    known: Attribute = value.type
    declared = attributes.get("onnx.declared_type")
    is_same = declared is not None and element_of(declared) == element_of(known)
    return declared if declared is not None and is_same and is_unranked(known) else known
