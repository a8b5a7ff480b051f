"""How many inputs, outputs and which attributes does an op of the standard take?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from onnx import defs

from onnxloom.dialects.onnx import OPS_BY_NAME

Schema = defs.OpSchema
_Option = defs.OpSchema.FormalParameterOption


@dataclass(frozen=True)
class Formal:
    """One declared input or output."""

    name: str
    is_variadic: bool
    is_optional: bool
    type_parameter: str
    is_homogeneous: bool


@dataclass(frozen=True)
class Signature:
    """The latest schema of an op, in the form import and export read it."""

    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    min_inputs: int
    kinds: dict[str, int]
    """Attribute name -> AttributeProto type."""
    required: tuple[str, ...]
    graphs: tuple[str, ...]
    """Graph attributes in the order of the op's regions."""

    @property
    def has_variadic_input(self) -> bool:
        return bool(self.inputs) and self.inputs[-1].is_variadic

    @property
    def has_variadic_output(self) -> bool:
        return bool(self.outputs) and self.outputs[-1].is_variadic


@cache
def signature(domain: str, name: str) -> Signature:
    """Raises `onnx.defs.SchemaError` for an op the standard does not have."""
    schema = defs.get_schema(name, domain)
    kinds: dict[str, int] = {a.name: int(a.type.value) for a in schema.attributes.values()}  # pyright: ignore
    return Signature(
        tuple(map(_formal, schema.inputs)),
        tuple(map(_formal, schema.outputs)),
        schema.min_input,
        kinds,
        tuple(a.name for a in schema.attributes.values() if a.required),
        tuple(region for region, _ in OPS_BY_NAME[(domain, name)].get_irdl_definition().regions),
    )


def _formal(formal: Schema.FormalParameter) -> Formal:
    return Formal(
        formal.name,
        formal.option == _Option.Variadic,
        formal.option == _Option.Optional,
        formal.type_str,
        formal.is_homogeneous,
    )
