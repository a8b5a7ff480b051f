"""Adapters from the latest version of ops to older ones, one file per family; the folder is the registry."""
