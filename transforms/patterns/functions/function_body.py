"""Gelu(x) -> 0.5 * x * (1 + Erf(x / sqrt(2))), and so for every op of the standard that has a function body

Off unless selected by name (`--patterns FunctionBody`): whole ops have better kernels than their parts. It
serves to check what raises parts to such an op, and to run a model where the op is not known.
"""

from __future__ import annotations

from onnxloom.transforms.rewriting.declarative import FunctionBodyPattern
from onnxloom.transforms.rewriting.declarative.function_body import function_ops


class StandardFunctionPattern(FunctionBodyPattern):
    name = "FunctionBody"
    default = False
    start_ops = function_ops()
