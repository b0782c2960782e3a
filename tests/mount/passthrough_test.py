# SPDX-License-Identifier: Apache-2.0
"""Opens that the kernel serves alone: what a program sees of a file that is passed through is the object,
whole, from the first moment to the last, whatever becomes of its name, its cache or the daemon."""

import errno
import mmap
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from harness import content
from harness.mount import GET_BYTES, total
from harness.processes import eventually, is_alive, kill, unmount_lazily
from harness.units import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_passthrough]

BUCKET = "whole"
SIZE = 24 * MIB + 4321  # an end inside a page, and parts that travel at once
FILES = 6
# Room for two of them: the third open has to find a victim.
RESIDENT = 64 * MIB
CACHE = {"size": "128MiB", "resident_size": "64MiB"}
OPENS = "fuse_opens_total"
DECLINED = "passthrough_declined_total"


def fill(target, count=FILES, size=SIZE):
    for number in range(count):
        content.write(target.root / BUCKET / f"file{number}", number, size)
    return target


@pytest.fixture(params=["rdma", "http"])
def mounted(request, site):
    mode = {"rdma": "require", "http": "off"}[request.param]
    made = site.mount(fill(site.target()), BUCKET, rdma={"mode": mode}, cache=CACHE)
    made.path = request.param
    return made


@pytest.fixture
def place(site):
    """(target, mount) over RDMA."""
    target = fill(site.target())
    return target, site.mount(target, BUCKET, cache=CACHE)


def passed_through(mount):
    return total(mount.stats(), OPENS, 'mode="passthrough"')


def check(got, number, offset=0, length=SIZE):
    wrong = content.difference(got, number, offset, length)
    assert not wrong, wrong


def open_file(path):
    return os.open(path, os.O_RDONLY)


def test_the_kernel_reads_without_asking(mounted):
    for number in (1, 0):  # in the order of names the next one would be fetched as well
        check((mounted / f"file{number}").read_bytes(), number)
    stats = mounted.stats()
    assert total(stats, OPENS, 'mode="passthrough"') == 2
    assert total(stats, "fuse_read_bytes_total") == 0
    assert total(stats, GET_BYTES, f'path="{mounted.path}"') == 2 * SIZE


def test_the_file_after_two_that_were_opened_in_order_is_there_when_it_is_opened(mounted):
    """As a loader opens the shards of a set: by names that it has from an index, without a listing."""
    for number in range(2):
        check((mounted / f"file{number}").read_bytes(), number)
    eventually(lambda: total(mounted.stats(), GET_BYTES) >= 3 * SIZE, 10, "the third file is fetched")
    assert total(mounted.stats(), "cache_object_prefetches_total") >= 1
    check((mounted / "file2").read_bytes(), 2)
    assert total(mounted.stats(), "cache_object_opens_total", 'result="fetch"') == 2, "the first two alone"
    assert total(mounted.stats(), OPENS, 'mode="passthrough"') == 3


def test_without_passthrough_the_daemon_is_asked(site):
    """The control of the test above."""
    mounted = site.mount(fill(site.target(), 1), BUCKET, cache=CACHE | {"passthrough_max": "0"})
    check((mounted / "file0").read_bytes(), 0)
    assert passed_through(mounted) == 0
    assert total(mounted.stats(), "fuse_read_bytes_total") == SIZE


def test_a_file_opened_again_is_not_fetched_again(mounted):
    for _ in range(3):
        check((mounted / "file0").read_bytes(), 0)
    assert total(mounted.stats(), GET_BYTES) == SIZE


@pytest.mark.parametrize("offset", [0, 8 * MIB - 1, 16 * MIB, SIZE - 4321, SIZE - 1])
def test_no_hole_is_ever_seen_however_slow_the_server(site, offset):
    """The bytes read first, at once after the open, are those that come last where the server takes its time."""
    target = fill(site.target("--fault", "delay-transfer:300ms@/2"), 1)
    mounted = site.mount(target, BUCKET, cache=CACHE)
    begin = time.monotonic()
    file = open_file(mounted / "file0")
    waited = time.monotonic() - begin
    try:
        check(os.pread(file, 4096, offset), 0, offset, min(4096, SIZE - offset))
        with mmap.mmap(file, 0, prot=mmap.PROT_READ) as memory:
            check(memory[:], 0)
    finally:
        os.close(file)
    assert waited >= 0.3, "the control: the open waited for a slow part"
    assert passed_through(mounted) == 1


