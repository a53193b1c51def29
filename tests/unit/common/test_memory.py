"""Memory that is returned to the operating system."""

import ctypes
from pathlib import Path

from common.runtime.memory import release_freed_memory

MEGABYTE = 2**20
#: Less than from where on glibc maps a block by itself.
BLOCK = 64 * 1024


def resident() -> int:
    """Bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def test_freed_memory_below_a_used_block_is_returned() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = [libc.malloc(BLOCK) for _ in range(64 * MEGABYTE // BLOCK)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    last = libc.malloc(BLOCK)
    for block in blocks:
        libc.free(block)
    before = resident()

    release_freed_memory()

    after = resident()
    libc.free(last)
    assert before - after > 32 * MEGABYTE
