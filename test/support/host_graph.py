"""What does a graph of the newest opset give, node by node, on the host implementations?

No pass, no kernel and no IR is involved. `Host` remembers what it evaluated: variants of one graph share
most of their nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from onnxloom.lowering.plan.program import HostNode
from onnxloom.lowering.runtime.host_ops import Values, prepare

Array = np.ndarray[Any, Any]
MAX_TRIPS = 64
"""A loop of a random graph that runs longer is a mistake of the graph."""


class Host:
    """Evaluates nodes and graphs."""

    def __init__(self) -> None:
        self._memory: dict[Any, list[Any]] = {}

    def graph(self, graph: GraphProto, values: Mapping[str, Any]) -> list[Any]:
        """The outputs of a graph; `values` holds its inputs and what it captures."""
        known = self.values(graph, values)
        return [known[output.name] for output in graph.output]

    def values(self, graph: GraphProto, values: Mapping[str, Any]) -> dict[str, Any]:
        """All values of a graph by name."""
        known = dict(values)
        known.update((tensor.name, _array(tensor)) for tensor in graph.initializer)
        for node in graph.node:
            known.update(zip(node.output, self.node(node, known), strict=False))
        return known

    def node(self, node: NodeProto, values: Mapping[str, Any]) -> list[Any]:
        """The outputs of a node, one per name it lists."""
        inputs: list[Any] = [values[name] if name else None for name in node.input]
        match node.op_type:
            case "If":
                branch = "then_branch" if bool(np.reshape(inputs[0], ())) else "else_branch"
                return self.graph(_graph_of(node, branch), values)
            case "Loop":
                return self._loop(node, inputs, values)
            case "Scan":
                return self._scan(node, inputs, values)
            case _:
                return self._plain(node, inputs)

    def _loop(self, node: NodeProto, inputs: list[Any], values: Mapping[str, Any]) -> list[Any]:
        body = _graph_of(node, "body")
        limit = MAX_TRIPS if inputs[0] is None else int(np.reshape(inputs[0], ()))
        goes_on = len(inputs) < 2 or inputs[1] is None or bool(np.reshape(inputs[1], ()))
        carried = inputs[2:]
        columns: list[list[Any]] = [[] for _ in body.output[1 + len(carried) :]]
        for step in range(limit):
            if not goes_on:
                break
            given = [np.array(step, np.int64), np.array(goes_on), *carried]
            names = [argument.name for argument in body.input]
            again, *results = self.graph(body, {**values, **dict(zip(names, given, strict=True))})
            goes_on = bool(np.reshape(again, ()))
            carried = results[: len(carried)]
            for column, value in zip(columns, results[len(carried) :], strict=True):
                column.append(value)
        empty = [_empty_column(info) for info in body.output[1 + len(carried) :]]
        stacked = [np.stack(c) if c else e for c, e in zip(columns, empty, strict=True)]
        return [*carried, *stacked]

    def _scan(self, node: NodeProto, inputs: list[Any], values: Mapping[str, Any]) -> list[Any]:
        body = _graph_of(node, "body")
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute if a.name != "body"}
        count = int(given["num_scan_inputs"])
        states, scanned = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
        in_axes = given.get("scan_input_axes", [0] * count)
        outputs = len(body.output) - len(states)
        in_back = given.get("scan_input_directions", [0] * count)
        out_back = given.get("scan_output_directions", [0] * outputs)
        out_axes = given.get("scan_output_axes", [0] * outputs)
        slices = [np.moveaxis(a, axis, 0) for a, axis in zip(scanned, in_axes, strict=True)]
        slices = [a[::-1] if back else a for a, back in zip(slices, in_back, strict=True)]
        columns: list[list[Any]] = [[] for _ in range(outputs)]
        for step in range(slices[0].shape[0]):
            arguments = [*states, *(a[step] for a in slices)]
            names = [argument.name for argument in body.input]
            results = self.graph(body, {**values, **dict(zip(names, arguments, strict=True))})
            states = results[: len(states)]
            for column, value in zip(columns, results[len(states) :], strict=True):
                column.append(value)
        ordered = [c[::-1] if back else c for c, back in zip(columns, out_back, strict=True)]
        return [*states, *(np.stack(c, axis) for c, axis in zip(ordered, out_axes, strict=True))]

    def _plain(self, node: NodeProto, inputs: list[Any]) -> list[Any]:
        key = (_normal(node), *(_key(value) for value in inputs))
        found = self._memory.get(key)
        if found is None:
            found = self._memory[key] = _evaluate(key[0], node, inputs)
        return found


_PREPARED: dict[Any, Callable[[Values], None]] = {}


def _evaluate(normal: bytes, node: NodeProto, inputs: list[Any]) -> list[Any]:
    # An op that is a function of its input types is prepared for those types.
    key = (normal, *(None if a is None else _signature(a) for a in inputs))
    run = _PREPARED.get(key)
    if run is None:
        if len(_PREPARED) > 20_000:
            _PREPARED.clear()
        run = _PREPARED[key] = prepare(HostNode(normal, node.op_type, node.domain, ""))
    values: Values = {"": None, **{f"x{i}": _guarded(a) for i, a in enumerate(inputs) if a is not None}}
    with np.errstate(all="ignore"):
        run(values)
    return [_whole(values[f"y{i}"]) if name else None for i, name in enumerate(node.output)]


def _whole(value: Any) -> Any:
    """The reference gives scalars of numpy where rank-0 arrays are meant."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def _normal(node: NodeProto) -> bytes:
    """A node with names that depend on nothing but positions, as bytes."""
    plain = NodeProto(op_type=node.op_type, domain=node.domain)
    plain.input.extend(f"x{i}" if name else "" for i, name in enumerate(node.input))
    plain.output.extend(f"y{i}" if name else "" for i, name in enumerate(node.output))
    plain.attribute.extend(sorted(node.attribute, key=lambda attribute: attribute.name))
    return plain.SerializeToString(deterministic=True)


def _key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.dtype.name, value.shape, value.tobytes())
    return None if value is None else tuple(_key(item) for item in value)


def _signature(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (value.dtype.name, value.shape)
    return tuple(_signature(item) for item in value)


def _guarded(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        view: Array = value.view()
        view.flags.writeable = False
        return view
    return value


def _graph_of(node: NodeProto, name: str) -> GraphProto:
    return next(attribute.g for attribute in node.attribute if attribute.name == name)


def _array(tensor: TensorProto) -> Array:
    return numpy_helper.to_array(tensor)


def _empty_column(info: Any) -> Array | None:
    """What a loop that never ran stacks, where the body says enough about its shape."""
    dims: Sequence[Any] = info.type.tensor_type.shape.dim
    if any(not dim.HasField("dim_value") for dim in dims):
        return None
    dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
    return np.zeros((0, *(dim.dim_value for dim in dims)), dtype)