def test_other_files_answer_while_an_open_waits(site):
    target = fill(site.target("--fault", "delay-transfer:4s@get"), 1)
    (target.root / BUCKET / "small").write_bytes(b"small")
    mounted = site.mount(target, BUCKET, cache=CACHE, mount={"threads": 1}, rdma={"threshold": "1MiB"})
    opened = []
    waiting = threading.Thread(target=lambda: opened.append(open_file(mounted / "file0")))
    waiting.start()
    time.sleep(0.3)  # not to synchronise: had the open ended by now, the check below would say so
    begin = time.monotonic()
    assert os.stat(mounted / "file0").st_size == SIZE
    assert (mounted / "small").read_bytes() == b"small"
    took = time.monotonic() - begin
    assert not opened, "the control: the open still waits"
    assert took < 3
    waiting.join(30)
    check(os.read(opened[0], 4096), 0, 0, 4096)
    os.close(opened[0])


def test_a_file_ends_where_the_object_ends(mounted):
    file = open_file(mounted / "file0")
    try:
        assert os.fstat(file).st_size == SIZE
        assert os.lseek(file, 0, os.SEEK_END) == SIZE
        check(os.pread(file, 100, SIZE - 10), 0, SIZE - 10, 10)
        assert os.pread(file, 100, SIZE) == b""
        with mmap.mmap(file, 0, prot=mmap.PROT_READ) as memory:
            assert len(memory) == SIZE
            check(memory[-50:], 0, SIZE - 50, 50)
    finally:
        os.close(file)


def test_opens_at_the_same_time_share_one_fetch(site):
    target = fill(site.target("--fault", "delay-transfer:300ms@get"), 1)
    mounted = site.mount(target, BUCKET, cache=CACHE)
    wrong = []

    def read():
        with open(mounted / "file0", "rb") as file:
            wrong.append(content.difference(file.read(), 0, 0, SIZE))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == [""] * 8
    stats = mounted.stats()
    assert total(stats, GET_BYTES) == SIZE
    assert total(stats, OPENS, 'mode="passthrough"') == 8


def test_modes_are_never_mixed(place):
    """A file opened while there is no room keeps its mode; another open of it gets that mode, not EIO."""
    _, mounted = place
    holders = [open_file(mounted / f"file{number}") for number in range(2)]
    first = open_file(mounted / "file2")  # no room: direct
    for holder in holders:
        os.close(holder)
    eventually(lambda: total(mounted.stats(), "vfs_open_files") == 1, 20, "the holders are closed")
    second = open_file(mounted / "file2")  # there is room now, but the first handle is direct
    for file in (first, second):
        check(os.pread(file, MIB, 5 * MIB), 2, 5 * MIB, MIB)
        with mmap.mmap(file, 0, prot=mmap.PROT_READ) as memory:
            check(memory[MIB:2 * MIB], 2, MIB, MIB)
        os.close(file)
    stats = mounted.stats()
    assert total(stats, OPENS, 'mode="passthrough"') == 2
    assert total(stats, OPENS, 'mode="direct"') == 2
    assert total(stats, DECLINED, 'reason="no_room"') == 1
    assert total(stats, DECLINED, 'reason="other_mode"') == 1

    eventually(lambda: total(mounted.stats(), "vfs_open_files") == 0, 20, "all are closed")
    check((mounted / "file2").read_bytes(), 2)
    assert passed_through(mounted) == 3, "after the last close the mode is free"


def test_no_room_is_not_an_error(place):
    _, mounted = place
    files = [open_file(mounted / f"file{number}") for number in range(FILES)]
    for number, file in enumerate(files):
        check(os.pread(file, SIZE, 0), number, 0, SIZE)
        os.close(file)
    stats = mounted.stats()
    assert total(stats, OPENS, 'mode="passthrough"') == 2
    assert total(stats, DECLINED, 'reason="no_room"') == FILES - 2
    assert total(stats, "cache_object_bytes") <= RESIDENT


