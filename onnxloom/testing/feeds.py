"""Which inputs does a test feed? Seeded ones: NaN, infinities, -0.0, denormals, extremes, empty tensors.

feeds = feeds_for(model, seed=1)                    # special values among ordinary ones
feeds = feeds_for(model, seed=1, special=False)     # ordinary values only
feeds = feeds_for(model, dims={"batch": 0})         # an empty batch
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType, UnrankedTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.module_attributes import dim_names
from onnxloom.dialects.onnx.types import OptType, SeqType
from onnxloom.errors import InputError
from onnxloom.lowering.evaluate_module import input_names
from onnxloom.testing.models import Model, as_module
from onnxloom.testing.value_ranges import range_of
from onnxloom.testing.values import Range, Values

ORDINARY_SIZES = (2, 3, 4, 5, 6)
"""What an open dim may be."""


def feeds_for(
    model: Model, seed: int = 0, *, special: bool = True, dims: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """An array (or sequence) per input of a model; equal for equal arguments.

    Open dims are drawn: one size per name, and one for all dims without a name, so that these fit each
    other. `dims` gives sizes by the dim's name, `input:axis`, or "?" for all dims without a name. Integers
    that end up as an index, an axis or a size are 0 or 1, divisors are positive.

    Raises:
        InputError: an input is a map, or `dims` names a dim that no input has.
    """
    module = as_module(model)
    function = entry_function(module)
    values = Values(np.random.default_rng(seed), special, turn=seed)
    sizes = _Sizes(dict(dims or {}), values.rng)
    feeds: dict[str, Any] = {}
    for index, name in enumerate(input_names(function)):
        argument, names = function.body.block.args[index], _dim_names(function, index)
        feeds[name] = _value(name, argument.type, names, sizes, values, range_of(argument))
    sizes.expect_all_used()
    return feeds


def varied_feeds(model: Model, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Ordinary inputs, special ones twice, then, where inputs have one shape, equal ones (x - y is 0);
    where dims are open, with dims of 1 and with an empty one."""
    module = as_module(model)
    yield feeds_for(module, seed, special=False)
    yield feeds_for(module, seed)
    yield feeds_for(module, seed + 1)
    alike = _alike(feeds_for(module, seed + 1))
    if alike is not None:
        yield alike
    names = open_dims(module)
    if names:
        yield feeds_for(module, seed + 2, dims=dict.fromkeys(names, 1))
        yield feeds_for(module, seed + 3, dims={names[0]: 0})


def _alike(feeds: Mapping[str, Any]) -> dict[str, Any] | None:
    """One array for all float inputs of the same shape and type; None where no two have one."""
    first: dict[object, Any] = {}
    shared: dict[str, Any] = {}
    for name, value in feeds.items():
        kind: Any = getattr(value, "dtype", None)  # lists have none
        is_float = kind is not None and np.issubdtype(kind, np.floating)
        shared[name] = first.setdefault((value.shape, kind), value) if is_float else value
    return None if all(shared[name] is value for name, value in feeds.items()) else shared


def open_dims(module: ModuleOp) -> list[str]:
    """Names of the open dims of a module's inputs, in order; "?" stands for all without a name."""
    function = entry_function(module)
    found: dict[str, None] = {}
    for index, argument in enumerate(function.body.block.args):
        names = _dim_names(function, index)
        found.update((names.get(axis, "?"), None) for axis in _open_axes(argument.type))
    return list(found)


@dataclass
class _Sizes:
    given: dict[str, int]
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.drawn: dict[str, int] = {}
        self.used: set[str] = set()

    def of(self, name: str, place: str) -> int:
        for key in (name, place):
            if key in self.given:
                self.used.add(key)
                return self.given[key]
        if name not in self.drawn:
            self.drawn[name] = int(self.rng.choice(ORDINARY_SIZES))
        return self.drawn[name]

    def expect_all_used(self) -> None:
        for name in self.given:
            if name not in self.used:
                raise InputError(f"no input has an open dim {name!r}")


def _dim_names(function: FuncOp, index: int) -> dict[int, str]:
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    names = dim_names(attributes[index].data) if index < len(attributes) else {}
    return {axis: name.strip() for axis, name in names.items() if name.strip() not in ("", "?")}


def _open_axes(type_: Attribute) -> list[int]:
    if not isinstance(type_, TensorType):
        return []
    dims = cast("TensorType[Attribute]", type_).get_shape()
    return [axis for axis, dim in enumerate(dims) if dim == DYNAMIC_INDEX]


def _value(
    name: str, type_: Attribute, names: Mapping[int, str], sizes: _Sizes, values: Values, range: Range
) -> Any:
    if isinstance(type_, SeqType):
        item = type_.element_type
        return [_value(name, item, names, sizes, values, range) for _ in (0, 1)]
    if isinstance(type_, OptType):
        return _value(name, type_.element_type, names, sizes, values, range)
    if not isinstance(type_, TensorType | UnrankedTensorType):
        raise InputError(f"input {name!r} is a {type_}; its value cannot be made up")
    tensor = cast("TensorType[Attribute]", type_)
    dims = tensor.get_shape() if isinstance(type_, TensorType) else (DYNAMIC_INDEX,)
    shape = [
        sizes.of(names.get(axis, "?"), f"{name}:{axis}") if dim == DYNAMIC_INDEX else dim
        for axis, dim in enumerate(dims)
    ]
    return values.array(shape, dtype_of_element(tensor.element_type), range)
