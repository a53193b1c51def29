"""The process' limit of open files: a socket is one, and idle connections are kept for a while."""

import resource

#: As many as a busy process needs; more is refused where the hard limit is lower.
_WANTED = 65_536


def allow_many_files() -> None:
    """Raises the soft limit as far as the hard one lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
