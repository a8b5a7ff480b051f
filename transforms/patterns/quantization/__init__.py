"""Between QuantizeLinear and DequantizeLinear: what can be done to the integers instead of the floats."""
