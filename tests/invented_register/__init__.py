"""A register that exists only here: associations of Denmark, with three fields each."""
