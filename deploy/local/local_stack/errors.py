"""What the person who starts the stack can do something about."""


class SetupError(Exception):
    """One clear sentence: what is wrong here, and what would mend it."""
