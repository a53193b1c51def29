"""Destinations: URLs that webhooks may have, and the check of their hosts."""
