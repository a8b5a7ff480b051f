"""Activations spelled out in elementary ops become the op of the standard."""
