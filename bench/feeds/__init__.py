"""Following a register: how fast, how soon, and what a comparison with all of it costs."""
