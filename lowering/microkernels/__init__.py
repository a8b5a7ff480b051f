"""Tuned forms of `loom.microkernel` ops, one module per kind, found by the kind's name."""
