"""How is a model compiled when the cache does not have it? This is the part that needs onnx and xDSL."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, UnrankedTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from onnxloom.conversion.onnx_to_loom.convert import ConvertOnnxToLoomPass
from onnxloom.dialects import loom, onnx
from onnxloom.dialects.custom_ops import STANDARD_DOMAINS
from onnxloom.dialects.onnx.annotations import OVERRIDABLE
from onnxloom.dialects.onnx.entry_function import entry_function
from onnxloom.dialects.onnx.module_attributes import dim_names, opset_imports
from onnxloom.dialects.onnx.text import load_module, make_context
from onnxloom.dialects.verify_module import verify_module
from onnxloom.errors import InputError, ModelError, UnsupportedOpError
from onnxloom.lowering.collector import rare_collections
from onnxloom.lowering.compile import STAGES, CompileOptions
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.optimize import optimize_module
from onnxloom.lowering.plan.build import build_program
from onnxloom.lowering.plan.fold import drop_unused
from onnxloom.lowering.plan.kernel_work import works_of
from onnxloom.lowering.plan.memo import Memo
from onnxloom.lowering.plan.program import Constants, HostStep, Spec, Step, walk_steps
from onnxloom.lowering.plan.specs import spec_of
from onnxloom.lowering.runtime.model import Artifact, ModelMetadata
from onnxloom.transforms.fusion.create import FuseOpsPass
from onnxloom.transforms.specialize import specialize_inputs

if TYPE_CHECKING:
    from onnxloom.conversion.onnx_import.edits import ModelEdits


def build_artifact(source: Any, options: CompileOptions) -> Artifact:
    """Compiles a model. Raises ModelError."""
    _report(options, 0)
    with rare_collections():
        return artifact_of_module(read_module(source, options), options)


def read_module(source: Any, options: CompileOptions) -> ModuleOp:
    """The onnx module of a source. Raises ModelError."""
    is_text = isinstance(source, str | os.PathLike) and Path(cast(str, source)).suffix == ".mlir"
    if options.edits_model and (is_text or isinstance(source, ModuleOp)):
        raise InputError("dims and initializers can be set for ONNX models only, not for IR")
    if isinstance(source, ModuleOp):
        verify_module(source)
        return source.clone()
    if is_text:
        return load_module(Path(cast(str, source)), options.external_data_dirs)
    from onnxloom.conversion.onnx_import import import_model
    from onnxloom.lowering.artifact.container import is_artifact

    if is_artifact(source):
        name = os.fspath(cast(str, source)) if isinstance(source, str | os.PathLike) else "the model"
        raise ModelError(f"{name}: is a compiled model; expected the one it was compiled from")
    return import_model(
        cast(Any, source),
        external_data_dirs=options.external_data_dirs,
        overridden=options.overridden,
        edits=_edits(options),
    )


def _edits(options: CompileOptions) -> ModelEdits | None:
    from onnxloom.conversion.onnx_import.edits import ModelEdits

    if not options.edits_model:
        return None
    return ModelEdits(
        dict(options.free_dims),
        dict(options.denoted_dims),
        dict(options.initializers),
        dict(options.external_initializers),
        dict(options.external_files),
    )


def artifact_of_module(module: ModuleOp, options: CompileOptions) -> Artifact:
    """Compiles a module; it is used up."""
    context = make_context()
    metadata, opsets = _metadata(module), opset_imports(module)
    result_dims = _result_dims(module)
    overridable = _overridable(module)
    _settle_defaults(module)
    _report(options, 1)
    fused: tuple[tuple[str, str], ...] = ()
    if not _has_program(module):
        if options.input_shapes is not None:
            specialize_inputs(entry_function(module), options.input_shapes)
        fused = _optimize(module, context, options)
        _report(options, 2)
        _convert(module, context, options)
    programs = [op for op in module.ops if isinstance(op, loom.ProgramOp)]
    if len(programs) != 1:
        raise ModelError(f"the module has {len(programs)} programs; expected one")
    try:
        programs[0].verify_launches()
    except VerifyException as error:
        raise ModelError(str(error)) from None
    kernels = [op for op in module.ops if isinstance(op, loom.KernelOp)]
    if options.observe is not None:
        options.observe(module)
    _report(options, 3)
    target = CpuTarget.chosen(options.cpu)
    objects, symbols, executor = _compile(kernels, target, options)
    _report(options, 4)
    constants = Constants([])
    program = build_program(programs[0], constants, result_dims=result_dims)
    drop_unused(program, constants)
    steps = list(walk_steps(program.block))
    _check_host_ops(steps, opsets)
    notes = tuple((s.title, s.reason) for s in steps if isinstance(s, HostStep))
    return Artifact(
        program,
        constants,
        objects,
        symbols,
        executor,
        Memo(),
        metadata,
        notes,
        fused,
        _open_ranks(programs[0]),
        overridable,
        works_of(kernels) if options.jit == "llvm" else {},  # Numba's run all tasks in each call
        target.triple if objects else "",
        target.required if objects else (),
        options.checks_kernels,
    )


def _open_ranks(program: loom.ProgramOp) -> bool:
    """Whether a host step is one only because the rank of a tensor is not known."""
    return any(
        isinstance(value.type, UnrankedTensorType)
        for op in program.walk()
        if isinstance(op, loom.HostOp)
        for value in (*op.operands, *op.results)
    )


def _report(options: CompileOptions, stage: int) -> None:
    if options.progress is not None:
        options.progress(STAGES[stage], stage, len(STAGES))


def _has_program(module: ModuleOp) -> bool:
    return any(isinstance(op, loom.ProgramOp) for op in module.ops)


def _optimize(module: ModuleOp, context: Context, options: CompileOptions) -> tuple[tuple[str, str], ...]:
    """Runs the passes; kind and ops of each fused chain."""
    report = optimize_module(module, context, options)
    steps = [run.step for run in report.of(FuseOpsPass.name)]
    chains = [chain for step in steps if isinstance(step, FuseOpsPass) for chain in step.report.chains]
    return tuple((chain.kind, " ".join(chain.ops)) for chain in chains)


def _convert(module: ModuleOp, context: Context, options: CompileOptions) -> None:
    tiles = CpuTarget.chosen(options.cpu).tiles
    convert = ConvertOnnxToLoomPass(
        tiles.vector_bytes, tiles.vector_registers, tiles.dot_bytes, options.winograd
    )
    convert.apply(context, module)


def _compile(
    kernels: Sequence[loom.KernelOp], target: CpuTarget, options: CompileOptions
) -> tuple[list[bytes], dict[str, str], list[bytes]]:
    if not kernels:
        return [], {}, []
    from onnxloom.lowering.cache import KernelCache
    from onnxloom.lowering.compile_kernels import compile_kernels
    from onnxloom.lowering.executor import load_executor

    cache = KernelCache.default(target) if options.cache else None
    if options.jit == "numba":
        from onnxloom.lowering.numba_jit import compile_with_numba

        return *compile_with_numba(kernels), load_executor(cache, target).objects
    library = compile_kernels(kernels, cache=cache, target=target, checked=options.checks_kernels)
    executor = load_executor(cache, target)
    return library.objects, library.symbols, executor.objects


def _check_host_ops(steps: Sequence[Step], opsets: dict[str, int]) -> None:
    """Raises UnsupportedOpError for the first op that nothing here can run."""
    hosts = [step for step in steps if isinstance(step, HostStep)]
    if not hosts:
        return
    from onnxloom.lowering.runtime.host_ops import can_evaluate
    from onnxloom.lowering.runtime.host_ops.nested_nodes import with_nested

    listed = [node for step in hosts for node in step.nodes]
    for node in [inner for outer in listed for inner in with_nested(outer)]:
        if not can_evaluate(node.domain, node.op):
            domain = node.domain or "ai.onnx"
            opset = opsets.get(node.domain)
            version = "" if opset is None else f" (opset {opset})"
            name = f"node {node.name!r}" if node.name else "an unnamed node"
            hint = (
                "" if node.domain in STANDARD_DOMAINS else "; a custom op would run it (docs/custom_ops.md)"
            )
            raise UnsupportedOpError(
                f"{name}: op {node.op} of domain {domain}{version} is not supported{hint}"
            )


def _metadata(module: ModuleOp) -> ModelMetadata:
    def text(name: str) -> str:
        found = module.attributes.get(f"onnx.{name}")
        return found.data if isinstance(found, StringAttr) else ""

    version = module.attributes.get("onnx.model_version")
    pairs = cast(Any, module.attributes.get("onnx.metadata"))
    custom = {p.data[0].data: p.data[1].data for p in pairs.data} if pairs is not None else {}
    return ModelMetadata(
        producer_name=text("producer_name"),
        producer_version=text("producer_version"),
        graph_name=text("graph_name"),
        graph_description=text("graph_doc_string"),
        domain=text("domain"),
        description=text("doc_string"),
        version=cast(Any, version).value.data if version is not None else 0,
        custom_metadata_map=custom,
    )


def _overridable(module: ModuleOp) -> tuple[tuple[str, Spec], ...]:
    """Name and type of each input that has a default value in the model."""
    constants = [
        op for op in module.walk() if isinstance(op, onnx.ConstantOp) and OVERRIDABLE in op.attributes
    ]
    named = [(op.attributes.get("onnx_node_name"), op.attributes[OVERRIDABLE]) for op in constants]
    return tuple((name.data, spec_of(type_)) for name, type_ in named if isinstance(name, StringAttr))


def _settle_defaults(module: ModuleOp) -> None:
    """This compilation has its default values for good: overriding one compiles the model again."""
    for op in module.walk():
        op.attributes.pop(OVERRIDABLE, None)


def _result_dims(module: ModuleOp) -> list[list[str]]:
    """Names of the symbolic dims of the entry function's results."""
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    if len(functions) != 1:
        return []
    attrs: Sequence[DictionaryAttr] = (
        functions[0].res_attrs.data if functions[0].res_attrs is not None else ()
    )
    return [_dim_names(a.data) for a in attrs]


def _dim_names(attributes: Mapping[str, Attribute]) -> list[str]:
    """`"0:batch,2:time"` -> ["batch", "", "time"]."""
    names = dim_names(attributes)
    return [names.get(axis, "").strip() for axis in range(max(names, default=-1) + 1)]
