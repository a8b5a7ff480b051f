"""Converts an ONNX model to `.mlir` text. Large weights stay where they are: the text refers to the model
file, or, with --weights-out, to a file that is written beside it.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from onnxloom.tools.failures import EXIT_OK

HELP = "convert .onnx to .mlir"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help=".onnx file")
    parser.add_argument("-o", "--output", metavar="FILE.mlir", help="write there instead of to stdout")
    parser.add_argument("--weights-out", metavar="FILE", help="write all large weights there")
    parser.add_argument("--elide-weights", action="store_true", help="leave data out (for reading only)")
    parser.add_argument(
        "--external-data-dir", action="append", default=[], metavar="DIR",
        help="also read external weights from there",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from onnxloom.conversion.onnx_import import import_model
    from onnxloom.dialects.onnx.weights_file import WeightsWriter
    from onnxloom.tools.opt.output import Output, TextForm, check_weights_out

    check_weights_out(args.weights_out, args.model, args.output)
    module = import_model(args.model, external_data_dirs=args.external_data_dir)
    output = Output(args.output)
    with WeightsWriter(args.weights_out) if args.weights_out else nullcontext() as weights:
        form = TextForm(
            elide_weights=args.elide_weights, weights_out=weights, copy_weights=args.weights_out is not None
        )
        output.text(form.text(module))
    output.finish()
    return EXIT_OK
