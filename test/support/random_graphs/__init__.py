"""Random valid ONNX models: `seeded_graph(seed)`, or the hypothesis strategy `graphs()`."""

from random_graphs.model import RandomGraph, graphs, seeded_graph

__all__ = ["RandomGraph", "graphs", "seeded_graph"]
