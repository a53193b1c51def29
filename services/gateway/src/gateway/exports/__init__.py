"""Exports: copies of a register as one long response, read page by page."""
