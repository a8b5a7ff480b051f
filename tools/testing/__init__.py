"""Test support that plug-in authors can use too: `.mlir` files as pytest items."""
