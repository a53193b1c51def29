"""Our own infrastructure being away: nobody's fault who asked, and never counted against them."""


class Outage(Exception):
    """A broker, database or service cannot be reached now; the message names which.

    Ports may raise it everywhere; whoever serves turns it into a `service_unavailable`.
    """
