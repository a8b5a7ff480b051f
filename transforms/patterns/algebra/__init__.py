"""Arithmetic has one spelling each."""
