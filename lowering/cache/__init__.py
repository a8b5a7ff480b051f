"""What is kept on disk between processes: compiled kernels and plans."""

from onnxloom.lowering.cache.disk import DiskCache, cache_directory
from onnxloom.lowering.cache.kernels import KernelCache, compile_environment

__all__ = ["DiskCache", "KernelCache", "cache_directory", "compile_environment"]
