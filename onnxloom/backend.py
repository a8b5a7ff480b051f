"""The standard's backend interface, `onnx.backend.base.Backend`, over onnxloom.

`onnxloom.backend.prepare(model).run(inputs)`; module-level functions, as the interface asks for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, defs, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.runtime.model import CompiledModel


class OnnxloomRep(BackendRep):
    """A compiled model that takes a list of inputs."""

    def __init__(self, model: CompiledModel) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, in order, for inputs in order (or by name, in a dict)."""
        if isinstance(inputs, dict):
            results = list(self.model.run(inputs).values())  # pyright: ignore[reportUnknownArgumentType]
        else:
            results = self.model.call(list(inputs) if isinstance(inputs, list | tuple) else [inputs])  # pyright: ignore[reportUnknownArgumentType]
        names = [output.name for output in self.model.outputs]
        return namedtupledict("Outputs", names)(*results)


class OnnxloomBackend(Backend):
    """Runs models on the CPU."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> OnnxloomRep:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Compiles `model`. Keyword arguments are fields of `CompileOptions`.

        Raises:
            ModelError: the model is damaged or uses an op that nothing here can run.
        """
        fields = {k: v for k, v in kwargs.items() if k in CompileOptions.__dataclass_fields__}
        return OnnxloomRep(compile_model(model, CompileOptions(**fields)))

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Compiles and runs `model` once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Runs one node of the newest opset (or of `opset_version=`)."""
        given: list[Any] = list(inputs) if isinstance(inputs, list | tuple) else [inputs]  # pyright: ignore[reportUnknownArgumentType]
        arrays: list[npt.NDArray[Any]] = [np.asarray(value) for value in given]
        names = [name for name in node.input if name]
        graph = helper.make_graph(
            [node],
            "node",
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                for n, a in zip(names, arrays, strict=True)
            ],
            [helper.make_empty_tensor_value_info(name) for name in node.output if name],
        )
        opset = int(kwargs.pop("opset_version", defs.onnx_opset_version()))
        imports = [helper.make_opsetid("", opset)]
        if node.domain not in ("", "ai.onnx"):
            imports.append(helper.make_opsetid(node.domain, 1))
        return cls.run_model(helper.make_model(graph, opset_imports=imports), arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run there: the CPU only."""
        return device.split(":")[0] == "CPU"


prepare = OnnxloomBackend.prepare
run_model = OnnxloomBackend.run_model
run_node = OnnxloomBackend.run_node
supports_device = OnnxloomBackend.supports_device
is_compatible = OnnxloomBackend.is_compatible
