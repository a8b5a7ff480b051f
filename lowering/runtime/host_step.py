"""How does a host step run? Node by node through `host_ops`, results made fit for kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from onnxloom.dialects.custom_ops import custom_ops, use_custom_ops
from onnxloom.errors import CustomOpError, InputError, ModelError, OnnxloomError
from onnxloom.lowering.plan.program import Array, Constants, HostNode, HostStep, is_array, numpy_dtype

_Short: TypeAlias = tuple[HostStep, Callable[[Sequence[Any]], Sequence[Any]] | None, bool]
"""A step, what runs all of it without a table of names, if that can be, and whether it gives tensors."""


class HostRunner:
    """Evaluates host steps; keeps what was prepared per node."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._prepared: dict[int, tuple[HostNode, Any, bool]] = {}
        self._short: dict[int, _Short] = {}
        self._custom_ops = custom_ops()
        """Those in use where the model was made; it runs elsewhere."""

    def run(self, step: HostStep, args: Sequence[Any]) -> list[Any]:
        """Results of the step: contiguous arrays of the declared dtypes that share no memory with `args`.

        Raises:
            ModelError: the op cannot be evaluated on these inputs.
        """
        short = self._short.get(id(step)) or self._shortened(step)
        if short[1] is not None:
            try:
                results = short[1](args)
            except Exception:
                short = self._short[id(step)] = (step, None, False)  # the long way says what is wrong
            else:
                if not short[2]:
                    return list(results)
                return [_fit(r, dtype, args, step) for r, dtype in zip(results, step.dtypes, strict=True)]
        prepared = [self._prepared.get(id(node)) or self._prepare(node) for node in step.nodes]
        is_plain = all(entry[2] for entry in prepared)
        values: dict[str, Any] = {"": None}
        for name, value in zip(step.arg_names, args, strict=True):
            values[name] = value if is_plain else _guarded(value)
        for name, number in step.constants:
            values[name] = self._constants.values[number]
        for _, evaluator, plain in prepared:
            self._run_node(evaluator, plain, values, step)
        dtypes = step.dtypes or ("",) * len(step.result_names)
        if self._custom_ops and any((node.domain, node.op) in self._custom_ops for node in step.nodes):
            _check_kinds(step, values, dtypes)
        return [
            _fit(values[name], dtype, args, step)
            for name, dtype in zip(step.result_names, dtypes, strict=True)
        ]

    def _shortened(self, step: HostStep) -> _Short:
        from onnx import NodeProto

        from onnxloom.lowering.runtime.host_ops import plain_function

        function = None
        if len(step.nodes) == 1 and len(step.dtypes) == len(step.result_names):
            node = NodeProto.FromString(step.nodes[0].proto)
            if (*node.input,) == step.arg_names and (*node.output,) == step.result_names:
                with use_custom_ops(self._custom_ops.values()):
                    function = plain_function(step.nodes[0])
        short = self._short[id(step)] = (step, function, any(step.dtypes))
        return short

    def _prepare(self, node: HostNode) -> tuple[HostNode, Any, bool]:
        from onnxloom.lowering.runtime.host_ops import is_plain, prepare

        with use_custom_ops(self._custom_ops.values()):
            custom = (node.domain, node.op) in self._custom_ops
            prepared = (node, prepare(node), custom or is_plain(node.domain, node.op))
        self._prepared[id(node)] = prepared
        return prepared

    def _run_node(self, evaluator: Any, plain: bool, values: dict[str, Any], step: HostStep) -> None:
        try:
            if plain:  # preparing numpy and the warnings takes longer than many an op
                evaluator(values)
                return
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _call(evaluator, values)
        except InputError as error:  # ops say what is wrong, not of which node
            raise InputError(f"{step.title}: {error}") from None
        except (OnnxloomError, KeyboardInterrupt):
            raise
        except MemoryError as error:
            raise ModelError(f"{step.title} needs more memory than there is: {error}") from error
        except Exception as error:
            shapes = ", ".join(_describe(values[name]) for name in step.arg_names)
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            raise ModelError(f"{step.title} cannot be evaluated on ({shapes}): {reason}") from error


def _check_kinds(step: HostStep, values: dict[str, Any], dtypes: Sequence[str]) -> None:
    """Functions of users may compute in another precision, but not in another kind of numbers."""
    for name, dtype in zip(step.result_names, dtypes, strict=True):
        value = values[name]
        if not dtype or value is None or isinstance(value, list | dict):
            continue
        got, wanted = _dtype_of(value, step), numpy_dtype(dtype)
        is_text = wanted.kind == "O" and got.kind in "USO"
        if got != wanted and got.kind != wanted.kind and not is_text:
            raise CustomOpError(
                f"{step.title}: its function gave {got}, but {wanted} is expected there; a shape function "
                "tells of other types"
            )


def _dtype_of(value: Any, step: HostStep) -> np.dtype[Any]:
    try:
        return cast(Any, np.asarray)(value).dtype
    except Exception as error:  # `__array__` of a user's class may raise anything
        raise CustomOpError(
            f"{step.title}: its function gave a {type(value).__name__} that is no array: {error}"
        ) from error


def _call(evaluator: Callable[[dict[str, Any]], None], values: dict[str, Any]) -> None:
    """Evaluates a node; one that writes to its inputs is given copies."""
    try:
        evaluator(values)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        copies = {n: v.copy() if is_array(v) and not v.flags.writeable else v for n, v in values.items()}
        evaluator(copies)
        values.update((name, value) for name, value in copies.items() if name not in values)


def _guarded(value: Any) -> Any:
    """A view that an op cannot write through."""
    if not is_array(value) or not value.flags.writeable:
        return value
    view: Array = value.view()
    view.flags.writeable = False
    return view


def _fit(value: Any, dtype: str, args: Sequence[Any], step: HostStep) -> Any:
    if not dtype or value is None:
        return value
    if isinstance(value, list | tuple | dict):
        return value  # pyright: ignore[reportUnknownVariableType]
    wanted = numpy_dtype(dtype)
    array: Array = np.asarray(value)
    if array.dtype != wanted:
        array = np.array(array.astype(wanted), order="C")
    if array.base is None and array.flags.c_contiguous and array.flags.writeable and array.flags.owndata:
        return array if all(array is not a for a in args) else array.copy()
    return np.array(array, order="C")


def _describe(value: Any) -> str:
    if is_array(value):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__
