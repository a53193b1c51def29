"""The public HTTP interface."""
