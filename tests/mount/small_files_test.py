# SPDX-License-Identifier: Apache-2.0
"""Small files cost a mount few requests: what was listed is not looked up, and what is opened comes whole with its
open, so that no read of it asks the daemon. Each shown by counts, with a control that has the requests."""

import mmap
import os
import random

import pytest
from harness import content
from harness.mount import total
from harness.processes import eventually

pytestmark = pytest.mark.needs_fuse

MIB = 1 << 20
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


def test_what_was_listed_is_not_looked_up(site, server):
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


def test_where_files_may_change_each_use_of_a_name_is_a_lookup_but_none_asks_the_store(site, server):
    mounted = mount(site, server, write={"mode": "sequential", "buffer_size": "64MiB"})
    names = os.listdir(mounted / "many")
    before, heads = lookups(mounted), requests(mounted, "head")
    for name in names:
        os.stat(mounted / "many" / name)
    assert lookups(mounted) >= before + FILES
    assert requests(mounted, "head") == heads


def test_names_taken_from_a_manifest_are_soon_known_without_asking(site, server):
    def heads_of_stats(**sections):
        mounted = mount(site, server, **sections)
        for number in shuffled(FILES):
            assert os.stat(mounted / f"many/{number:05}").st_size == SIZE
        return requests(mounted, "head")

    assert heads_of_stats(metadata={"ttl": "1h"}) < FILES / 10
    # Control: where no name is believed, nobody lists.
    assert heads_of_stats(metadata={"ttl": "0s"}) >= FILES


def test_a_small_file_comes_with_its_open_and_reads_ask_nobody(site, server):
    mounted = mount(site, server)
    for number in shuffled(100):  # in order, those that come next would be got as well
        check(mounted / f"many/{number:05}", number)
    assert cache_reads(mounted) == 100, "one for each open"
    assert requests(mounted, "get") == 100
    assert total(mounted.stats(), "fuse_read_bytes_total") == 100 * SIZE

    def asked_by_another_pass():
        before = cache_reads(mounted)
        for number in range(100):
            check(mounted / f"many/{number:05}", number)
        return cache_reads(mounted) - before

    # A kernel that gives back idle memory ahead of need (DAMON) takes a page here and there: few in
    # any pass, and in one of some passes none.
    asked = asked_by_another_pass()
    assert asked < 50, "the kernel has them"
    assert asked == 0 or 0 in (asked_by_another_pass() for _ in range(5))
    reads = cache_reads(mounted)
    # Controls: a file that the kernel has given up is asked for, and so is a large one.
    with open(mounted / "many/00000", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    check(mounted / "many/00000", 0)
    assert cache_reads(mounted) == reads + 1
    check(mounted / "large", 0, LARGE)
    assert cache_reads(mounted) > reads + 1


def test_a_mapping_of_a_small_file_has_its_bytes_and_ends_in_zeros(site, server):
    mounted = mount(site, server)
    with open(mounted / "many/00007", "rb") as file, \
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        wrong = content.difference(mapped[:], 7, 0, SIZE)
        assert not wrong, wrong
    assert cache_reads(mounted) == 1


def test_a_replaced_file_is_read_as_it_is_now(site, server):
    mounted = mount(site, server, metadata={"ttl": "1s"})
    path = server.root / BUCKET / "few/1"
    check(mounted / "few/1", 1)
    content.write(path.with_name("new"), 77, SIZE)
    os.replace(path.with_name("new"), path)

    def is_new():
        return not content.difference((mounted / "few/1").read_bytes(), 77, 0, SIZE)
    eventually(is_new, 20, "the new version is read")
