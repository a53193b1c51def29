"""Errors that the user who starts the stack can fix."""


class SetupError(Exception):
    """One clear sentence that names the fault and its remedy."""
