"""Everything that crosses a process: frozen messages, and the names of exchanges and queues."""