def test_mapped_bytes_stay_although_the_file_was_closed(place):
    """RELEASE comes when the descriptor is closed; the mapping lives on, and eviction must leave it alone."""
    _, mounted = place
    file = open_file(mounted / "file0")
    memory = mmap.mmap(file, 0, prot=mmap.PROT_READ)  # has a duplicate of its own
    os.close(file)
    raw = subprocess.Popen([sys.executable, "-c", MAP_AND_CLOSE, str(mounted / "file1")],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert raw.stdout.readline() == b"closed\n"
        eventually(lambda: total(mounted.stats(), "vfs_open_files") == 1, 20, "the kernel told of the close")
        for number in list(range(2, FILES)) * 2:  # each would evict both, if it could
            check((mounted / f"file{number}").read_bytes(), number)
        assert passed_through(mounted) == 2, "the control: there was no room for any of them"
        check(memory[:], 0)
        raw.stdin.write(b"\n")
        raw.stdin.flush()
        assert len(mapped := raw.stdout.read(SIZE)) == SIZE
        check(mapped, 1)
    finally:
        raw.kill()
        raw.communicate()
    memory.close()

    def has_room_again():
        check((mounted / "file5").read_bytes(), 5)
        return passed_through(mounted) > 2

    eventually(has_room_again, 20, "what is no longer mapped is evicted")


# Maps its argument by mmap(2) itself, since Python's keeps a duplicate of the descriptor, closes the descriptor,
# and writes the mapped bytes out when it is told to.
MAP_AND_CLOSE = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
file = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(file).st_size
address = libc.mmap(None, size, 1, 1, file, 0)
assert address not in (None, ctypes.c_void_p(-1).value), os.strerror(ctypes.get_errno())
os.close(file)
os.write(1, b"closed\\n")
sys.stdin.readline()
sys.stdout.buffer.write(ctypes.string_at(address, size))
sys.stdout.buffer.flush()
"""


def test_a_file_used_again_shows_the_new_object_only(site):
    """One file serves many objects in turn, of different lengths within its last huge page."""
    target = site.target()
    sizes = [SIZE, SIZE - 300_000, SIZE + 1_000_000, 24 * MIB + 1, 26 * MIB, SIZE]
    for number, size in enumerate(sizes):
        content.write(target.root / BUCKET / f"file{number}", number, size)
    mounted = site.mount(target, BUCKET, cache={"size": "96MiB", "resident_size": "32MiB"})
    for _ in range(2):
        for number, size in enumerate(sizes):
            eventually(lambda: total(mounted.stats(), "vfs_open_files") == 0, 20, "nothing is open")
            with open(mounted / f"file{number}", "rb") as file:
                check(file.read(), number, 0, size)
                with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
                    check(memory[:], number, 0, size)
    assert passed_through(mounted) >= len(sizes), "the control: they took turns in one file"
    assert total(mounted.stats(), "cache_object_files") == 1


def refusal_of_open(path):
    with pytest.raises(OSError) as refused:
        open_file(path)
    # A request that was sent while the last threads of the daemon end is aborted.
    assert refused.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    return refused.value.errno


def test_readers_go_on_when_the_daemon_is_dead(place):
    _, mounted = place
    file = open_file(mounted / "file0")
    try:
        with mmap.mmap(file, 0, prot=mmap.PROT_READ) as memory:
            check(os.pread(file, MIB, 0), 0, 0, MIB)
            kill(mounted.pid, signal.SIGKILL)
            eventually(lambda: not is_alive(mounted.pid), 20, "the daemon is dead")
            check(os.pread(file, SIZE, 0), 0, 0, SIZE)
            check(memory[:], 0)
            eventually(lambda: refusal_of_open(mounted / "file1") == errno.ENOTCONN, 20, "there is no connection")
    finally:
        os.close(file)
        unmount_lazily(str(mounted.point))


def test_an_open_that_waits_can_be_interrupted(site):
    target = fill(site.target("--fault", "delay-transfer:5s@1"), 1)
    mounted = site.mount(target, BUCKET, cache=CACHE)
    reader = subprocess.Popen(["cat", mounted / "file0"], stdout=subprocess.DEVNULL)
    eventually(lambda: total(mounted.stats(), "cache_object_opens_total", 'result="fetch"') == 1, 20,
               "the open waits")
    assert reader.poll() is None
    begin = time.monotonic()
    reader.send_signal(signal.SIGINT)
    reader.wait(20)
    assert time.monotonic() - begin < 3, "the signal was not waited out"
    assert reader.returncode == -signal.SIGINT
    check((mounted / "file0").read_bytes(), 0)  # by the fetch that went on
    eventually(lambda: total(mounted.stats(), "vfs_open_files") == 0, 20, "the interrupted open left no handle")
    assert total(mounted.stats(), GET_BYTES) == SIZE


def test_a_fetch_that_fails_leaves_an_ordinary_open(site):
    target = fill(site.target("--fault", "error-501@get"), 1)
    mounted = site.mount(target, BUCKET, rdma={"mode": "require"}, cache=CACHE, retry={"deadline": "3s"})
    file = open_file(mounted / "file0")  # as one by pieces: no network, no error
    try:
        with pytest.raises(OSError) as failed:
            os.pread(file, 4096, 0)
        assert failed.value.errno == errno.EIO
    finally:
        os.close(file)
    assert total(mounted.stats(), DECLINED, 'reason="fetch_failed"') == 1


def test_a_late_write_never_reaches_a_file_that_is_seen(site):
    """The server writes half a second after it hung up: into a file that must be out of use by then."""
    faults = [word for nth in (2, 9, 17) for word in ("--fault", f"late-write:500ms@{nth}")]
    target = fill(site.target(*faults))
    mounted = site.mount(target, BUCKET, cache=CACHE)

    def one_round():
        for number in range(FILES):
            with open(mounted / f"file{number}", "rb", buffering=0) as file:
                # By pieces, a read may meet too many lost answers in a row: then it is short.
                got = file.read(SIZE)
                check(got, number, 0, len(got))
        return total(mounted.stats(), OPENS, 'mode="passthrough"') > 0

    for _ in range(3):
        one_round()
    assert total(mounted.stats(), "cache_object_quarantines_total") > 0, "the control: late writes happened"
    # Both files there is room for may have been withheld all the while.
    eventually(one_round, 30, "passed through again")


@pytest.mark.parametrize("change", ["overwrite", "unlink"])
def test_an_open_file_keeps_its_version(place, change):
    target, mounted = place
    file = open_file(mounted / "file0")
    with mmap.mmap(file, 0, prot=mmap.PROT_READ) as memory:
        if change == "overwrite":
            new = target.root / BUCKET / ".new"
            content.write(new, 77, SIZE - MIB)
            os.replace(new, target.root / BUCKET / "file0")
        else:
            os.unlink(target.root / BUCKET / "file0")
        check(os.pread(file, SIZE, 0), 0, 0, SIZE)
        check(memory[:], 0)

        def sees_the_change():
            try:
                return os.stat(mounted / "file0").st_size == SIZE - MIB
            except FileNotFoundError:
                return change == "unlink"

        eventually(sees_the_change, 30, "the name shows the change")
        if change == "overwrite":
            check((mounted / "file0").read_bytes(), 77, 0, SIZE - MIB)
        check(memory[:], 0)
    os.close(file)


def test_a_mount_that_writes_reads_what_it_wrote(site):
    target = fill(site.target(), 1)
    mounted = site.mount(target, BUCKET, cache=CACHE, write={"mode": "sequential"})
    old = open_file(mounted / "file0")
    with open(mounted / "file0", "wb") as file:
        file.write(content.expected(9, 0, SIZE))
    check((mounted / "file0").read_bytes(), 9)
    check(os.pread(old, SIZE, 0), 0)
    os.close(old)
    assert passed_through(mounted) == 2


def test_a_budget_of_nothing_switches_it_off(site):
    target = fill(site.target(), 1)
    mounted = site.mount(target, BUCKET, cache={"size": "128MiB", "resident_size": "0"})
    check((mounted / "file0").read_bytes(), 0)
    assert passed_through(mounted) == 0


def test_a_budget_that_leaves_nothing_for_others_is_refused(site):
    with pytest.raises(Exception, match="cache.resident_size.*leaves less than 64MiB"):
        site.mount(fill(site.target(), 1), BUCKET, cache={"size": "128MiB", "resident_size": "72MiB"})
