"""Ops that split and join tensors: many become one."""
