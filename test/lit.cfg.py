"""Settings for lit's own runner: `lit test/` runs every `.mlir` test in processes of their own."""

import os
import sys
import tempfile
from importlib import import_module
from typing import Any

settings: Any = globals()["config"]  # lit puts it there
settings.name = "onnxloom"
settings.test_format = import_module("lit.formats").ShTest(execute_external=False)
settings.suffixes = [".mlir"]
settings.excludes = ["Inputs"]
settings.test_source_root = os.path.dirname(__file__)
settings.test_exec_root = os.path.join(tempfile.gettempdir(), f"onnxloom-lit-{os.getuid()}")

# The programs of the environment lit runs in, whether or not it is activated.
settings.environment["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
settings.environment["ONNXLOOM_VERIFY_EACH"] = "1"
for name in ("HOME", "ONNXLOOM_CACHE_DIR", "ONNXLOOM_MODELS_DIR"):
    if name in os.environ:
        settings.environment[name] = os.environ[name]
