"""How does an op run: in compiled kernels, as part of the plan, or in Python? Asked of the registries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache

from onnx import defs
from xdsl.ir import Operation

from onnxloom.conversion.onnx_import.upgrade.registry import adapters
from onnxloom.conversion.onnx_to_loom.control_flow import CONTROL_FLOW
from onnxloom.conversion.onnx_to_loom.plan_known import SHAPE_READERS
from onnxloom.conversion.onnx_to_loom.registry import custom_lowerings, op_lowerings
from onnxloom.dialects.onnx import OPS_BY_NAME, ConstantOp, NonDeterministic
from onnxloom.dialects.onnx.semantics import semantics_table
from onnxloom.lowering.runtime.host_ops import can_evaluate
from onnxloom.lowering.runtime.host_ops.registry import replaced_ops
from onnxloom.transforms.patterns.contributed.contributed_op import DOMAIN, ContributedOpPattern
from onnxloom.transforms.rewriting.declarative import DecomposePattern
from onnxloom.transforms.rewriting.registry import own_patterns
from onnxloom.transforms.schema_function import function_schema


class Way(Enum):
    """The best way an op can take; forms of it that a lowering declines take a lesser one."""

    KERNEL = "kernel"
    """A lowering of its own."""
    MAP = "kernel, elementwise"
    """One scalar expression, alone or as part of a fused chain."""
    PLAN = "plan"
    """Control flow, whose bodies' kernels the plan runs, constants, and what is read off shapes."""
    REWRITTEN = "rewritten"
    """A pattern, or the importer, makes other ops of it."""
    BODY = "body"
    """The standard defines it by other ops, which run in its place."""
    HOST = "Python"
    NONE = "not supported"


@dataclass(frozen=True)
class OpWay:
    """An op of a domain, and how it runs."""

    domain: str
    name: str
    first: int
    """The domain's version that introduced the op."""
    way: Way


def op_ways() -> list[OpWay]:
    """Every op of the installed onnx, and those of other domains that something here knows; sorted."""
    return sorted((*_standard(), *_contributed()), key=lambda op: (op.domain, op.name))


def _standard() -> Iterator[OpWay]:
    first: dict[tuple[str, str], int] = {}
    for schema in defs.get_all_schemas_with_history():
        key = (schema.domain, schema.name)
        first[key] = min(first.get(key, schema.since_version), schema.since_version)
    for (domain, name), version in first.items():
        yield OpWay(domain, name, version, _standard_way(domain, name))


def _standard_way(domain: str, name: str) -> Way:
    op_class = OPS_BY_NAME.get((domain, name))
    if op_class is None or defs.get_schema(name, domain=domain).deprecated:
        is_replaced = (domain, name) in adapters() or op_class in _rewritten_classes()
        return Way.REWRITTEN if is_replaced else Way.NONE
    if op_class in (*CONTROL_FLOW, *SHAPE_READERS, ConstantOp):
        return Way.PLAN
    if op_class in op_lowerings():
        return Way.KERNEL
    if op_class in semantics_table():
        return Way.MAP
    if op_class in _rewritten_classes():
        return Way.REWRITTEN
    if function_schema(name, domain) is not None and not op_class.has_trait(NonDeterministic):
        return Way.BODY
    return Way.HOST if can_evaluate(domain, name) else Way.NONE


@cache
def _rewritten_classes() -> frozenset[type[Operation]]:
    patterns = [p for p in own_patterns().select() if issubclass(p, DecomposePattern)]
    return frozenset(op for pattern in patterns for op in pattern.start_ops)


def _contributed() -> Iterator[OpWay]:
    kernels = set(custom_lowerings())
    rewritten = {(DOMAIN, p.op_type) for p in own_patterns().patterns if issubclass(p, ContributedOpPattern)}
    known = {(schema.domain, schema.name) for schema in defs.get_all_schemas_with_history()}
    for domain, name in sorted((kernels | rewritten | replaced_ops()) - known):
        if (domain, name) in kernels:
            way = Way.KERNEL
        else:
            way = Way.REWRITTEN if (domain, name) in rewritten else Way.HOST
        yield OpWay(domain, name, 1, way)
