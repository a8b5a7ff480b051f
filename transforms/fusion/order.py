"""Where do ops of a block stand? The position map of the rewriting engine, under the name fusion uses."""

from __future__ import annotations

from onnxloom.transforms.rewriting.block_order import BlockOrder, producer_in, user_in

__all__ = ["BlockOrder", "producer_in", "user_in"]
