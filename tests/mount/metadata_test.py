# SPDX-License-Identifier: Apache-2.0
"""Names: their cost, and the versions that they show, on a mount that writes as on one that only reads, between two mounts, and in
walks over many directories. Requests are counted, not time, but where time itself is the promise."""

import concurrent.futures
import ctypes
import os
import random
import signal
import subprocess
import time

import pytest
from harness.mount import total
from harness.processes import eventually

pytestmark = pytest.mark.needs_fuse

BUCKET = "names"
FILES = 2500  # three pages of keys
DIRECTORIES = 40
WRITING = {"mode": "sequential", "buffer_size": "64MiB"}
LONG = "1h"  # names are kept for longer than any test lasts


@pytest.fixture
def server(site):
    target = site.target()
    (target.root / BUCKET).mkdir()
    return target


def fill(folder, count):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{number:05}").write_bytes(b"x")


def lookups(mounted):
    return total(mounted.stats(), "vfs_lookups_total")


def requests(mounted, operation=None):
    return total(mounted.stats(), "s3_requests_total", f'operation="{operation}"' if operation else "")


# A mount that writes


@pytest.mark.parametrize("mode", ["off", "sequential"])
def test_listed_names_are_not_looked_up_on_any_mount(site, server, mode):
    fill(server.root / BUCKET / "many", FILES)
    mounted = site.mount(server, BUCKET, metadata={"ttl": LONG}, write={"mode": mode, "buffer_size": "64MiB"})
    assert len(os.listdir(mounted / "many")) == FILES
    before, asked = lookups(mounted), requests(mounted)
    for number in random.Random(1).sample(range(FILES), FILES):
        assert (mounted / f"many/{number:05}").stat().st_size == 1
    assert lookups(mounted) == before, "the kernel keeps the names"
    assert requests(mounted) == asked


def test_changes_by_a_mount_show_in_it_at_once_although_names_are_kept(site, server):
    fill(server.root / BUCKET / "d", 10)
    mounted = site.mount(server, BUCKET, metadata={"ttl": LONG}, write=WRITING)
    names = [mounted / f"d/{number:05}" for number in range(10)]
    with os.scandir(mounted / "d") as listing:
        next(listing)
        for length in range(2, 30):
            for name in names:
                assert name.stat().st_size in (1, length - 1)
                name.write_bytes(b"y" * length)
                assert name.stat().st_size == length
                assert name.read_bytes() == b"y" * length
        assert len(list(listing)) == 9
    for name in names:
        assert name.stat().st_size == 29, "also after a listing from before"
    os.truncate(names[0], 0)
    assert names[0].stat().st_size == 0
    names[1].unlink()
    assert not names[1].exists()
    assert len(os.listdir(mounted / "d")) == 9


def test_a_file_stored_twice_through_one_descriptor_shows_what_was_stored_last(site, server):
    mounted = site.mount(server, BUCKET, metadata={"ttl": LONG}, write=WRITING)
    name = mounted / "file"
    with open(name, "wb", buffering=0) as file:
        for length in range(1, 5):
            file.write(b"z")
            os.fsync(file.fileno())
            assert name.stat().st_size == length
    assert name.stat().st_size == 4


# Two mounts


def test_an_open_finds_what_another_mount_has_closed(site, server):
    ours = site.mount(server, BUCKET, metadata={"ttl": LONG}, write=WRITING)
    theirs = site.mount(server, BUCKET, metadata={"ttl": LONG}, write=WRITING)
    reader = site.mount(server, BUCKET, metadata={"ttl": LONG, "negative_ttl": LONG})
    (ours / "file").write_bytes(b"0")
    for mounted in (theirs, reader):
        assert (mounted / "file").read_bytes() == b"0"
        assert not (mounted / "later").exists()
    for turn in range(1, 20):
        writer, other = (ours, theirs) if turn % 2 else (theirs, ours)
        (writer / "file").write_bytes(b"%d" % turn)
        assert (other / "file").read_bytes() == b"%d" % turn
        assert not (other / f"new{turn}").exists()
        (writer / f"new{turn}").write_bytes(b"there")
        assert (other / f"new{turn}").read_bytes() == b"there"
        (writer / f"new{turn}").unlink()
        with pytest.raises(FileNotFoundError):
            (other / f"new{turn}").open()
    (ours / "later").write_bytes(b"there")
    assert not (reader / "later").exists(), "the control: a mount that only reads believes its ttl"


def test_an_open_of_a_kept_name_costs_one_request(site, server):
    fill(server.root / BUCKET / "d", 100)
    writing = site.mount(server, BUCKET, metadata={"ttl": LONG}, write=WRITING)
    by_ttl = site.mount(server, BUCKET, metadata={"ttl": LONG, "open": "ttl"}, write=WRITING)
    for mounted, each in ((writing, 1), (by_ttl, 0)):
        for _ in range(2):
            for number in range(100):
                assert (mounted / f"d/{number:05}").read_bytes() == b"x"
        before = requests(mounted)
        time.sleep(0.01)  # longer than an open and its lookup share a question
        for number in range(100):
            assert (mounted / f"d/{number:05}").read_bytes() == b"x"
        assert requests(mounted) - before == 100 * each


