"""Watchlists: lists of companies by owner, and the companies in them."""
