"""Which rule says what the results of an op look like?

Every module of this folder may have the tables `RULES` (op class -> dims and element types of the
results), `ELEMENT_RULES` (op class -> elements of small results) and `CUSTOM_RULES` (name of an op of
domain com.microsoft -> as RULES). A module in this folder is found by itself.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import NamedTuple

from xdsl.ir import Operation

from onnxloom.transforms.dim_analysis.facts import ElementRule, Rule


class RuleTables(NamedTuple):
    shapes: dict[type[Operation], Rule]
    elements: dict[type[Operation], ElementRule]
    custom: dict[str, Rule]


@cache
def rule_tables() -> RuleTables:
    """All rules; an op class with two rules of a sort is a mistake of this folder."""
    tables = RuleTables({}, {}, {})
    for module_info in pkgutil.iter_modules(__path__):
        module = import_module(f"{__name__}.{module_info.name}")
        for table, name in zip(tables, ("RULES", "ELEMENT_RULES", "CUSTOM_RULES"), strict=True):
            found = getattr(module, name, {})
            twice = table.keys() & found.keys()
            if twice:
                raise TypeError(f"{module.__name__}.{name}: a second rule for {twice}")
            table.update(found)
    return tables
