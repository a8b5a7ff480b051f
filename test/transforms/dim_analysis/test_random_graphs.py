"""What dim analysis says of random graphs over symbolic dims holds for the dims they run with."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from onnxloom.conversion.onnx_import import import_model
from onnxloom.lowering.evaluate_module import evaluate_module
from onnxloom.lowering.runtime.host_ops import evaluate
from onnxloom.tools.testing.shape_witness import ShapeWitness

Array = np.ndarray[Any, Any]
OPSET = 21
MAX_SIZE = 4096


class GraphBuilder:
    """A model under construction, with the arrays its values hold for one input."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.arrays: dict[str, Array] = {}

    def data(self) -> str:
        """A float value of rank 1 to 4 drawn among those there are."""
        names = [n for n, a in self.arrays.items() if a.dtype == np.float32 and 0 < a.ndim < 5]
        return self.draw(st.sampled_from(names))

    def integers(self) -> str:
        """An integer vector drawn among those computed from shapes."""
        names = [
            n for n, a in self.arrays.items() if a.dtype == np.int64 and n.startswith("v") and a.ndim == 1
        ]
        return self.draw(st.sampled_from(names))

    def draw_int(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def constant(self, values: Any) -> str:
        array = np.array(values, dtype=np.int64)
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        self.arrays[name] = array
        return name

    def add(self, op: str, inputs: list[str], results: int = 1, **attributes: Any) -> list[str]:
        """Append a node, if the host can run it and its results are not too large."""
        names = [f"v{len(self.arrays)}_{i}" for i in range(results)]
        node = helper.make_node(op, inputs, names, **attributes)
        try:
            found = evaluate(node, [self.arrays[name] if name else None for name in inputs])
        except ValueError:  # the reference refuses some empty tensors
            return []
        if sum(np.asarray(array).size for array in found) <= MAX_SIZE:
            self.nodes.append(node)
            self.arrays.update(zip(names, map(np.asarray, found), strict=True))
            return names
        return []

    def axis(self, name: str) -> int:
        rank = self.arrays[name].ndim
        return self.draw_int(-rank, rank - 1)

    def step(self) -> None:
        steps = [value for name, value in vars(type(self)).items() if name.startswith("add_")]
        self.draw(st.sampled_from(steps))(self)

    # Shape arithmetic.

    def add_shape(self) -> None:
        x = self.data()
        self.add("Shape", [x], start=self.draw_int(0, self.arrays[x].ndim - 1))

    def add_arithmetic(self) -> None:
        op = self.draw(st.sampled_from(["Add", "Sub", "Mul", "Div", "Max", "Min"]))
        self.add(op, [self.integers(), self.constant([self.draw_int(1, 4)])])

    def add_integer_slice(self) -> None:
        start = self.draw_int(-2, 1)
        self.add("Slice", [self.integers(), self.constant([start]), self.constant([self.draw_int(-1, 3)])])

    def add_integer_concat(self) -> None:
        self.add("Concat", [self.integers(), self.constant([self.draw_int(1, 3)])], axis=0)

    def add_product(self) -> None:
        self.add("ReduceProd", [self.integers(), self.constant([0])], keepdims=1)

    def add_choice(self) -> None:
        a, limit = self.integers(), self.constant([self.draw_int(0, 5)])
        op = self.draw(st.sampled_from(["Equal", "Greater", "Less"]))
        for condition in self.add(op, [a, limit]):
            self.add("Where", [condition, a, limit])

    # Uses of computed shapes.

    def add_fill(self) -> None:
        target = self.integers()
        array = self.arrays[target]
        if 0 < array.size < 5 and array.min() >= 0 and np.prod(array) <= MAX_SIZE:
            self.add("ConstantOfShape", [target])

    def add_reshape(self) -> None:
        x, target = self.data(), self.integers()
        rest = np.prod(self.arrays[target])
        if 0 < self.arrays[target].size < 4 and rest > 0 and self.arrays[target].min() > 0:
            whole = self.arrays[x].size
            if whole and whole % rest == 0:
                for shape in self.add("Concat", [target, self.constant([-1])], axis=0):
                    self.add("Reshape", [x, shape])

    def add_expand(self) -> None:
        x, target = self.data(), self.integers()
        shapes = [self.arrays[x].shape, tuple(self.arrays[target].tolist())]
        try:
            broadcast = np.broadcast_shapes(*shapes)
        except ValueError:
            return
        if len(broadcast) < 5 and np.prod(broadcast) <= MAX_SIZE:
            self.add("Expand", [x, target])

    # Data.

    def add_flatten(self) -> None:
        x = self.data()
        self.add("Flatten", [x], axis=self.draw_int(0, self.arrays[x].ndim))

    def add_transpose(self) -> None:
        x = self.data()
        self.add("Transpose", [x], perm=self.draw(st.permutations(range(self.arrays[x].ndim))))

    def add_slice(self) -> None:
        x = self.data()
        bounds = [self.constant([self.draw_int(-4, 4)]) for _ in range(2)]
        step = self.draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
        self.add("Slice", [x, *bounds, self.constant([self.axis(x)]), self.constant([step])])

    def add_concat(self) -> None:
        x = self.data()
        self.add("Concat", [x, x], axis=self.axis(x))

    def add_split(self) -> None:
        x = self.data()
        axis = self.axis(x)
        if self.arrays[x].shape[axis] > 2:
            self.add("Split", [x], results=2, axis=axis, num_outputs=2)

    def add_pad(self) -> None:
        x = self.data()
        pads = self.constant([self.draw_int(0, 2), self.draw_int(0, 2)])
        self.add("Pad", [x, pads, "", self.constant([self.axis(x)])])

    def add_sum(self) -> None:
        x = self.data()
        self.add("ReduceSum", [x, self.constant([self.axis(x)])], keepdims=self.draw_int(0, 1))

    def add_broadcast(self) -> None:
        x, y = self.data(), self.data()
        try:
            np.broadcast_shapes(self.arrays[x].shape, self.arrays[y].shape)
        except ValueError:
            return
        self.add("Add", [x, y])

    def add_unsqueeze(self) -> None:
        x = self.data()
        if self.arrays[x].ndim < 4:
            self.add("Unsqueeze", [x, self.constant([self.draw_int(0, self.arrays[x].ndim)])])

    def add_pool(self) -> None:
        x = self.data()
        if self.arrays[x].ndim == 3 and self.arrays[x].shape[2] > 2 and self.arrays[x].size:
            stride, ceil_mode = self.draw_int(1, 3), self.draw_int(0, 1)
            self.add("MaxPool", [x], kernel_shape=[2], strides=[stride], ceil_mode=ceil_mode)

    def add_tile(self) -> None:
        x, repeats = self.data(), self.integers()
        array = self.arrays[repeats]
        if (
            array.size == self.arrays[x].ndim
            and array.min() >= 0
            and np.prod(array) * self.arrays[x].size <= MAX_SIZE
        ):
            self.add("Tile", [x, repeats])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[ModelProto, dict[str, Array]]:
    builder = GraphBuilder(draw)
    sizes = {name: draw(st.integers(1, 6)) for name in ("n", "m")}
    inputs = {}
    for name in ("x", "y"):
        dims: list[str | int] = draw(st.lists(st.sampled_from(["n", "m", 1, 3]), min_size=1, max_size=3))
        inputs[name] = dims
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in dims]
        builder.arrays[name] = np.ones(shape, np.float32)
    given_arrays = dict(builder.arrays)
    builder.add("Shape", ["x"])
    for _ in range(draw(st.integers(3, 14))):
        builder.step()
    graph = helper.make_graph(
        builder.nodes,
        "random",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for node in builder.nodes for name in node.output],
        builder.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]), given_arrays


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(graphs())
def test_random_graph(case: tuple[ModelProto, dict[str, Array]]):
    model, arrays = case
    module = import_model(model)
    witness = ShapeWitness(module)
    evaluate_module(module, arrays, seen=witness.see)
    assert witness.compared > len(model.graph.node)
