"""How is an op in its latest form written for an older opset?

An adapter brings a node from the form of version `below` or later to the form before it, in place,
or raises `NotExpressible`. What needs no adapter (attributes at their default, types the older
version takes) is checked for every op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from onnx import AttributeProto, NodeProto, defs, helper
from xdsl.ir import Attribute

from onnxloom.conversion.onnx_import.upgrade.registry import Array, put, take
from onnxloom.dialects.onnx.element_types import ELEMENT_TYPES

Schema = defs.OpSchema
Adapter = Callable[[NodeProto, "Downgrade"], None]


class NotExpressible(Exception):
    """An op needs a newer opset of its domain; `needs` is the next one worth trying."""

    def __init__(self, title: str, why: str, domain: str, needs: int) -> None:
        super().__init__(f"{title}: {why}")
        self.domain = domain
        self.needs = needs


class Refused(Exception):
    """An adapter's reason why a node has no older form."""


@dataclass(frozen=True)
class Downgrade:
    """What an adapter may ask about the graph."""

    original: int
    """Opset the model was imported from."""
    constant_of: Callable[[str], Array | None]
    """The data of a constant; None for everything else."""
    type_of: Callable[[str], Attribute | None]
    add_constant: Callable[[Array], str]
    """Adds a constant to the main graph; gives its name."""

    def dims(self, name: str) -> tuple[int, ...] | None:
        from xdsl.dialects.builtin import TensorType

        found = self.type_of(name)
        return found.get_shape() if isinstance(found, TensorType) else None

    def ints(self, name: str, what: str) -> list[int]:
        """The values of a constant input that the older form takes as an attribute."""
        found = self.constant_of(name)
        if found is None:
            raise Refused(f"{what} is not a constant")
        return [int(v) for v in found.reshape(-1)]

    def number(self, name: str, what: str) -> float:
        found = self.constant_of(name)
        if found is None or found.size != 1:
            raise Refused(f"{what} is not a constant scalar")
        return float(found.reshape(-1)[0])


_ADAPTERS: Final[dict[tuple[str, str], list[tuple[int, Adapter]]]] = {}


