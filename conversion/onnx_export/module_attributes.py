"""What do the attributes of a module and its function say about the model it came from?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from onnxloom.errors import PassError

_DIM_PARAM = re.compile(r"(\d+):((?:(?!,\d+:).)*)")


def original_opsets(module: ModuleOp) -> dict[str, int]:
    """Domain -> version of the model the module came from; empty when it does not say."""
    imports = module.attributes.get("onnx.opset_imports")
    opsets: dict[str, int] = {}
    for entry in _strings(imports):
        domain, _, version = entry.rpartition(":")
        if not version.isdigit():
            raise PassError(f"onnx export: opset import {entry!r} is not domain:version")
        opsets["" if domain == "ai.onnx" else domain] = int(version)
    return opsets


def dim_params(attributes: Mapping[str, Attribute]) -> dict[int, str]:
    """`"0:batch,2:time"` -> {0: "batch", 2: "time"}."""
    found = attributes.get("onnx.dim_params")
    if not isinstance(found, StringAttr):
        return {}
    return {int(axis): name for axis, name in _DIM_PARAM.findall(found.data)}


def attributes_of(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> list[Mapping[str, Attribute]]:
    if attributes is None:
        return [{} for _ in range(count)]
    return [entry.data for entry in attributes.data]


def value_names(attributes: Iterable[Mapping[str, Attribute]], prefix: str) -> list[str]:
    names: list[str] = []
    for index, entry in enumerate(attributes):
        found = entry.get("onnx.name")
        names.append(found.data if isinstance(found, StringAttr) else f"{prefix}{index}")
    return names


def _strings(attr: Attribute | None) -> list[str]:
    if not isinstance(attr, ArrayAttr):
        return []
    return [entry.data for entry in cast(ArrayAttr[Attribute], attr).data if isinstance(entry, StringAttr)]


def pairs(attr: Attribute | None) -> Iterator[tuple[str, str]]:
    if isinstance(attr, ArrayAttr):
        for entry in cast(ArrayAttr[Attribute], attr).data:
            texts = _strings(entry)
            if len(texts) == 2:
                yield texts[0], texts[1]


def text_of(module: ModuleOp, name: str) -> str:
    found = module.attributes.get(name)
    return found.data if isinstance(found, StringAttr) else ""


def int_of(module: ModuleOp, name: str, default: int) -> int:
    found = module.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else default