def test_of_two_mounts_that_make_a_directory_one_wins(site, server):
    mounts = [site.mount(server, BUCKET, write=WRITING) for _ in range(2)]

    def make(mounted, name):
        try:
            os.mkdir(mounted / name)
        except FileExistsError:
            return 0
        return 1

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for turn in range(30):
            assert sum(pool.map(make, mounts, [f"d{turn}"] * 2)) == 1, turn


# Walks


def test_a_walk_lists_each_directory_once_and_the_next_ones_ahead(site, server):
    for number in range(DIRECTORIES):
        fill(server.root / BUCKET / f"tree/{number:03}", 20)
    mounted = site.mount(server, BUCKET, metadata={"ttl": LONG})
    before = requests(mounted, "list")
    found = subprocess.run(["find", mounted / "tree", "-type", "f", "-size", "-2"], capture_output=True, text=True,
                           check=True, timeout=120).stdout.splitlines()
    assert len(found) == 20 * DIRECTORIES
    assert total(mounted.stats(), "vfs_listings_ahead_total") >= DIRECTORIES - 10
    # One for each directory, those of the lookup of "tree", and its own.
    assert requests(mounted, "list") - before <= DIRECTORIES + 4


def test_a_large_directory_is_listed_whole_by_hardly_more_requests_than_pages(site, server):
    count = 12_000
    fill(server.root / BUCKET / "many", count)
    (server.root / BUCKET / "many/sub").mkdir()
    (server.root / BUCKET / "many/sub/file").write_bytes(b"x")
    mounted = site.mount(server, BUCKET, metadata={"ttl": LONG})
    assert (mounted / "many").is_dir()
    before = requests(mounted, "list")
    names = os.listdir(mounted / "many")
    assert sorted(names) == sorted(os.listdir(server.root / BUCKET / "many"))
    assert len(names) == count + 1
    # Pages side by side may overlap, or be fetched in vain from a server that cannot begin where it is told to.
    assert requests(mounted, "list") - before <= count / 1000 + 12


def test_cold_names_looked_up_by_many_readers_cost_few_requests(site, server):
    count, readers = 10_000, 8
    share = count // readers
    fill(server.root / BUCKET / "many", count)
    mounted = site.mount(server, BUCKET, metadata={"ttl": LONG})

    def look_up(first, last):
        for number in range(first, last):
            os.stat(mounted / f"many/{number:05}")

    probed = []

    def is_known():  # pages come in order: a name of the last one, each time another, costs nothing once they are there
        time.sleep(0.2)
        before = requests(mounted)
        probed.append(count - 1 - len(probed))
        look_up(probed[-1], probed[-1] + 1)
        return requests(mounted) == before

    before = requests(mounted)
    step = 40  # names of each reader, which pay for all pages, however slow the listing is
    with concurrent.futures.ThreadPoolExecutor(readers) as pool:
        begin = range(0, count, share)
        list(pool.map(look_up, begin, [first + step for first in begin]))
        eventually(is_known, 60, "the pages that these lookups have paid for")
        # Two for each name and for their folder, the pages, and those that are under way when the last one comes.
        assert requests(mounted) - before <= 2 * (readers * step + len(probed) + 1) + count / 1000 + 8
        before = requests(mounted)
        list(pool.map(look_up, begin, [first + share for first in begin]))
    assert requests(mounted) - before <= count / 100, "all are known now"


def test_a_rewound_directory_shows_what_is_there_now(site, server):
    folder = server.root / BUCKET / "d"
    fill(folder, 3)
    mounted = site.mount(server, BUCKET, metadata={"ttl": LONG})
    libc = ctypes.CDLL(None, use_errno=True)
    libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
    for function in (libc.readdir, libc.rewinddir, libc.closedir):
        function.argtypes = [ctypes.c_void_p]

    def count(stream):
        entries = 0
        while libc.readdir(stream):
            entries += 1
        return entries

    path = os.fsencode(mounted / "d")
    streams = [libc.opendir(path), libc.opendir(path)]  # the second one keeps the first listing alive
    assert [count(stream) for stream in streams] == [5, 5]
    (folder / "new").write_bytes(b"x")
    libc.rewinddir(streams[0])
    assert count(streams[0]) == 6
    for stream in streams:
        libc.closedir(stream)


def test_a_silent_server_is_waited_for_once(site, server):
    deadline = 6
    (server.root / BUCKET / "file").write_bytes(b"x")
    mounted = site.mount(server, BUCKET, metadata={"ttl": "100ms"}, retry={"deadline": f"{deadline}s"})
    assert (mounted / "file").stat().st_size == 1
    server.process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(0.3)  # the name expires, and no answer that is on its way makes it known again
        began = time.monotonic()
        with pytest.raises(OSError):
            (mounted / "file").stat()
        took = time.monotonic() - began
    finally:
        server.process.send_signal(signal.SIGCONT)
    assert deadline * 0.5 < took < deadline * 1.7, "the kernel looks it up twice"
