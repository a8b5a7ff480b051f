"""Ops that only give elements another shape."""
