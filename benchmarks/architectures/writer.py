"""How is a graph written down node by node? Ops by name, weights drawn from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]
Dims = Sequence[int | str]

OPSET = 17
IR_VERSION = 8


class GraphWriter:
    """Collects the nodes, inputs and initializers of one model. Values are names."""

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name = name
        self.rng = np.random.default_rng(seed)
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._weights: list[onnx.TensorProto] = []

    def input(self, name: str, shape: Dims, dtype: type[np.generic] = np.float32) -> str:
        """A graph input; a dim that is a string is dynamic."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def output(self, value: str, shape: Dims | None, dtype: type[np.generic] = np.float32) -> None:
        """Declares `value` an output of the graph; None leaves the shape to inference."""
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._outputs.append(helper.make_tensor_value_info(value, element, shape))

    def op(self, op_type: str, *inputs: str, out: str = "", **attributes: Any) -> str:
        """A node with one result."""
        return self.ops(op_type, *inputs, outs=[out or self._fresh(op_type)], **attributes)[0]

    def ops(self, op_type: str, *inputs: str, outs: int | Sequence[str], **attributes: Any) -> list[str]:
        """A node with several results, numbered or named."""
        if isinstance(outs, int):
            outs = [f"{self._fresh(op_type)}.{index}" for index in range(outs)]
        name = f"{op_type}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op_type, inputs, outs, name, **attributes))
        return list(outs)

    def weight(self, value: Array) -> str:
        """An initializer."""
        name = f"weight.{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def normal(self, shape: Sequence[int], deviation: float) -> str:
        """An initializer of normally distributed f32."""
        return self.weight(self.rng.standard_normal(shape, np.float32) * np.float32(deviation))

    def around(self, shape: Sequence[int], centre: float, deviation: float = 0.1) -> str:
        """An initializer of f32 within `centre` plus or minus `deviation`."""
        low, high = centre - deviation, centre + deviation
        return self.weight(self.rng.uniform(low, high, shape).astype(np.float32))

    def scalar(self, value: float) -> str:
        """An f32 constant of rank 0."""
        return self.weight(np.asarray(value, np.float32))

    def ints(self, *values: int) -> str:
        """An i64 constant of rank 1."""
        return self.weight(np.asarray(values, np.int64))

    def model(self) -> onnx.ModelProto:
        """What was written, as a model."""
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._weights)
        imports = [helper.make_opsetid("", OPSET)]
        return helper.make_model(
            graph, opset_imports=imports, ir_version=IR_VERSION, producer_name="onnxloom"
        )

    def _fresh(self, op_type: str) -> str:
        return f"{op_type.lower()}_{len(self._nodes)}"
