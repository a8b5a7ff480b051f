"""Rewrites, one per file, in a folder per family: what an op or a group of ops is replaced by, and when.

The `__init__.py` of a family says what belongs there. Files beside the families hold questions that patterns
of several families ask: `operands.py` about the operands of an op, `reduced_axes.py` about a reduction.
"""
