# SPDX-License-Identifier: Apache-2.0
"""Requests of the kernel's are as large as it allows; the bytes are right at any size."""

import mmap
import os

import pytest
from harness import content
from harness.kernel import MAX_PAGES_LIMIT, setting
from harness.mount import total
from harness.units import MIB

pytestmark = [
    pytest.mark.needs_fuse,
    pytest.mark.needs_root,
    pytest.mark.skipif(not MAX_PAGES_LIMIT.exists(), reason="this kernel has no fs.fuse.max_pages_limit"),
]

PAGES_OF_ONE_MIB = MIB // mmap.PAGESIZE
SIZE = 24 * MIB + 5  # read by direct I/O


def read_into_pages(path, offset, length):
    """Into memory that begins on a page: no request is cut short for its sake."""
    with mmap.mmap(-1, length) as memory:
        file = os.open(path, os.O_RDONLY)
        try:
            return memory[:os.preadv(file, [memory], offset)]
        finally:
            os.close(file)


@pytest.mark.parametrize("limit_mib, request_mib", [(1, 1), (4, 4), (16, 4)])
def test_a_large_read_takes_requests_as_large_as_the_kernel_allows(site, limit_mib, request_mib):
    target = site.target()
    content.write(target.root / "data" / "file", 7, SIZE)
    with setting(MAX_PAGES_LIMIT, str(limit_mib * PAGES_OF_ONE_MIB)):
        mounted = site.mount(target, "data", read_ahead={"window_max": "0"},
                             cache={"resident_size": "0"})  # every read asks the daemon
    assert total(mounted.stats(), "fuse_request_bytes_max") == request_mib * MIB

    before = total(mounted.stats(), "cache_reads_total")
    assert not content.difference(read_into_pages(mounted / "file", 0, 16 * MIB), 7, 0, 16 * MIB)
    assert total(mounted.stats(), "cache_reads_total") - before == 16 / request_mib


# The cache's blocks are 8 MiB: a read of 4 MiB may touch two, never three.
@pytest.mark.parametrize("offset", [0, 4096, 8 * MIB - 4096, 8 * MIB + 8192, 4 * MIB + 8192, SIZE - 3 * MIB])
def test_reads_of_4_MiB_at_any_offset_have_the_right_bytes(site, offset):
    target = site.target()
    content.write(target.root / "data" / "file", 7, SIZE)
    with setting(MAX_PAGES_LIMIT, str(4 * PAGES_OF_ONE_MIB)):
        mounted = site.mount(target, "data", cache={"resident_size": "0"})
    got = read_into_pages(mounted / "file", offset, 4 * MIB)
    assert not content.difference(got, 7, offset, min(4 * MIB, SIZE - offset))
