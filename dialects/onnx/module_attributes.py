"""What may a module and its functions say, in attributes, about the model they come from?

Sentences about a model (`onnx.opset_imports`, `onnx.dim_params`, ...) are read by several passes; text
that anybody wrote is checked here once, so that none of them has to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, TypeAttribute

from onnxloom.dialects.onnx.narrow import AnyTensor
from onnxloom.errors import ModelError

MAX_AXES: Final = 1024
"""No tensor has more dims, known or not."""

_AXIS: Final = re.compile(r"(?:^|,)([0-9]+):")
_NEXT: Final = re.compile(r",(?=[0-9]+:)")
_TEXTS: Final = (
    "graph_name", "graph_doc_string", "doc_string", "domain", "producer_name", "producer_version",
)  # fmt: skip
_NUMBERS: Final = ("ir_version", "model_version")
_LARGEST: Final = (1 << 63) - 1


def verify_module_attributes(module: ModuleOp) -> None:
    """Raises ModelError for the first attribute that says nothing sensible."""
    for name in _TEXTS:
        _expect_text(module.attributes.get(f"onnx.{name}"), f"module attribute onnx.{name}")
    for name in _NUMBERS:
        _expect_number(module.attributes.get(f"onnx.{name}"), f"module attribute onnx.{name}")
    opset_imports(module)
    for _ in metadata(module):
        pass
    for op in module.ops:
        if isinstance(op, FuncOp):
            _verify_function(op)


def opset_imports(module: ModuleOp) -> dict[str, int]:
    """Domain -> version of the model the module came from; empty when it does not say.

    Raises ModelError for entries that are not `domain:version`, and versions nobody knows.
    """
    found = module.attributes.get("onnx.opset_imports")
    if found is None:
        return {}
    what = "module attribute onnx.opset_imports"
    if not isinstance(found, ArrayAttr):
        raise ModelError(f'{what} is {_shown(found)}; expected an array of "domain:version"')
    versions: dict[str, int] = {}
    for entry in cast(ArrayAttr[Attribute], found).data:
        text = entry.data if isinstance(entry, StringAttr) else ""
        domain, colon, version = text.rpartition(":")
        if not colon or not _is_number(version) or len(version) > 18:
            raise ModelError(f'{what} holds {_shown(entry)}; expected "domain:version"')
        domain = "" if domain == "ai.onnx" else domain
        _check_version(domain, int(version), what)
        if versions.setdefault(domain, int(version)) != int(version):
            raise ModelError(
                f"{what} imports {domain or 'ai.onnx'} at {versions[domain]} and at {int(version)}"
            )
    return versions


def metadata(module: ModuleOp) -> Iterator[tuple[str, str]]:
    """The (key, value) pairs of the model. Raises ModelError for what is no such pair."""
    found = module.attributes.get("onnx.metadata")
    if found is None:
        return
    rows: Sequence[Attribute] = (found,)
    if isinstance(found, ArrayAttr):
        rows = cast(ArrayAttr[Attribute], found).data
    for row in rows:
        texts = cast(ArrayAttr[Attribute], row).data if isinstance(row, ArrayAttr) else ()
        match texts:
            case (StringAttr() as key, StringAttr() as value):
                yield key.data, value.data
            case _:
                shown = _shown(cast(Attribute, row))
                raise ModelError(f'module attribute onnx.metadata holds {shown}; expected ["key", "value"]')


def dim_names(attributes: Mapping[str, Attribute]) -> dict[int, str]:
    """`"0:batch,2:time"` of `onnx.dim_params` -> {0: "batch", 2: "time"}; axes as a verified module has."""
    found = attributes.get("onnx.dim_params")
    if not isinstance(found, StringAttr):
        return {}
    names: dict[int, str] = {}
    for item in _NEXT.split(found.data):
        axis, _, name = item.partition(":")
        if _is_number(axis) and len(axis) < 6:
            names[int(axis)] = name
    return names


def _verify_function(function: FuncOp) -> None:
    name = function.sym_name.data
    inputs, results = function.function_type.inputs.data, function.function_type.outputs.data
    for attrs, types, place in (
        (function.arg_attrs, inputs, "argument"),
        (function.res_attrs, results, "result"),
    ):
        if attrs is None:
            continue
        if len(attrs.data) != len(types):
            raise ModelError(
                f"@{name} has attributes of {len(attrs.data)} {place}s; expected those of {len(types)}"
            )
        for index, (entry, ir_type) in enumerate(zip(attrs.data, types, strict=True)):
            _verify_value(entry, ir_type, f"{place} {index} of @{name}")


def _verify_value(entry: DictionaryAttr, ir_type: Attribute, what: str) -> None:
    _expect_text(entry.data.get("onnx.name"), f"{what}: onnx.name")
    _expect_text(entry.data.get("onnx.doc_string"), f"{what}: onnx.doc_string")
    declared = entry.data.get("onnx.declared_type")
    if declared is not None and not isinstance(declared, TypeAttribute):
        raise ModelError(f"{what}: onnx.declared_type is {_shown(declared)}; expected a type")
    params = entry.data.get("onnx.dim_params")
    if params is None:
        return
    _expect_text(params, f"{what}: onnx.dim_params")
    text = cast(StringAttr, params).data
    if text and _AXIS.match(text) is None:
        raise ModelError(f'{what}: onnx.dim_params is {_shown(params)}; expected "axis:name,..."')
    ranks = [cast(AnyTensor, t).get_num_dims() for t in (ir_type, declared) if isinstance(t, TensorType)]
    limit = max(ranks, default=MAX_AXES)
    for axis in _AXIS.findall(text):
        if len(axis) > 6 or int(axis) >= limit:
            raise ModelError(f"{what}: onnx.dim_params names axis {axis[:20]} of {limit} at most")


def _check_version(domain: str, version: int, what: str) -> None:
    from onnx import defs

    newest = defs.onnx_opset_version()
    if domain == "" and not 1 <= version <= newest:
        raise ModelError(f"{what}: opset {version} of ai.onnx is not known; expected 1 to {newest}")


def _expect_text(found: Attribute | None, what: str) -> None:
    if found is not None and not isinstance(found, StringAttr):
        raise ModelError(f"{what} is {_shown(found)}; expected a string")


def _expect_number(found: Attribute | None, what: str) -> None:
    number = cast(IntegerAttr, found).value.data if isinstance(found, IntegerAttr) else None
    if found is not None and (number is None or abs(number) > _LARGEST):
        raise ModelError(f"{what} is {_shown(cast(Attribute, found))}; expected a 64-bit number")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _shown(attribute: Attribute) -> str:
    text = str(attribute)
    return text if len(text) <= 60 else text[:60] + "..."
