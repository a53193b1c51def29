"""Watchlists: bodies, their management and their companies."""
