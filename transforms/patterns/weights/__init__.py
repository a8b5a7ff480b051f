"""Weights of linear ops take over what stands before or behind the op.

All of it is computed in 64-bit floats and rounded once; weights that somebody else reads stay as they are (a
second one would take as much memory again).

| module | answers |
|---|---|
| `per_channel.py` | which constants are one number per channel, by position? |
| `affine.py` | what do BatchNormalization, Mul and Add compute per channel? |
| `linear.py` | which weights does an op have, and where are their channels? |
| `affine_after.py`, `affine_before.py` | the rewrite, for what stands behind an op and before it |
"""
