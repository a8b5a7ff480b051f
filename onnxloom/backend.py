"""The standard's backend interface, `onnx.backend.base.Backend`, over onnxloom.

`onnxloom.backend.prepare(model).run(inputs)`; module-level functions, as the interface asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, defs, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from onnxloom.errors import InputError
from onnxloom.lowering.compile import CompileOptions, compile_model
from onnxloom.lowering.runtime.model import CompiledModel

Array = npt.NDArray[Any]


class OnnxloomRep(BackendRep):
    """A compiled model that takes a list of inputs."""

    def __init__(self, model: CompiledModel) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, in order, for inputs in order (or by name, in a dict)."""
        if isinstance(inputs, dict):
            results = self.model.run_named(None, inputs)  # pyright: ignore[reportUnknownArgumentType]
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
            InputError: there is no such device.
        """
        if not cls.supports_device(device):
            raise InputError(f"device {device!r}: models run on 'CPU' only")
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
        """Runs one node of the newest opset (or of `opset_version=`).

        `inputs` has one array for each input of the node, in order. None may stand for an input that
        the node leaves out, or such inputs may be left out; an array that it reads twice may be given once.

        Raises:
            InputError: the arrays do not fit the inputs of the node.
        """
        if not isinstance(node, NodeProto):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"node is a {type(node).__name__}; expected a NodeProto")
        given: list[Any] = list(inputs) if isinstance(inputs, list | tuple) else [inputs]  # pyright: ignore[reportUnknownArgumentType]
        values = _by_name(node, given)
        graph = helper.make_graph(
            [node],
            "node",
            [
                helper.make_tensor_value_info(name, _element_type(name, array), array.shape)
                for name, array in values.items()
            ],
            [helper.make_empty_tensor_value_info(name) for name in node.output if name],
        )
        opset: Any = kwargs.pop("opset_version", defs.onnx_opset_version())
        if not isinstance(opset, int):
            raise InputError(f"opset_version is {opset!r}; expected a number")
        imports = [helper.make_opsetid("", opset)]
        if node.domain not in ("", "ai.onnx"):
            imports.append(helper.make_opsetid(node.domain, 1))
        return cls.run_model(
            helper.make_model(graph, opset_imports=imports), list(values.values()), device, **kwargs
        )

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run there: the CPU only."""
        return str(device).split(":")[0] == "CPU"


def _by_name(node: NodeProto, given: Sequence[Any]) -> dict[str, Array]:
    """The arrays by input name; a name that the node reads twice is there once. Raises InputError."""
    names = [name for name in node.input if name]
    forms = (list(node.input), names, list(dict.fromkeys(names)))
    form = next((form for form in forms if len(form) == len(given)), None)
    if form is None:
        raise InputError(
            f"node {node.op_type} has {len(names)} inputs ({', '.join(names)}), got {len(given)} arrays"
        )
    values: dict[str, Array] = {}
    for name, value in zip(form, given, strict=True):
        if not name and value is not None:
            raise InputError(f"node {node.op_type} leaves out an input; expected None there, got an array")
        if name and value is None:
            raise InputError(f"input {name!r} of node {node.op_type} is None")
        if not name:
            continue
        array = np.asarray(value)
        first = values.setdefault(name, array)
        if first is not array and not _is_same(first, array):
            raise InputError(
                f"node {node.op_type} reads {name!r} more than once; got different arrays for it"
            )
    return values


def _is_same(one: Array, other: Array) -> bool:
    same_kind = one.dtype == other.dtype and one.shape == other.shape
    return same_kind and (
        one.dtype.kind == "O" and bool((one == other).all()) or one.tobytes() == other.tobytes()
    )


def _element_type(name: str, array: Array) -> int:
    if array.dtype.kind in "US" or (
        array.dtype.kind == "O" and all(isinstance(item, str | bytes) for item in array.flat)
    ):
        return TensorProto.STRING
    if array.dtype.kind == "O":
        raise InputError(f"input {name!r}: an array of objects other than strings is no tensor")
    try:
        return helper.np_dtype_to_tensor_dtype(array.dtype)
    except (KeyError, TypeError, ValueError):
        raise InputError(f"input {name!r}: dtype {array.dtype} is none that a tensor has") from None


prepare = OnnxloomBackend.prepare
run_model = OnnxloomBackend.run_model
run_node = OnnxloomBackend.run_node
supports_device = OnnxloomBackend.supports_device
is_compatible = OnnxloomBackend.is_compatible
