"""Events: written with their change, ordered, published, confirmed, repeated, restored and read."""
