"""Finds companies by name and address."""
