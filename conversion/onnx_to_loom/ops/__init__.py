"""Lowerings of single ops, one family per file. The folder is the registry: see `registry.py`."""
