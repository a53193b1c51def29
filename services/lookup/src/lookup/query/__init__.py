"""Answers lookups and suggestions."""
