"""Shared kernel: identifiers parsed identically by every service; standard library only."""
