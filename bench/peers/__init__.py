"""What we are measured beside."""
