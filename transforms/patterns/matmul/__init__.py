"""Matrix products take in what stands beside them."""
