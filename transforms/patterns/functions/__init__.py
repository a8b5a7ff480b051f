"""Ops that the standard defines as functions become what defines them; only when asked for."""
