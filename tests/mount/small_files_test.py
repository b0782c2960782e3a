# SPDX-License-Identifier: Apache-2.0
"""Small files cost a mount few requests: a listed name is not looked up, and an open gives the kernel the whole file,
so that reads do not ask the daemon. Each is shown by the daemon's counters, with a control that has the requests."""

import contextlib
import itertools
import mmap
import os
import random

import pytest
from harness import content
from harness.kernel import pages_locked
from harness.mount import total
from harness.processes import eventually
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

BUCKET = "small"
FILES = 2500  # three pages of keys, and more than one readdir request
SIZE = 9_876  # an end inside a page
LARGE = 2 * MIB


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target()
    for number in range(FILES):
        content.write(target.root / BUCKET / f"many/{number:05}", number, SIZE)
    for number in range(4):
        content.write(target.root / BUCKET / f"few/{number}", number, SIZE)
    content.write(target.root / BUCKET / "large", 0, LARGE)
    return target


def mount(site, server, **sections):
    return site.mount(server, BUCKET, cache={"size": "128MiB", "resident_size": "0"}, **sections)


def lookups(mounted):
    return total(mounted.stats(), "vfs_lookups_total")


def requests(mounted, operation):
    return total(mounted.stats(), "s3_requests_total", f'operation="{operation}"')


def cache_reads(mounted):
    return total(mounted.stats(), "cache_reads_total")


def check(path, number, size=SIZE):
    wrong = content.difference(path.read_bytes(), number, 0, size)
    assert not wrong, wrong


def shuffled(count):
    return random.Random(1).sample(range(count), count)


def test_a_listed_name_is_not_looked_up(site, server):
    mounted = mount(site, server)
    names = sorted(os.listdir(mounted / "many"))
    assert len(names) == FILES
    before = lookups(mounted)
    heads = requests(mounted, "head")
    for name in names:
        assert os.stat(mounted / "many" / name).st_size == SIZE
    assert lookups(mounted) == before
    assert requests(mounted, "head") == heads
    # Control: a name that was not listed.
    check(mounted / "few/0", 0)
    assert lookups(mounted) > before


def test_a_listed_name_is_not_looked_up_either_where_files_may_change(site, server):
    mounted = mount(site, server, metadata={"ttl": "1h"}, write={"mode": "sequential", "buffer_size": "64MiB"})
    names = os.listdir(mounted / "many")
    before, heads = lookups(mounted), requests(mounted, "head")
    for name in names:
        os.stat(mounted / "many" / name)
    assert lookups(mounted) == before
    assert requests(mounted, "head") == heads


def test_names_taken_from_a_manifest_are_soon_known_without_asking(site, server):
    def are_all_known(mounted, numbers):
        before = requests(mounted, "head")
        for number in numbers:
            assert os.stat(mounted / f"many/{number:05}").st_size == SIZE
        return requests(mounted, "head") == before

    numbers = iter(shuffled(FILES))
    mounted = mount(site, server, metadata={"ttl": "1h"})
    # So many that one of them is of the page that was listed last.
    eventually(lambda: are_all_known(mounted, itertools.islice(numbers, 40)), 20, "the mount has listed the names")
    rest = list(numbers)
    assert rest and are_all_known(mounted, rest)
    # Control: where names are not cached, the mount does not list.
    uncached = mount(site, server, metadata={"ttl": "0s"})
    assert not any(are_all_known(uncached, [number]) for number in shuffled(FILES)[:100])


def open_and_close(path):
    os.close(os.open(path, os.O_RDONLY))


def given(mounted):
    """Bytes of files that the daemon gave to the kernel, by an open or by a read."""
    return total(mounted.stats(), "fuse_read_bytes_total")


def test_the_open_of_a_small_file_gives_the_kernel_its_bytes(site, server):
    mounted = mount(site, server)
    for number in shuffled(100):  # in order, the next files would be fetched as well
        open_and_close(mounted / f"many/{number:05}")
    assert given(mounted) == 100 * SIZE, "although no program has read a byte"
    assert requests(mounted, "get") == cache_reads(mounted) == 100, "one for each open"
    for number in range(100):
        open_and_close(mounted / f"many/{number:05}")
    assert given(mounted) == 100 * SIZE, "a second open leaves it to the page cache"
    # Control: the open of a large file gives nothing.
    open_and_close(mounted / "large")
    assert given(mounted) == 100 * SIZE
    check(mounted / "large", 0, LARGE)
    eventually(lambda: given(mounted) >= 100 * SIZE + LARGE, 20, "its reads do")


@pytest.mark.needs_root
def test_reads_of_a_small_file_in_the_page_cache_do_not_ask_the_daemon(site, server):
    mounted = mount(site, server)
    names = [mounted / f"many/{number:05}" for number in shuffled(20)]
    with contextlib.ExitStack() as locked:
        for name in names:
            locked.enter_context(pages_locked(name))
        before = cache_reads(mounted)
        assert before >= len(names)
        for name in names:
            check(name, int(name.name))
        assert cache_reads(mounted) == before
    # Control: a file that the page cache no longer has.
    with open(names[0], "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    check(names[0], int(names[0].name))
    assert cache_reads(mounted) > before


def test_a_mapping_of_a_small_file_has_its_bytes_and_ends_in_zeros(site, server):
    mounted = mount(site, server)
    with open(mounted / "many/00007", "rb") as file, \
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert cache_reads(mounted) == 1, "the open's"
        wrong = content.difference(mapped[:], 7, 0, SIZE)
        assert not wrong, wrong


def test_a_replaced_file_is_read_as_it_is_now(site, server):
    mounted = mount(site, server, metadata={"ttl": "1s"})
    path = server.root / BUCKET / "few/1"
    check(mounted / "few/1", 1)
    content.write(path.with_name("new"), 77, SIZE)
    os.replace(path.with_name("new"), path)

    def is_new():
        return not content.difference((mounted / "few/1").read_bytes(), 77, 0, SIZE)
    eventually(is_new, 20, "the new version is read")
