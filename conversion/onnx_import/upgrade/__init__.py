"""Adapters from old versions of ops to the latest, one file per family; the folder is the registry."""
