"""Comparing what a model computes in two ways, for the commands `check` and `bisect`."""
