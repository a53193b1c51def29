"""The HTTP server of public ports, whose limits keep clients from exhausting its resources."""
