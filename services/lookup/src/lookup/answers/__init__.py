"""Lookups and suggestions."""