def downgrade(*names: str, below: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Registers an adapter for the named ops to versions below `below`."""

    def register(adapter: Adapter) -> Adapter:
        for name in names:
            chain = _ADAPTERS.setdefault((domain, name), [])
            chain.append((below, adapter))
            chain.sort(key=lambda entry: -entry[0])
        return adapter

    return register


@cache
def adapters() -> Mapping[tuple[str, str], list[tuple[int, Adapter]]]:
    """All adapters: every module of this folder is read."""
    package = __name__.rpartition(".")[0]
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")
    return _ADAPTERS


def input_name(node: NodeProto, index: int) -> str:
    """Empty for an input that is left out."""
    return node.input[index] if index < len(node.input) else ""


def drop_inputs(node: NodeProto, count: int) -> None:
    """Keeps the first `count` inputs, without those left out at the end."""
    del node.input[count:]
    while node.input and not node.input[-1]:
        del node.input[-1]


def string_of(node: NodeProto, name: str, default: str) -> str:
    return next((a.s.decode() for a in node.attribute if a.name == name), default)


def int_of(node: NodeProto, name: str, default: int) -> int:
    return next((a.i for a in node.attribute if a.name == name), default)


def downgrade_node(node: NodeProto, domain: str, opset: int, title: str, context: Downgrade) -> None:
    """Rewrites the node for `opset`. Raises NotExpressible."""
    latest = defs.get_schema(node.op_type, domain)
    changed = latest.since_version > opset
    while changed:
        changed = False
        for below, adapter in adapters().get((domain, node.op_type), ()):
            if opset < below <= latest.since_version:
                op_type = node.op_type
                try:
                    adapter(node, context)
                except Refused as refused:
                    raise NotExpressible(title, str(refused), domain, below) from None
                if node.op_type != op_type:
                    changed = True
                    latest = _schema_before(node.op_type, domain, below)
                    break
    if latest.since_version <= opset and not latest.deprecated:
        return
    try:
        schema = defs.get_schema(node.op_type, opset, domain)
    except defs.SchemaError:
        needs = _first_version(node.op_type, domain)
        raise NotExpressible(
            title, f"{node.op_type} does not exist in opset {opset}", domain, needs
        ) from None
    if not schema.deprecated:
        _fit(node, schema, latest, title, context)


def _schema_before(name: str, domain: str, version: int) -> Schema:
    return defs.get_schema(name, version - 1, domain)


@cache
def _first_version(name: str, domain: str) -> int:
    return min(
        s.since_version for s in defs.get_all_schemas_with_history() if s.name == name and s.domain == domain
    )


@cache
def _next_version(name: str, domain: str, version: int) -> int:
    later = [
        s.since_version
        for s in defs.get_all_schemas_with_history()
        if s.name == name and s.domain == domain and s.since_version > version
    ]
    return min(later, default=version + 1)


def _fit(node: NodeProto, schema: Schema, latest: Schema, title: str, context: Downgrade) -> None:
    """Checks what no adapter has to: attributes, number of inputs and outputs, element types."""
    needs = _next_version(schema.name, schema.domain, schema.since_version)
    for attribute in list(node.attribute):
        declared = schema.attributes.get(attribute.name)
        if declared is not None:
            if attribute.type and int(declared.type.value) != attribute.type:  # pyright: ignore
                raise NotExpressible(
                    title, f"attribute {attribute.name} is of another kind there", schema.domain, needs
                )
            continue
        if not _is_default(attribute, latest):
            raise NotExpressible(title, f"attribute {attribute.name} came after it", schema.domain, needs)
        take(node, attribute.name)
    _state_changed_defaults(node, schema, latest)
    for name, attribute in schema.attributes.items():
        if attribute.required and not any(a.name == name for a in node.attribute):
            raise NotExpressible(title, f"attribute {name} is needed there", schema.domain, needs)
    if len(node.input) > schema.max_input or len(node.output) > schema.max_output:
        raise NotExpressible(title, "it has more inputs or outputs than it takes there", schema.domain, needs)
    _check_types(node, schema, title, needs, context)


def _is_default(attribute: AttributeProto, latest: Schema) -> bool:
    declared = latest.attributes.get(attribute.name)
    if declared is None or declared.default_value.type == AttributeProto.UNDEFINED:
        return False
    return helper.get_attribute_value(declared.default_value) == helper.get_attribute_value(attribute)


def _state_changed_defaults(node: NodeProto, schema: Schema, latest: Schema) -> None:
    """A default that differs between the versions is written out."""
    for name, attribute in schema.attributes.items():
        newer = latest.attributes.get(name)
        if newer is None or any(a.name == name for a in node.attribute):
            continue
        if newer.default_value.type == AttributeProto.UNDEFINED or newer.type != attribute.type:
            continue
        if newer.default_value != attribute.default_value:
            put(node, name, helper.get_attribute_value(newer.default_value))


@cache
def _allowed(schema_key: tuple[str, str, int]) -> tuple[dict[str, frozenset[Attribute]], list[str]]:
    """Type parameter -> tensor element types; and the parameter of each input."""
    name, domain, version = schema_key
    schema = defs.get_schema(name, version, domain)
    sets = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    elements: dict[str, frozenset[Attribute]] = {}
    for parameter, types in sets.items():
        names = (t[7:-1] for t in types if t.startswith("tensor("))
        elements[parameter] = frozenset(ELEMENT_TYPES[n] for n in names if n in ELEMENT_TYPES)
    return elements, [formal.type_str for formal in schema.inputs]


def _check_types(node: NodeProto, schema: Schema, title: str, needs: int, context: Downgrade) -> None:
    from onnxloom.conversion.onnx_import.types import element_of

    allowed, parameters = _allowed((schema.name, schema.domain, schema.since_version))
    for index, name in enumerate(node.input):
        found = context.type_of(name) if name else None
        element = None if found is None else element_of(found)
        parameter = parameters[min(index, len(parameters) - 1)]
        if element is not None and parameter in allowed and element not in allowed[parameter]:
            raise NotExpressible(title, f"it does not take {element} there", schema.domain, needs)
