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
    parser.add_argument(
        "--external-data-dir", "--weights-dir", action="append", default=[], metavar="DIR",
        help="also read weights from there (default: from the folder of the model only)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from onnxloom.conversion.onnx_export import save_model
    from onnxloom.conversion.onnx_import import import_model
    from onnxloom.dialects.onnx.text import load_module

    path = Path(args.model)
    dirs = args.external_data_dir
    if path.suffix == ".mlir":
        module = load_module(path, dirs)
    else:
        module = import_model(path, external_data_dirs=dirs)
    save_model(module, args.output, opset=args.opset)
    return EXIT_OK
