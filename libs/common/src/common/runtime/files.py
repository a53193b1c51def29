"""Limit of open files of the process; each socket counts."""

import resource

#: Enough for a busy process; less is used where the hard limit is lower.
_WANTED = 65_536


def raise_file_limit() -> int:
    """Raises the soft limit as far as the hard one allows; returns the new limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _WANTED if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
