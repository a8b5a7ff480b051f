"""What does an op need to become its latest version, and what may an adapter do?

An adapter changes a node in place from any version below `to` into the form of version `to`; ops
whose later versions only allow more need none. Nodes it adds are in their latest form already.
`onnx.version_converter` is not used: on the cases of test_upgrade.py, that of onnx 1.23 changes the values
of Hardmax, Resize-10, linear Upsample and Selu-1 without a word, refuses a dozen others, and takes models
apart that need no change (names are lost, weights are copied).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

import numpy as np
from onnx import AttributeProto, NodeProto, TypeProto, defs, helper, numpy_helper

from onnxloom.errors import ModelError, UnsupportedOpError

Array = np.ndarray[Any, Any]
Adapter = Callable[[NodeProto, "Upgrade"], None]


@dataclass
class Upgrade:
    """What an adapter knows about one node, and where it puts nodes around it."""

    title: str
    version: int
    """Version of the op the node was written for."""
    fresh: Callable[[str], str]
    """A value name nothing else has."""
    type_of: Callable[[str], TypeProto | None]
    """The type of a value, where it is known."""
    constant_of: Callable[[str], Array | None]
    """The data of a constant; None for everything else."""
    is_read: Callable[[str], bool]
    """Whether anything may read a value."""
    before: list[NodeProto] = field(default_factory=list[NodeProto])
    after: list[NodeProto] = field(default_factory=list[NodeProto])
    added: dict[str, Array] = field(default_factory=dict[str, Array])
    """Constants the adapters added."""

    def add(self, op_type: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Adds a node before the node; gives the name of its output."""
        output = self.fresh(op_type)
        self.before.append(helper.make_node(op_type, inputs, [output], **attributes))
        return output

    def constant(self, value: Array | Sequence[int]) -> str:
        """A constant before the node; Python integers are int64."""
        array = value if isinstance(value, np.ndarray) else np.array(value, dtype=np.int64)
        output = self.fresh("Constant")
        self.added[output] = array
        self.before.append(helper.make_node("Constant", [], [output], value=numpy_helper.from_array(array)))
        return output

    def add_after(self, node: NodeProto, index: int, op_type: str, *inputs: str, **attributes: Any) -> None:
        """Makes output `index` the result of one more node, which reads the node's own result."""
        inner = self.fresh(op_type)
        self.after.append(helper.make_node(op_type, [inner, *inputs], [node.output[index]], **attributes))
        node.output[index] = inner

    def known(self, name: str) -> Array | None:
        """The data of a constant, those of other adapters included; None for everything else."""
        found = self.added.get(name)
        return self.constant_of(name) if found is None else found

    def rank(self, name: str) -> int | None:
        proto = self.type_of(name)
        if proto is None or not proto.tensor_type.HasField("shape"):
            return None
        return len(proto.tensor_type.shape.dim)

    def element(self, name: str) -> int | None:
        """TensorProto data type of a value, where it is known."""
        proto = self.type_of(name)
        return (proto.tensor_type.elem_type or None) if proto is not None else None

    def scalar_like(self, value: float, name: str) -> str:
        """A scalar constant of the element type of `name`."""
        element = self.element(name)
        if element is None:
            return self.add("CastLike", [self.constant(np.array(value, dtype=np.float32)), name])
        with np.errstate(over="ignore"):  # a bound beyond the range of f16 is no bound: infinity
            return self.constant(np.array(value).astype(helper.tensor_dtype_to_np_dtype(element)))

    def unsupported(self, why: str) -> UnsupportedOpError:
        return UnsupportedOpError(f"{self.title}: {why}")


def take(node: NodeProto, name: str) -> AttributeProto | None:
    """Removes an attribute from a node and gives it."""
    for index, attribute in enumerate(node.attribute):
        if attribute.name == name:
            found = AttributeProto()
            found.CopyFrom(attribute)
            del node.attribute[index]
            return found
    return None


def take_ints(node: NodeProto, name: str) -> list[int] | None:
    found = take(node, name)
    return None if found is None else list(found.ints)


def take_int(node: NodeProto, name: str, default: int) -> int:
    found = take(node, name)
    return default if found is None else found.i


def take_float(node: NodeProto, name: str, default: float) -> float:
    found = take(node, name)
    return default if found is None else found.f


def take_string(node: NodeProto, name: str, default: str) -> str:
    found = take(node, name)
    return default if found is None else found.s.decode("utf-8", "replace")


def has(node: NodeProto, name: str) -> bool:
    return any(attribute.name == name for attribute in node.attribute)


def put(node: NodeProto, name: str, value: Any) -> None:
    """Sets an attribute, whether it is there or not."""
    take(node, name)
    node.attribute.append(helper.make_attribute(name, value))


def set_input(node: NodeProto, index: int, name: str) -> None:
    """Sets an input, leaving out the ones before it that are missing."""
    while len(node.input) <= index:
        node.input.append("")
    node.input[index] = name


def keep_inputs(node: NodeProto, names: Iterable[str]) -> None:
    """Replaces all inputs."""
    kept = list(names)
    del node.input[:]
    node.input.extend(kept)


EXPERIMENTS: Final = frozenset(
    {
        "Affine",
        "Crop",
        "ImageScaler",
        "MeanVarianceNormalization",
        "ParametricSoftplus",
        "Scale",
        "ScaledTanh",
        "ThresholdedRelu",
    }
)
"""Ops that old models use before the standard has them, or which it took back."""

_ADAPTERS: Final[dict[tuple[str, str], list[tuple[int, Adapter]]]] = {}


def upgrade(*names: str, to: int, domain: str = "") -> Callable[[Adapter], Adapter]:
    """Registers an adapter to version `to` of the named ops."""

    def register(adapter: Adapter) -> Adapter:
        for name in names:
            chain = _ADAPTERS.setdefault((domain, name), [])
            chain.append((to, adapter))
            chain.sort(key=lambda entry: entry[0])
        return adapter

    return register


@cache
def adapters() -> dict[tuple[str, str], list[tuple[int, Adapter]]]:
    """All adapters: every module of this folder is read."""
    package = __name__.rpartition(".")[0]
    for module in iter_modules(import_module(package).__path__):
        import_module(f"{package}.{module.name}")
    return _ADAPTERS


@cache
def since_version(domain: str, name: str, opset: int) -> int | None:
    """Version of an op in an opset, 0 for one that was an experiment; None when there is no such op."""
    try:
        schema = defs.get_schema(name, opset, domain)
    except defs.SchemaError:
        return 0 if domain == "" and name in EXPERIMENTS else None
    # A deprecated op is still found in old models: its last real version is what they mean.
    return (
        schema.since_version - 1
        if schema.deprecated and (domain, name) in adapters()
        else schema.since_version
    )


def upgrade_node(node: NodeProto, domain: str, context: Upgrade) -> list[NodeProto]:
    """The node at its latest version, with what it needs around it."""
    version, adapted = context.version, True
    while adapted:
        adapted = False
        for to, adapter in adapters().get((domain, node.op_type), ()):
            if to > version:
                version, adapted = to, True
                try:
                    adapter(node, context)
                except (IndexError, ValueError, TypeError, OverflowError) as error:
                    raise ModelError(f"{context.title} is not valid at its version: {error}") from None
                break
    return [*context.before, node, *context.after]
