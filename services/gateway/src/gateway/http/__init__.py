"""HTTP: the parts that all routes share."""
