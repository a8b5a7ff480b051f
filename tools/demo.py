"""What `make demo` shows: a real pitch detector finds the pitch of a tone that is made here.

The model (swift_f0, MIT licence) is taken from its PyPI package. Without network, a model that the onnx
wheel brings along is run on random input instead.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from onnxloom.tools.cli import main as onnxloom
from onnxloom.tools.fetch_models import FetchError, fetch

MODEL = "swift_f0"
TONE = 440.0
SAMPLE_RATE = 16_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=".models", metavar="DIR", help="where fetched models are kept")
    models = Path(parser.parse_args().models)
    try:
        path = fetched(models)
    except (FetchError, OSError) as error:
        print(f"{error}; running a model of the onnx package instead", file=sys.stderr)
        return _run(bundled(), [])
    inputs = path.with_name("tone.npz")
    seconds = np.arange(SAMPLE_RATE, dtype=np.float32) / SAMPLE_RATE
    tone = np.sin(2 * np.pi * TONE * seconds).astype(np.float32)[None]
    np.savez(inputs, audio=tone, fmin=np.float32(46.875), fmax=np.float32(2093.75))
    print(f"{MODEL} listens to one second of a {TONE:g} Hz tone; `pitch` is what it hears, in Hz.")
    return _run(path, ["--inputs", str(inputs)])


def fetched(models: Path) -> Path:
    """The model, fetched if it is not there yet. Raises FetchError."""
    return fetch(MODEL, models)


def bundled() -> Path:
    """A real network that is part of the installed onnx package."""
    import onnx

    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / "light_squeezenet.onnx"


def _run(path: Path, arguments: list[str]) -> int:
    command = ["run", str(path), "--repeat", "20", *arguments]
    print(f"$ onnxloom {' '.join(command)}", flush=True)
    code = onnxloom(command)
    activate = Path(sys.prefix) / "bin" / "activate"
    if code == 0 and activate.is_file():
        print(f"\nto have the commands on your PATH: . {_shown(activate)}")
    return code


def _shown(path: Path) -> str:
    """Below the current folder as one types it there."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


if __name__ == "__main__":
    sys.exit(main())
