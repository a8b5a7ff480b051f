"""Decomposed attention and rotary embeddings become the ops of the standard."""
