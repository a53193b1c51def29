"""Contracts between processes: frozen messages, and the names of exchanges and queues."""
