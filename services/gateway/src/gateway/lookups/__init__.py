"""Lookups: companies by number, name and address, one or many, suggestions and production units."""
