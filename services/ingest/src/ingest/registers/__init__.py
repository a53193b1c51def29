"""Registers: their documents, files and interfaces, one package each."""
