"""Converts `.mlir` text in the onnx dialect (or an `.onnx` file) to an ONNX model, at the opset it came from
where every op still exists there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from onnxloom.tools.failures import EXIT_OK

HELP = "convert .mlir to .onnx"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help=".mlir or .onnx file")
    parser.add_argument("-o", "--output", metavar="FILE.onnx", required=True, help="the file to write")
    parser.add_argument("--opset", type=int, help="opset of the default domain to write")


def run(args: argparse.Namespace) -> int:
    from onnxloom.conversion.onnx_export import save_model
    from onnxloom.conversion.onnx_import import import_model
    from onnxloom.dialects.onnx.text import load_module

    path = Path(args.model)
    module = load_module(path) if path.suffix == ".mlir" else import_model(path)
    save_model(module, args.output, opset=args.opset)
    return EXIT_OK
