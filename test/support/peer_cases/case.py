"""What is a random case? One node with its inputs, and the model that holds nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnxloom.dialects.onnx.dtypes import element_of_dtype, proto_of_element

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A node with its inputs; None for one that is left out, a NodeProto's own tensor for one numpy lacks."""

    inputs: Sequence[Array | TensorProto | None]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: int | Sequence[bool] = 1
    """How many results there are, or which of them have a name."""
    constant: Sequence[int] = ()
    """Inputs that are initializers."""
    is_dynamic: bool = False
    """Whether the leading dims of inputs have names instead of sizes."""
    static: Sequence[int] = ()
    """Inputs whose dims are said in any case."""
    lengths: Sequence[int] = ()
    """Lists whose dim may have a name."""
    meant: Callable[[int, Array], Array] | None = None
    """Result number and array -> the part of it that means anything; None: all."""
    domain: str = ""
    op: str = ""
    opset: int = 0
    """Version of `domain`; 0: the newest."""

    def __post_init__(self) -> None:
        plain = [np.asarray(x) if isinstance(x, np.generic) else x for x in self.inputs]
        object.__setattr__(self, "inputs", plain)

    @property
    def wanted(self) -> list[bool]:
        """Which results have a name."""
        return [True] * self.outputs if isinstance(self.outputs, int) else list(self.outputs)

    def __str__(self) -> str:
        """Everything but the values."""
        said = ", ".join(_said(x, i in self.constant) for i, x in enumerate(self.inputs))
        given = {k: v for k, v in self.attributes.items() if not isinstance(v, TensorProto)}
        shown = ", ".join(f"{k}={str(v)[:60]}" for k, v in given.items())
        return f"{self.op}({said}) {{{shown}}}{' dynamic' if self.is_dynamic else ''}"

    def model(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        """The model of the one node, and what it is fed."""
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]
        results = [f"y{i}" if wanted else "" for i, wanted in enumerate(self.wanted)]
        node = helper.make_node(self.op, names, results, domain=self.domain, name="node", **self.attributes)
        held: list[TensorProto] = []
        feeds: dict[str, Array] = {}
        infos: list[onnx.ValueInfoProto] = []
        for i, (name, x) in enumerate(zip(names, self.inputs, strict=True)):
            if isinstance(x, TensorProto):
                held.append(_named(x, name))
            elif x is not None and i in self.constant:
                held.append(_tensor(x, name))
            elif x is not None:
                feeds[name] = x
                infos.append(helper.make_tensor_value_info(name, _code(x), self._dims(i, x)))
        outputs = [helper.make_empty_tensor_value_info(name) for name in results if name]
        graph = helper.make_graph([node], "one", infos, outputs, held)
        return helper.make_model(graph, opset_imports=self._opsets(), ir_version=10), feeds

    def _opsets(self) -> list[onnx.OperatorSetIdProto]:
        # The newest version of the default domain that onnxruntime declares to support.
        if self.domain == "":
            return [helper.make_opsetid("", self.opset or 22)]
        version = self.opset or (5 if self.domain == "ai.onnx.ml" else 1)
        return [helper.make_opsetid("", 22), helper.make_opsetid(self.domain, version)]

    def _dims(self, index: int, x: Array) -> list[int | str]:
        if not self.is_dynamic or index in self.static or x.ndim < 2 and index not in self.lengths:
            return list(x.shape)
        # Dims of one size have one name: a loader may take them for equal.
        return [f"n{size}" if axis < x.ndim - 1 or x.ndim == 1 else size for axis, size in enumerate(x.shape)]


def _said(x: Array | TensorProto | None, is_constant: bool) -> str:
    if x is None:
        return "-"
    if isinstance(x, TensorProto):
        return f"{TensorProto.DataType.Name(x.data_type)}{list(x.dims)} constant"
    return f"{x.dtype.name}{list(x.shape)}{' constant' if is_constant else ''}"


def _named(tensor: TensorProto, name: str) -> TensorProto:
    found = TensorProto()
    found.CopyFrom(tensor)
    found.name = name
    return found


def _tensor(x: Array, name: str) -> TensorProto:
    if x.dtype == object:
        words: Any = [str(s).encode() for s in x.ravel()]
        return helper.make_tensor(name, TensorProto.STRING, x.shape, words)
    return numpy_helper.from_array(x, name)


def _code(x: Array) -> int:
    return TensorProto.STRING if x.dtype == object else proto_of_element(element_of_dtype(x.dtype))
