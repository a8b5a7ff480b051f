"""Decomposed normalizations and softmaxes become the ops of the standard, with what stands beside them."""
