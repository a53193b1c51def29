"""Sending: one signed post to a receiver, within limits, and its outcome."""
