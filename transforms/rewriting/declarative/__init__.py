"""Rewrite patterns written as expressions over ops: see `pattern.DeclarativePattern`."""

from onnxloom.transforms.rewriting.declarative import op
from onnxloom.transforms.rewriting.declarative.combinators import attribute, capture, one_of, optional, shared
from onnxloom.transforms.rewriting.declarative.config import MatcherConfig
from onnxloom.transforms.rewriting.declarative.decompose import DecomposePattern
from onnxloom.transforms.rewriting.declarative.expressions import Constant, Ints, Scalar, Tensor, Tensors
from onnxloom.transforms.rewriting.declarative.function_body import FunctionBodyPattern
from onnxloom.transforms.rewriting.declarative.match import Inputs, Match
from onnxloom.transforms.rewriting.declarative.pattern import DeclarativePattern, pattern

__all__ = [
    "Constant",
    "DeclarativePattern",
    "DecomposePattern",
    "FunctionBodyPattern",
    "Inputs",
    "Ints",
    "Match",
    "MatcherConfig",
    "Scalar",
    "Tensor",
    "Tensors",
    "attribute",
    "capture",
    "one_of",
    "op",
    "optional",
    "pattern",
    "shared",
]
