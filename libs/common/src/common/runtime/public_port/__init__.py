"""The HTTP server of public ports: no client can hold its memory, its files or its connections."""
