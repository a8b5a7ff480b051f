"""What is a compiled model? A program, its kernels, and a way to call it."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onnxloom.dialects.custom_ops import RUN_BY_CALLER
from onnxloom.errors import InputError, OnnxloomError, caller_level
from onnxloom.lowering.plan import store
from onnxloom.lowering.plan.memo import Memo
from onnxloom.lowering.plan.node import Node
from onnxloom.lowering.plan.program import DYNAMIC, Constants, KernelWork, Program, Slot, Spec
from onnxloom.lowering.runtime.inputs import InputPorts
from onnxloom.lowering.runtime.instance import Executor
from onnxloom.lowering.runtime.tree import Engine, observation

MAX_VARIANTS = 16
"""Input shapes a model is compiled for on its own."""


class HostStepWarning(UserWarning):
    """A step of the model runs in Python because there is no kernel for it."""


@dataclass(frozen=True)
class NodeArg:
    """Name, type (`tensor(float)`) and shape of an input or output; symbolic dims are names or None."""

    name: str
    type: str
    shape: list[int | str | None]


@dataclass(frozen=True)
class ModelMetadata:
    """What the model file says about itself."""

    producer_name: str = ""
    producer_version: str = ""
    graph_name: str = ""
    graph_description: str = ""
    domain: str = ""
    description: str = ""
    version: int = 0
    custom_metadata_map: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def graph(self) -> str:
        return self.graph_name


@dataclass(frozen=True)
class Artifact:
    """All of a compiled model that can be stored."""

    program: Program
    constants: Constants
    objects: list[bytes]
    """Object code of the kernels."""
    symbols: dict[str, str]
    executor: list[bytes]
    """Object code of the loop that walks a plan; empty when there are no kernels."""
    memo: Memo
    metadata: ModelMetadata
    notes: tuple[tuple[str, str], ...] = ()
    """Host steps of the program: title and reason."""
    fused: tuple[tuple[str, str], ...] = ()
    """Chains of ops that were fused: kind and names of the ops."""
    open_ranks: bool = False
    """Whether some values have a rank only once the shapes of the inputs are known."""
    overridable: tuple[tuple[str, Spec], ...] = ()
    """Inputs that have a default value in the model, which is a constant here."""
    works: dict[str, KernelWork] = field(default_factory=dict[str, KernelWork])
    """Kernels whose tasks threads may share."""
    triple: str = ""
    """The platform the code is for, as LLVM spells it; empty where there is no code."""
    features: tuple[str, ...] = ()
    """The features of the processor that the code may use."""
    checked: bool = False
    """Whether the kernels check what they touch."""


store.register(ModelMetadata)
store.register(Artifact)


class CompiledModel:
    """A model ready to run: `model(x, y)` gives the list of outputs, `model.run({...})` a dict."""

    def __init__(
        self,
        artifact: Artifact,
        kernel_address: Callable[[str], int],
        executor: Executor,
        keep: Any = None,
        after_run: Callable[[CompiledModel], None] | None = None,
        threads: int = 1,
        team_executor: Executor | None = None,
    ) -> None:
        """`keep` is held as long as the model; `after_run` is called once some plan was filled.

        `team_executor` runs stretches on `threads` threads.
        """
        self.artifact = artifact
        self.program = artifact.program
        self.threads = threads
        """Threads that run a kernel together at most."""
        self.host_steps = 0
        """Host steps run so far."""
        self.host_counts: Counter[str] = Counter()
        """The same by title."""
        self.stored = False
        """Whether the cache holds this model (set by the cache)."""
        self.specialize: Callable[[tuple[tuple[int, ...], ...]], CompiledModel] | None = None
        """Compiles the model for given input shapes, where that tells more about it."""
        self._variants: dict[Any, CompiledModel | None] = {}
        """By shape key; None where the model cannot be compiled for it."""
        self._parent: CompiledModel | None = None
        self.warns = True
        """Whether the first host step is told of by a warning."""
        self.options: Any = None
        """The `CompileOptions` it was compiled with, where that is known."""
        self.compile_overriding: Callable[[tuple[str, ...]], CompiledModel] | None = None
        """Compiles the model with inputs of these names in place of their default values."""
        self._overridable = frozenset(name for name, _ in artifact.overridable)
        self._overriding: dict[frozenset[str], CompiledModel] = {}
        self._keep = keep
        self._after_run = after_run
        self._engine = Engine(
            artifact.constants,
            kernel_address,
            executor,
            artifact.memo,
            artifact.works,
            threads,
            team_executor,
            self._on_host,
            artifact.checked,
        )
        self._tree = self._engine.tree(self.program, is_outermost=True)
        self._roots = self._tree.roots
        self._ports = InputPorts(self.program)
        self._output_names = list(self.program.result_names)

    @property
    def inputs(self) -> list[NodeArg]:
        """The inputs, in order."""
        program = self.program
        return [
            _node_arg(program, name, slot, dims)
            for name, slot, dims in zip(
                program.arg_names, program.args, program.arg_dims or ((),) * len(program.args), strict=True
            )
        ]

    @property
    def outputs(self) -> list[NodeArg]:
        """The outputs, in order."""
        program = self.program
        dims = program.result_dims or ((),) * len(program.result_names)
        return [
            _node_arg(program, name, slot, names)
            for name, slot, names in zip(program.result_names, program.block.yields, dims, strict=True)
        ]

    @property
    def overridable(self) -> list[NodeArg]:
        """Inputs that have a default value in the model: `run` takes them by name."""
        return [_arg_of_spec(name, spec) for name, spec in self.artifact.overridable]

    @property
    def plans(self) -> list[Node]:
        """The first stretch of each plan that was filled, one per shape key."""
        return self._roots.values()

    @property
    def engine(self) -> Engine:
        """What its programs share; for those who measure."""
        return self._engine

    def save(self, path: str | os.PathLike[str], *, source: Any = None) -> None:
        """Writes the compiled model to a file that `onnxloom.load` reads: conventionally `name.loom`.

        What was worked out for input shapes that were run so far is part of it. With `source`, the ONNX file
        or bytes that it was compiled from, a machine that the code does not fit compiles it again.

        Raises:
            InputError: `source` cannot be kept in the file.
            OSError: the file cannot be written.
        """
        from onnxloom.lowering.artifact.save import save_artifact

        variants = {
            tuple([shape for _, shape in key]): variant.artifact
            for key, variant in list(self._variants.items())
            if variant is not None
        }
        save_artifact(path, self.artifact, variants, source, self.options)

    @property
    def variants(self) -> list[CompiledModel]:
        """The models compiled for input shapes that this one met, where ranks depend on them."""
        return [variant for variant in self._variants.values() if variant is not None]

    def __call__(self, *inputs: Any) -> list[Any]:
        """Outputs, in order, for inputs in order.

        Raises:
            InputError: an input does not fit.
        """
        return self.call(inputs)

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs by name for inputs by name; an output that the model lists twice is there once.

        Raises:
            InputError: a name is unknown or missing, or an array does not fit.
        """
        if self._overridable and (other := self._for_feeds(feeds)) is not self:
            return other.run(feeds)
        return dict(zip(self._output_names, self.call(self._ports.by_name(feeds)), strict=True))

    def run_named(self, names: Sequence[str] | None, feeds: Mapping[str, Any]) -> list[Any]:
        """The outputs called `names`, in that order.

        When `names` is None or empty, all of them: one that the model lists twice is there twice.

        Raises:
            InputError: a name is unknown or missing, or an array does not fit.
        """
        if self._overridable and (other := self._for_feeds(feeds)) is not self:
            return other.run_named(names, feeds)
        if names is None or (isinstance(names, list | tuple) and not names):
            return self.call(self._ports.by_name(feeds))
        indices = self._output_indices(names)
        results = self.call(self._ports.by_name(feeds))
        return [results[index] for index in indices]

    def _for_feeds(self, feeds: Mapping[str, Any]) -> CompiledModel:
        """This model, or the one that takes the default values `feeds` overrides as inputs."""
        given = self._overridable.intersection(feeds) if isinstance(feeds, Mapping) else frozenset[str]()  # pyright: ignore[reportUnnecessaryIsInstance]
        if not given:
            return self
        found = self._overriding.get(given)
        if found is None:
            if self.compile_overriding is None:
                raise InputError(
                    f"input {min(given)!r} has a default value in the model; to override it, compile the "
                    "model from an ONNX file, bytes or a ModelProto"
                )
            found = self.compile_overriding(tuple(sorted(given)))
            found._parent = self
            self._overriding[given] = found
        return found

    def _output_indices(self, names: Sequence[str]) -> list[int]:
        known = ", ".join(map(repr, self._output_names))
        if isinstance(names, str) or not isinstance(names, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(f"outputs: got {names!r}; expected a list of names (the model has {known})")
        wanted = list(names)
        for name in wanted:
            if name not in self._output_names:
                raise InputError(f"the model has no output {name!r}; it has {known}")
        return [self._output_names.index(name) for name in wanted]

    def call(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs for inputs in order."""
        key, ready = _key_of(inputs)
        variant = self._variants.get(key) if self._variants else None
        if variant is not None:
            return variant.call(inputs)
        node = self._roots.get(key)
        if node is not None and ready:
            return self._tree.run_from(node, inputs)
        arrays = self._ports.fit(inputs)
        if self.specialize is not None and len(self._variants) < MAX_VARIANTS:
            variant = self._variant(tuple([observation(array) for array in arrays]), arrays)
            if variant is not None:
                return variant.call(arrays)
        results = self._tree.run(arrays)
        if self._after_run is not None:
            self._after_run(self)
        return results

    def _variant(self, key: Any, arrays: Sequence[Any]) -> CompiledModel | None:
        """The model compiled for the shapes of these inputs; None if it cannot be."""
        if key in self._variants:
            return self._variants[key]
        if self.specialize is None or not all(isinstance(array, np.ndarray) for array in arrays):
            return None
        try:
            variant = self.specialize(tuple([array.shape for array in arrays]))
        except OnnxloomError:
            # What is wrong for these shapes may lie in a branch that is not taken; running will tell.
            self._variants[key] = None
            return None
        variant._parent = self
        return self._variants.setdefault(key, variant)

    def _on_host(self, title: str, reason: str) -> None:
        if self._parent is not None:
            self._parent._on_host(title, reason)
            return
        if not self.host_steps and self.warns and reason != RUN_BY_CALLER:
            warnings.warn(
                f"{title} runs in Python: {reason} (only the first such step of a session is reported)",
                HostStepWarning,
                stacklevel=caller_level(),
            )
        self.host_steps += 1
        self.host_counts[title] += 1


_READABLE = 0x1 | 0x100
"""NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED."""


def _key_of(inputs: Sequence[Any]) -> tuple[Any, bool]:
    """What plans depend on, and whether kernels can read the memory of all inputs as it is.

    (Whether dtypes are those declared is known where there is a plan for the key.)
    """
    key: list[Any] = []
    ready = True
    for value in inputs:
        if type(value) is np.ndarray:
            dtype = value.dtype
            key.append((dtype, value.shape))
            if value.flags.num & _READABLE != _READABLE or dtype.hasobject:
                ready = False
        else:
            key.append(observation(value))
            ready = False
    return tuple(key), ready


def _arg_of_spec(name: str, spec: Spec) -> NodeArg:
    return NodeArg(name, spec.text, [None if d == DYNAMIC else d for d in spec.shape or ()])


def _node_arg(program: Program, name: str, slot: Slot, dims: Sequence[str]) -> NodeArg:
    spec = program.specs[slot]
    if spec.shape is None:
        return NodeArg(name, spec.text, [])
    names = [*dims, *("" for _ in spec.shape)]
    shape = [d if d != DYNAMIC else names[i] or None for i, d in enumerate(spec.shape)]
    return NodeArg(name, spec.text, shape)
