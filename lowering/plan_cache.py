"""Which compiled models are kept on disk, whole, so that another process neither imports nor compiles?

An entry is found by the model's bytes, the options, the processor, the versions of what compiled it,
and plug-ins. It holds the program, object code, packed weights and the plan-time results of the shape
keys that were run. Anything wrong with an entry only costs the reuse.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxloom.lowering.cache import DiskCache, cache_directory, compile_environment
from onnxloom.lowering.cpu_target import CpuTarget
from onnxloom.lowering.extensions import extensions_stamp
from onnxloom.lowering.external_stamp import external_stamp
from onnxloom.lowering.plan import store
from onnxloom.lowering.runtime.model import CompiledModel
from onnxloom.transforms.pass_manager.environment import skipped_by_environment

if TYPE_CHECKING:
    from onnxloom.lowering.compile import CompileOptions

MAX_BYTES = 512 << 20
"""Larger models are not kept."""

_ELSEWHERE = ("progress", "observe", "patterns", "plugins", "threads")
"""Options that are no part of the key, or are so by their source."""


class PlanCache:
    """The entry of one model under given options."""

    def __init__(self, key: str, source: memoryview) -> None:
        self._disk = DiskCache(cache_directory())
        self._key = key
        self._source = source
        self._save_at = 0
        """Remembered results from which on the entry is written again: each time twice as many, so that a
        model that meets ever new shapes is not written for each of them."""

    @staticmethod
    def of(source: Any, options: CompileOptions) -> PlanCache | None:
        """The entry for a path to an .onnx file or for bytes; None for other sources."""
        if cache_directory() is None:
            return None
        data = _bytes_of(source)
        if data is None or data.nbytes > MAX_BYTES:
            return None
        mapped = data.obj
        assert isinstance(mapped, bytes | mmap.mmap)
        external = external_stamp(mapped, _external_folders(source, options))
        extensions = extensions_stamp(options)
        if external is None or extensions is None:
            return None
        digest = hashlib.sha256(data)
        digest.update(_options_text(options).encode())
        digest.update(_code_stamp().encode())
        digest.update(compile_environment(CpuTarget.chosen(options.cpu)).encode())
        digest.update(extensions.encode())
        digest.update(external.encode())
        return PlanCache(f"plan-{digest.hexdigest()[:48]}", data)

    def load(self, threads: int = 1) -> CompiledModel | None:
        """The model, ready to run on up to `threads` threads; None if it is not there or does not load."""
        data = self._disk.get(self._key)
        if data is None:
            return None
        from onnxloom.lowering.load_model import load_artifact

        try:
            artifact = store.loads(data, self._source)
            model = load_artifact(artifact, self.save, threads)
        except Exception:  # written by who knows what: compile instead
            self._disk.remove(self._key)
            return None
        model.stored = True
        return model

    def save(self, model: CompiledModel) -> None:
        """Stores a model after a run that filled a plan; nothing happens if that taught little."""
        memo = model.artifact.memo
        if model.stored and not (memo.grown and len(memo.entries) >= self._save_at):
            return
        memo.grown = False
        model.stored = True
        entries = dict(memo.entries)  # other threads may add to it meanwhile
        self._save_at = 2 * len(entries)
        artifact = replace(model.artifact, memo=entries)  # pyright: ignore[reportArgumentType]
        source = store.source_of([v for v in artifact.constants.values if hasattr(v, "nbytes")])
        if source is not None and not store.same_bytes(source, self._source):
            source = None  # a view of another file, such as external data
        try:
            data = store.dumps(artifact, source)
        except store.Unstorable:
            return
        if self._disk.put(self._key, data):
            self._disk.trim()


def _bytes_of(source: Any) -> memoryview | None:
    if isinstance(source, bytes):
        return memoryview(source)
    if not isinstance(source, str | os.PathLike) or Path(source).suffix == ".mlir":  # pyright: ignore[reportUnknownArgumentType]
        return None
    try:
        if not os.path.isfile(source):  # pyright: ignore[reportUnknownArgumentType]
            return None  # to open a pipe is to wait for who writes it
        with open(source, "rb") as file:  # pyright: ignore[reportUnknownArgumentType]
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None  # the importer says what is wrong with it


def _options_text(options: CompileOptions) -> str:
    given = [(f.name, getattr(options, f.name)) for f in fields(options) if f.name not in _ELSEWHERE]
    return repr([*given, skipped_by_environment()])


@cache
def _code_stamp() -> str:
    """Changes with any source file of the package."""
    root = Path(__file__).resolve().parent.parent
    folders = ("dialects", "transforms", "conversion", "lowering")
    stamp = hashlib.sha256()
    for folder in folders:
        for path, names, files in os.walk(root / folder):
            names.sort()
            for name in sorted(files):
                if name.endswith(".py"):
                    status = os.stat(os.path.join(path, name))
                    stamp.update(f"{path}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return stamp.hexdigest()


def _external_folders(source: Any, options: CompileOptions) -> list[str]:
    """Where external data may lie."""
    folders = [os.path.abspath(folder) for folder in options.external_data_dirs]
    if not isinstance(source, bytes):
        folders.append(os.path.dirname(os.path.realpath(source)))
    return folders
