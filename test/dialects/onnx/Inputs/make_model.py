"""Writes a small model with one weight of 256 elements to the path given."""

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 16])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 16])
w = numpy_helper.from_array(np.eye(16, dtype=np.float32), "w")
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [w])
Path(sys.argv[1]).write_bytes(helper.make_model(graph).SerializeToString())
