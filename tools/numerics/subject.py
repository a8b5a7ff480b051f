"""Which model and which inputs do `check` and `bisect` look at?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.annotations import OVERRIDABLE
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.module_attributes import dim_names
from onnxloom.errors import InputError
from onnxloom.lowering.build_model import read_module
from onnxloom.lowering.compile import CompileOptions
from onnxloom.lowering.evaluate_module import input_names
from onnxloom.lowering.plan.program import is_array, numpy_dtype
from onnxloom.lowering.plan.specs import spec_of
from onnxloom.lowering.runtime.model import NodeArg
from onnxloom.tools.commands.run import compile_options, given_arrays
from onnxloom.tools.model_inputs import as_saved, complete, parse_dims


@dataclass(frozen=True)
class Subject:
    """A model as it was imported, and what it is fed."""

    path: str
    module: ModuleOp
    """Every op at its latest version; no pass has run. Not to be changed."""
    feeds: dict[str, Any]
    made_up: tuple[str, ...]
    """Names of the inputs that were not given."""
    options: CompileOptions


def load_subject(args: argparse.Namespace) -> Subject:
    """What the arguments of `add_input_arguments` and `add_compile_arguments` say.

    Raises:
        ModelError: the model is damaged.
        InputError: an array does not fit the model.
    """
    given = given_arrays(args)
    options = compile_options(args)
    module = read_module(args.model, options)
    infos = inputs_of(entry_function(module))
    given = as_saved(infos, given)
    defaults = tuple(given.keys() - {info.name for info in infos})
    if defaults and not args.model.endswith(".mlir"):
        # Inputs with a default value in the model; the import refuses what is none.
        options = replace(options, overridden=defaults)
        module = read_module(args.model, options)
        infos = inputs_of(entry_function(module))
    for op in module.walk():
        op.attributes.pop(OVERRIDABLE, None)
    feeds = complete(infos, given, parse_dims(args.dim), args.seed)
    for info, port in zip(infos, entry_function(module).body.block.args, strict=True):
        _check(info, port.type, feeds.arrays[info.name])
    return Subject(args.model, module, dict(feeds.arrays), feeds.made_up, options)


def inputs_of(function: FuncOp) -> list[NodeArg]:
    """Name, type and shape of each input, as a session gives them."""
    types: Sequence[Attribute] = function.function_type.inputs.data
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    infos: list[NodeArg] = []
    for index, (name, type_) in enumerate(zip(input_names(function), types, strict=True)):
        names = dim_names(attributes[index].data) if index < len(attributes) else {}
        infos.append(NodeArg(name, spec_of(type_).text, _shape(type_, names)))
    return infos


def _shape(type_: Attribute, names: Mapping[int, str]) -> list[int | str | None]:
    if not isinstance(type_, TensorType):
        return []
    dims = cast("TensorType[Attribute]", type_).get_shape()
    return [d if d != DYNAMIC_INDEX else names.get(axis, "").strip() or None for axis, d in enumerate(dims)]


def _check(info: NodeArg, type_: Attribute, value: Any) -> None:
    """Raises InputError where an array is of another dtype or shape than its input."""
    spec = spec_of(type_)
    if spec.kind != "tensor" or not is_array(value):
        return
    wanted = numpy_dtype(spec.dtype)
    if wanted != value.dtype and not (wanted.kind == "O" and value.dtype.kind in "US"):
        raise InputError(f"input {info.name!r}: expected {spec.text}, got dtype {value.dtype}")
    if not spec.accepts(np.shape(value)):
        shape = ", ".join(str(dim if dim is not None else "?") for dim in info.shape)
        raise InputError(f"input {info.name!r}: expected shape [{shape}], got {list(np.shape(value))}")
