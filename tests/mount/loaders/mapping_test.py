# SPDX-License-Identifier: Apache-2.0
"""Loaders that map files: page faults and reads do not starve each other in the kernel's queue, and what a program says
that it will read is fetched."""

import ctypes
import mmap
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
from harness import content
from harness.mount import COMMAND_SECONDS
from harness.processes import eventually
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

BUCKET = "shards"
SIZE = 12 * MIB + 4321
PIECES = {"passthrough_max": "0"}  # the daemon answers each fault
PAGE = mmap.PAGESIZE
FETCH_SECONDS = 20
libc = ctypes.CDLL(None, use_errno=True)
MADV_POPULATE_READ = 22  # Linux 5.14; Python has no name for it


def fill(target, count):
    for number in range(count):
        content.write(target.root / BUCKET / f"shard-{number:05}", number, SIZE)
    return target


@contextmanager
def one_background_request(mounted, folder):
    """The kernel sends one request of read-ahead and asynchronous I/O at a time, and calls itself congested at one."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "fusectl", "none", folder], check=True)
    try:
        connection = folder / str(os.minor(os.stat(mounted.point).st_dev))
        for name in ("max_background", "congestion_threshold"):
            (connection / name).write_text("1")
            assert (connection / name).read_text().strip() == "1"
        yield connection
    finally:
        subprocess.run(["umount", folder], check=True)


# By page faults in random order, or by large reads of the file in order.
LOADER = """
import mmap, os, random, sys
sys.path.insert(0, sys.argv[1])
from harness import content
way, seed, size = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
draw = random.Random(seed)
for number, path in draw.sample(list(enumerate(sys.argv[5:])), len(sys.argv) - 5):
    with open(path, "rb", buffering=0) as file:
        if way == "mapped":
            memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
            pieces = draw.sample(range(0, size, 65536), size // 65536)
        else:
            pieces = range(0, size, 1 << 20)
        for offset in pieces:
            length = min(65536 if way == "mapped" else 1 << 20, size - offset)
            got = memory[offset:offset + length] if way == "mapped" else os.pread(file.fileno(), length, offset)
            wrong = content.difference(got, number, offset, length)
            if wrong:
                sys.exit(f"{way}, file {number}: {wrong}")
"""


@pytest.mark.needs_root
@pytest.mark.parametrize("mode", ["direct", "auto", "buffered"])
def test_faults_and_reads_go_on_together_through_a_queue_of_one_request(site, tmp_path, mode):
    mounted = site.mount(fill(site.target(), 4), BUCKET, cache=PIECES | {"size": "64MiB"}, read={"mode": mode})
    shards = [mounted / f"shard-{number:05}" for number in range(4)]
    harness = os.path.dirname(os.path.dirname(content.__file__))
    with one_background_request(mounted, tmp_path / "fusectl") as connection:
        loaders = [subprocess.Popen([sys.executable, "-B", "-c", LOADER, harness, way, str(seed), str(SIZE), *shards],
                                    stderr=subprocess.PIPE, text=True)
                   for seed in range(4) for way in ("mapped", "read")]
        try:
            for loader in loaders:
                _, said = loader.communicate(timeout=COMMAND_SECONDS)
                assert loader.returncode == 0, said
        finally:
            for loader in loaders:
                loader.kill()
                loader.wait()
        assert eventually(lambda: (connection / "waiting").read_text().strip() == "0", 10, "no request is left")


def resident_bytes(memory):
    """How much of a mapping is in memory (mincore(2)), without touching it."""
    told = (ctypes.c_ubyte * -(-len(memory) // PAGE))()
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(len(memory)), told) == 0
    return min(len(memory), sum(page & 1 for page in told) * PAGE)


def map_whole(file, flags=mmap.MAP_PRIVATE):
    # Writable, so that ctypes takes its address; private, so that nothing is written.
    return mmap.mmap(file, 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def fadvise(file, memory):
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)


def madvise(advice):
    def advise(file, memory):
        memory.madvise(advice)
    return advise


# Linux reads no more than the read-ahead of the mount (read_ahead_kb, 2 MiB) for one WILLNEED, whatever its range.
ADVICE = {
    "posix_fadvise WILLNEED": (fadvise, 2 * MIB),
    "MADV_WILLNEED": (madvise(mmap.MADV_WILLNEED), 2 * MIB),
    "MADV_POPULATE_READ": (madvise(MADV_POPULATE_READ), SIZE),
}


@pytest.mark.parametrize("advice", ADVICE)
def test_announced_reads_are_in_memory_soon(site, advice):
    target = fill(site.target(), 2)
    mounted = site.mount(target, BUCKET, cache=PIECES, read={"mode": "buffered"}, read_ahead={"window_max": "0"})
    advise, expected = ADVICE[advice]
    for number in range(2):
        file = os.open(mounted / f"shard-{number:05}", os.O_RDONLY)
        memory = map_whole(file)
        try:
            assert resident_bytes(memory) == 0, "nobody has asked for this file"
            advise(file, memory)
            eventually(lambda: resident_bytes(memory) >= expected, FETCH_SECONDS, f"in memory after {advice}")
            wrong = content.difference(memory[:], number, 0, SIZE)
            assert not wrong, wrong
        finally:
            memory.close()
            os.close(file)


def test_a_mapping_that_is_populated_is_in_memory(site):
    mounted = site.mount(fill(site.target(), 1), BUCKET, cache=PIECES, read={"mode": "buffered"})
    with open(mounted / "shard-00000", "rb") as file:
        memory = map_whole(file.fileno(), mmap.MAP_PRIVATE | mmap.MAP_POPULATE)
        try:
            assert resident_bytes(memory) == SIZE
        finally:
            memory.close()
