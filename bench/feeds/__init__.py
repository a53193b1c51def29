"""Following a register: throughput, latency, and the cost of a full comparison."""
