"""Does what dim analysis says of every value of a module hold when the module runs?"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from onnxloom.dialects.onnx.dtypes import dtype_of_element
from onnxloom.transforms.dim_analysis import analyze
from onnxloom.transforms.dim_analysis.dim_expr import DimExpr, Symbol, single_atom
from onnxloom.transforms.dim_analysis.facts import Element, Ratio, static_dims
from onnxloom.transforms.shape_inference import infer_shapes


class ShapeWitness:
    """Compares every observed value with what was inferred of it; `see` raises AssertionError."""

    def __init__(self, module: ModuleOp):
        infer_shapes(module)
        self.analysis = analyze(module)
        for op in module.walk():
            # Symbols of elements are made when asked for.
            for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
                self.analysis.elements(value)
        self.symbols: dict[Symbol, int] = {}
        self.owned: dict[SSAValue, list[tuple[int, Symbol]]] = {}
        for (value, place), expr in self.analysis.symbols().items():
            symbol = single_atom(expr)
            assert isinstance(symbol, Symbol)
            self.owned.setdefault(value, []).append((place, symbol))
        self.compared = 0

    def see(self, value: SSAValue, observed: Any) -> None:
        facts = self.analysis.facts(value)
        if facts is None or not isinstance(observed, np.ndarray | np.generic):
            return
        array: np.ndarray[Any, Any] = np.asarray(cast(Any, observed))
        where = f"{'argument' if isinstance(value.owner, Block) else value.owner.name} {value.name_hint}"
        assert array.dtype.kind in "OUS" or array.dtype == dtype_of_element(facts.element), where
        if facts.shape is None:
            return
        assert len(facts.shape) == array.ndim, where
        self._bind(value, array)
        for axis, dim in enumerate(facts.shape):
            atom = single_atom(dim) if dim.constant is None else None
            if isinstance(atom, Symbol) and atom.serial == 0:
                self.symbols.setdefault(atom, array.shape[axis])
            assert dim.evaluate(self.symbols) == array.shape[axis], f"{where} axis {axis}: {dim}"
        declared_dims = static_dims(value)
        assert declared_dims is not None, where
        for declared, actual in zip(declared_dims, array.shape, strict=True):
            assert declared in (None, actual), where
        elements = self.analysis.elements(value)
        if elements is not None:
            assert elements.shape == array.shape, where
            for known, actual in zip(elements.reshape(-1).tolist(), array.reshape(-1).tolist(), strict=True):
                assert self._holds(known, actual), f"{where}: {known} is {actual}"
        self.compared += 1

    def _bind(self, value: SSAValue, array: np.ndarray[Any, Any]) -> None:
        """Anonymous symbols stand for a dim or an element of one value, anew each time it is computed."""
        for place, symbol in self.owned.get(value, ()):
            if place >= 0:
                self.symbols[symbol] = array.shape[place]
            elif -1 - place < array.size:
                self.symbols[symbol] = int(array.reshape(-1)[-1 - place])

    def _holds(self, known: Element, actual: Any) -> bool:
        match known:
            case None:
                return True
            case DimExpr():
                return known.evaluate(self.symbols) == actual
            case Ratio(numerator, denominator):
                return numerator.evaluate(self.symbols) / denominator == actual
            case _:
                return known == actual or (known != known and actual != actual)
