"""Memory that glibc keeps for a process after it was freed."""

import ctypes

# glibc's own; other C libraries do not keep as much.
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None)


def release_freed_memory() -> None:
    """Returns freed memory to the operating system; blocks for some milliseconds.

    Threads that allocate much at long intervals, as the index writer's do for each commit, leave
    an arena of several megabytes each, which glibc would return only from its end.
    """
    if _TRIM is not None:
        _TRIM(0)
