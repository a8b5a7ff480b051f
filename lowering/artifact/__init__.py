"""Compiled models as files that another process, or another machine of the same kind, runs."""
