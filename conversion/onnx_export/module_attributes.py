"""What do the attributes of a module and its function say about the model it came from?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute


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


def text_of(module: ModuleOp, name: str) -> str:
    found = module.attributes.get(name)
    return found.data if isinstance(found, StringAttr) else ""


def int_of(module: ModuleOp, name: str, default: int) -> int:
    found = module.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else default
