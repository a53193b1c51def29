"""Watchlists, and the digests by e-mail of what changes in their companies."""
