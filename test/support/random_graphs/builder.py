"""How does a random graph grow? Node by node, each evaluated as it is added, in scopes for subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from host_graph import Host
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

from random_graphs.source import Source
from random_graphs.type_rules import accepts, type_text
from random_graphs.values import array_of, proto_type

Array = np.ndarray[Any, Any]

Fits = Callable[[Array], bool]
"""Which values a step can use."""

MAX_SIZE = 1024
"""Elements of one value."""

FLOATS = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
INTEGERS = tuple(np.dtype(t) for t in ("int64", "int32", "int8", "uint8"))
BOOL = np.dtype(np.bool_)


class Refused(Exception):
    """A step that does not fit the graph so far; nodes it added stay, unread."""


@dataclass
class Shared:
    """What all scopes of one model have in common."""

    source: Source
    host: Host
    opset: int
    special: bool
    """Whether NaN, infinities and their like may appear in new constants."""
    count: int = 0
    dims: dict[str, int] = field(default_factory=dict[str, int])
    """Sizes of the symbolic dims."""


class GraphBuilder:
    """A graph under construction, and the arrays its values hold for one set of inputs."""

    def __init__(self, shared: Shared, parent: GraphBuilder | None = None):
        self.shared = shared
        self.source = shared.source
        self.parent = parent
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.arrays: dict[str, Array] = {}
        self.data: list[str] = []
        """Values that steps may pick, oldest first; constants are not among them."""

    # Names and values.

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else 1 + self.parent.depth

    def fresh(self, prefix: str = "v") -> str:
        """A name that no other value of the model has."""
        self.shared.count += 1
        return f"{prefix}{self.shared.count}"

    def array(self, name: str) -> Array:
        """What a value of this graph or of one around it holds."""
        found = self.arrays.get(name)
        if found is not None or name in self.arrays:
            return found  # pyright: ignore[reportReturnType]
        assert self.parent is not None, name
        return self.parent.array(name)

    def shape(self, name: str) -> tuple[int, ...]:
        return self.array(name).shape

    def rank(self, name: str) -> int:
        return self.array(name).ndim

    def dtype(self, name: str) -> np.dtype[Any]:
        return self.array(name).dtype

    def visible(self) -> Iterator[str]:
        """Values to pick from, the newest first; then those of the graphs around this one."""
        yield from reversed(self.data)
        if self.parent is not None:
            yield from self.parent.visible()

    def pick(self, fits: Fits = lambda array: True) -> str:
        """A value that fits, more often a recent one. Raises Refused when there is none."""
        found = [name for name in self.visible() if fits(self.array(name))]
        if not found:
            raise Refused
        recent = found[:4] if self.source.chance(60) else found
        return self.source.choice(recent)

    def pick_float(self, rank: int = 0) -> str:
        """A float value of at least this rank."""
        return self.pick(lambda array: array.dtype in FLOATS and array.ndim >= rank)

    def pick_like(self, name: str, fits: Fits = lambda array: True) -> str:
        """A value of the same element type."""
        dtype = self.dtype(name)
        return self.pick(lambda array: array.dtype == dtype and fits(array))

    # Growth.

    def constant(self, array: Any, dtype: Any = None) -> str:
        """An initializer, the result of a Constant node, or an equal constant that is there already."""
        value: Array = np.asarray(array, dtype)
        if self.source.chance(30):
            for tensor in self.initializers:
                if _same_bits(self.arrays[tensor.name], value):
                    return tensor.name
        name = self.fresh("c")
        tensor = helper.make_tensor(name, proto_type(value.dtype), value.shape, value.tobytes(), raw=True)
        if self.source.chance(15):
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
        self.arrays[name] = value
        return name

    def ints(self, *values: int) -> str:
        """A constant int64 vector."""
        return self.constant(np.array(values, np.int64))

    def random_constant(self, shape: Sequence[int], dtype: np.dtype[Any]) -> str:
        """A constant of random values."""
        return self.constant(array_of(self.source, shape, dtype, self.shared.special))

    def add(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """Appends a node. Raises Refused when the host cannot run it, or its results are too large."""
        names = [self.fresh() for _ in range(outputs)]
        return self.add_node(helper.make_node(op, inputs, names, **attributes))

    def add_node(self, node: NodeProto) -> list[str]:
        """Appends a node whose outputs have fresh names."""
        self._check_types(node)
        try:
            results = self.shared.host.node(node, self.values())
        except (ValueError, IndexError, TypeError, RuntimeError, AttributeError, NotImplementedError):
            # The reference refuses some empty tensors and types.
            raise Refused from None
        named = {n: np.asarray(r) for n, r in zip(node.output, results, strict=True) if n}
        if sum(array.size for array in named.values()) > MAX_SIZE or any(a.ndim > 6 for a in named.values()):
            raise Refused
        if self.source.chance(20):
            node.name = self.fresh("node_")
        self.nodes.append(node)
        self.arrays.update(named)
        self.data += named
        return list(node.output)

    def _check_types(self, node: NodeProto) -> None:
        """Raises Refused when the standard does not allow the op on inputs of these types."""
        types = tuple(type_text(self.array(name)) if name else "" for name in node.input)
        if not accepts(node.op_type, self.shared.opset, types):
            raise Refused

    def hidden(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Appends a node whose output is a sequence: no step picks it."""
        name = self.fresh("s")
        node = helper.make_node(op, inputs, [name], **attributes)
        self._check_types(node)
        try:
            (result,) = self.shared.host.node(node, self.values())
        except (ValueError, IndexError, TypeError):
            raise Refused from None
        self.nodes.append(node)
        self.arrays[name] = result
        return name

    def one(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Appends a node with one output."""
        (name,) = self.add(op, inputs, **attributes)
        return name

    def values(self) -> dict[str, Any]:
        """All arrays by name, those of outer graphs included."""
        outer = {} if self.parent is None else self.parent.values()
        return {**outer, **self.arrays}

    # Parameters of ops.

    def axis(self, name: str) -> int:
        """An axis of a value, counted from either end."""
        rank = self.rank(name)
        if not rank:
            raise Refused
        return self.source.integer(-rank, rank - 1)

    def maybe_negative(self, axis: int, rank: int) -> int:
        """The same axis, counted from either end."""
        return axis - rank if self.source.chance(40) else axis

    def input(self, dtype: np.dtype[Any], dims: Sequence[int | str], array: Array) -> str:
        """An input of the graph."""
        name = self.fresh("x")
        self.inputs.append(helper.make_tensor_value_info(name, proto_type(dtype), list(dims)))
        self.arrays[name] = array
        self.data.append(name)
        return name

    def info(self, name: str, dims: Sequence[int | str | None]) -> ValueInfoProto:
        return helper.make_tensor_value_info(name, proto_type(self.dtype(name)), list(dims))

    def graph(self, name: str, outputs: Sequence[ValueInfoProto]) -> GraphProto:
        return helper.make_graph(self.nodes, name, self.inputs, list(outputs), self.initializers)

    def unread(self) -> list[str]:
        """Values of this graph that no node here or in a subgraph reads."""
        read = set(_read_names(self.nodes))
        return [name for name in self.data if name not in read and name not in _names(self.inputs)]


def _names(infos: Sequence[ValueInfoProto]) -> set[str]:
    return {info.name for info in infos}


def _read_names(nodes: Sequence[NodeProto]) -> Iterator[str]:
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _read_names(attribute.g.node)
                yield from (output.name for output in attribute.g.output)


def _same_bits(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
