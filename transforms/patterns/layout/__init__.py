"""Ops that exchange, insert or remove axes go together."""
