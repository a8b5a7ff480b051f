"""How are two contestants compared? As `onnxloom bench` does it."""

from onnxloom.tools.benchmarking.pairing import Pairing, pair

__all__ = ["Pairing", "pair"]
