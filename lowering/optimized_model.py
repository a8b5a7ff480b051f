"""How is the optimized model written as ONNX? The passes of the level without fusion, at its own opset."""

from __future__ import annotations

import os
from typing import Any

from onnxloom.conversion.onnx_export import save_model
from onnxloom.conversion.onnx_export.module import DEFAULT_OPSET
from onnxloom.dialects.onnx.module_attributes import opset_imports
from onnxloom.dialects.onnx.text import make_context
from onnxloom.errors import InputError
from onnxloom.lowering.build_model import read_module
from onnxloom.lowering.compile import CompileOptions
from onnxloom.lowering.evaluate_op import HostEvaluator
from onnxloom.lowering.extensions import extensions_in_use
from onnxloom.transforms.folding.evaluator import use_evaluator
from onnxloom.transforms.pass_manager.pass_runner import run_pipeline
from onnxloom.transforms.pipelines import FoldingOptions, FusionOptions, PipelineOptions, pipeline


def write_optimized(source: Any, options: CompileOptions, path: str | os.PathLike[str]) -> None:
    """Writes what the passes of `options` make of a model, its large weights beside it if need be.

    Raises:
        InputError: the source cannot be read a second time.
        ModelError: the model is damaged.
        OSError: the file cannot be written.
    """
    if hasattr(source, "read"):
        raise InputError("the optimized model of a stream cannot be written: give a path or bytes")
    with extensions_in_use(options), use_evaluator(HostEvaluator()):
        module = read_module(source, options)
        asked = PipelineOptions(
            fusion=FusionOptions(disable_fused_op=True),
            folding=FoldingOptions(options.fold),
            skip_patterns=options.skip_patterns,
            take_apart=False,
            opset=opset_imports(module).get("", DEFAULT_OPSET),
        )
        passes = pipeline(options.opt_level, asked)
        run_pipeline(module, make_context(), passes, strict=options.strict, skip=options.skip_passes)
        save_model(module, path)
