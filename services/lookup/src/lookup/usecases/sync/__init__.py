"""Following the registers: what their feeds tell is brought into the register, without loss.

One use case a source. Each reads its cursor, stores what comes after it, and only then moves the
cursor; killed anywhere it does its last step once more, which changes nothing.
"""
