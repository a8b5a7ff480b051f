"""`python -m benchmarks.architectures NAME --out FILE [--inputs FILE.npz]`: writes one model as ONNX."""

from __future__ import annotations

import argparse

import numpy as np
import onnx

from benchmarks.architectures import NAMES, QUANTIZED, builder
from benchmarks.architectures.feeds import feeds_of


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.architectures", description=__doc__)
    parser.add_argument("name", choices=(*NAMES, *QUANTIZED))
    parser.add_argument("--out", required=True, metavar="FILE", help="the model, with its weights")
    parser.add_argument("--inputs", metavar="FILE.npz", help="also write seeded inputs")
    parser.add_argument("--past", type=int, default=256, help="tokens in the cache of a decoder's inputs")
    args = parser.parse_args()
    model = builder(args.name)()
    onnx.save(model, args.out)  # pyright: ignore[reportUnknownMemberType]
    if args.inputs is not None:
        np.savez(args.inputs, **feeds_of(model, args.past))  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main()
