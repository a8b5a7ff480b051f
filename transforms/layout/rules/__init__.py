"""Which ops can work channels-last, and what does each become?

Every module of this folder has `RULES`, a tuple of layout rules. A module in this folder is found by itself.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module

from xdsl.ir import Operation

from onnxloom.transforms.layout.rule import LayoutRule


@cache
def layout_rules() -> Mapping[type[Operation], tuple[LayoutRule, ...]]:
    """Op class -> its rules; the first that does not decline counts."""
    found: dict[type[Operation], tuple[LayoutRule, ...]] = {}
    for module_info in pkgutil.iter_modules(__path__):
        module = import_module(f"{__name__}.{module_info.name}")
        rules: tuple[LayoutRule, ...] = module.RULES
        for rule in rules:
            for op_class in rule.ops:
                found[op_class] = (*found.get(op_class, ()), rule)
    return found
