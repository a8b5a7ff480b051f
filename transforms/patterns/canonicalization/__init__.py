"""Ops that change nothing, or only what the op before them did, go."""
