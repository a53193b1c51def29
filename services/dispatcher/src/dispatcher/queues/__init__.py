"""Queues: their topology, delayed messages and consumers."""
