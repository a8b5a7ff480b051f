"""Generators of random cases, one family of ops per file; a file here is found by looking into the folder."""
