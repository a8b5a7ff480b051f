"""Who computes an op on arrays? An `Evaluator`; numpy for the common ops unless another one is in use.

Results have the element types of the op's results and may share memory with the inputs, which are not
written to.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final, Protocol

import numpy as np
from xdsl.ir import Operation

from onnxloom.transforms.folding.numpy_op import Array, Inputs, NumpyOp


class CannotEvaluate(Exception):
    """An evaluator has nothing for an op or for these inputs; the message says what stopped it."""


class Evaluator(Protocol):
    """Computes single ops."""

    def evaluate(self, op: Operation, inputs: Inputs) -> Sequence[Array | None]:
        """The results of `op` for `inputs`, one per operand; None where one is left out.

        Raises CannotEvaluate.
        """
        ...


class NumpyEvaluator:
    """What numpy computes bit for bit as the standard says; nothing else is needed to run it."""

    def evaluate(self, op: Operation, inputs: Inputs) -> Sequence[Array | None]:
        function = numpy_ops().get(type(op))
        if function is None:
            raise CannotEvaluate(f"numpy has nothing for {op.name}")
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = function(op, inputs)
        except (ArithmeticError, IndexError, MemoryError, TypeError, ValueError) as error:
            raise CannotEvaluate(_one_line(error)) from error
        if results is None:
            raise CannotEvaluate(f"numpy has nothing for {op.name} on these element types")
        return [np.asarray(result) for result in results]


def _one_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0] or type(error).__name__


@cache
def numpy_ops() -> Mapping[type[Operation], NumpyOp]:
    """Op class -> function, from all modules of this folder called `numpy_ops_...`."""
    from onnxloom.transforms import folding

    table: dict[type[Operation], NumpyOp] = {}
    for module_info in iter_modules(folding.__path__):
        if not module_info.name.startswith("numpy_ops_"):
            continue
        module: Any = import_module(f"{folding.__name__}.{module_info.name}")
        twice = table.keys() & module.OPS.keys()
        if twice:
            raise TypeError(f"{module.__name__}.OPS: a second function for {twice}")
        table.update(module.OPS)
    return table


_DEFAULT: Final = NumpyEvaluator()
_current: ContextVar[Evaluator] = ContextVar("onnxloom_evaluator", default=_DEFAULT)


def current_evaluator() -> Evaluator:
    """The one in use, numpy's by default."""
    return _current.get()


@contextmanager
def use_evaluator(evaluator: Evaluator) -> Generator[None]:
    """Within this, passes evaluate with `evaluator`."""
    token = _current.set(evaluator)
    try:
        yield
    finally:
        _current.reset(token)
