"""A private RabbitMQ and MongoDB on one machine, and our programs on top of them.

`python -m local_stack run` is `make run`; the tests start their servers from the same modules.
"""


class SetupError(Exception):
    """One clear sentence that names the fault and its remedy, for the user who starts the stack."""
