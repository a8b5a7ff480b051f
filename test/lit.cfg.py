"""Settings for lit's own runner: `lit test/` runs every `.mlir` test in processes of their own."""

import os
import sys
import tempfile

import lit.formats

config.name = "onnxloom"  # noqa: F821  # pyright: ignore
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821  # pyright: ignore
config.suffixes = [".mlir"]  # noqa: F821  # pyright: ignore
config.excludes = ["Inputs"]  # noqa: F821  # pyright: ignore
config.test_source_root = os.path.dirname(__file__)  # noqa: F821  # pyright: ignore
config.test_exec_root = os.path.join(tempfile.gettempdir(), f"onnxloom-lit-{os.getuid()}")  # noqa: F821  # pyright: ignore

# The programs of the environment lit runs in, whether or not it is activated.
config.environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # noqa: F821  # pyright: ignore
for name in ("HOME", "ONNXLOOM_CACHE_DIR", "ONNXLOOM_MODELS_DIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]  # noqa: F821  # pyright: ignore
