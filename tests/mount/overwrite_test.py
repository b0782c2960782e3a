# SPDX-License-Identifier: Apache-2.0
"""Objects are replaced while they are read, by S3 and by another mount: an open file is one version of one object,
or ESTALE, and never a mix."""

import errno
import os
import signal
import subprocess
import sys

import pytest
from harness import content
from harness.kernel import mount_with
from harness.mount import assert_nothing_held, can_pass_through, total
from harness.settings import OVERWRITE_SECONDS
from harness.versions import Objects, Replacing, put_by_mount, put_by_s3, read_all

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs("curl")]

KIB, MIB = 1 << 10, 1 << 20
BUCKET = "replaced"
# By the page cache, by passthrough (where the kernel has it), and by direct reads of the daemon.
SIZES = {"small0": 100 * KIB, "small1": 700 * KIB, "whole0": 2 * MIB, "whole1": 6 * MIB, "large0": 20 * MIB,
         "large1": 28 * MIB}
# Little room, so that old versions are soon forgotten and asked for again.
CACHE = {"size": "80MiB", "resident_size": "16MiB", "passthrough_max": "8MiB"}
READERS = ["read", "pread", "mmap", "read", "pread", "mmap", "pread", "mmap"]
NAME_SECONDS = 0.2  # metadata.ttl


def new_objects(target, scratch):
    """Every object in its first version, and the put by S3 that made it."""
    (target.root / BUCKET).mkdir()
    objects, put = Objects(SIZES), put_by_s3(target, BUCKET, scratch)
    for index in range(len(SIZES)):
        objects.replace(index, put, NAME_SECONDS)
    return objects, put


@pytest.fixture(params=[("rdma", "dev"), ("http", "dev"), ("rdma", "uring")], ids="-".join)
def mounted(request, site):
    path, transport = request.param
    target = site.target()
    objects, by_s3 = new_objects(target, site.folder)
    made = mount_with(transport, lambda: site.mount(
        target, BUCKET, rdma={"mode": {"rdma": "require", "http": "off"}[path]}, cache=CACHE,
        metadata={"ttl": f"{int(NAME_SECONDS * 1000)}ms"}, mount={"transport": transport}))
    writing = site.mount(target, BUCKET, cache={"size": "64MiB"}, metadata={"ttl": "0s"},
                         write={"mode": "sequential", "buffer_size": "64MiB"})
    made.objects, made.puts = objects, [by_s3, put_by_mount(writing.point)]
    # The way that most mounts go has the full time.
    made.seconds = OVERWRITE_SECONDS if request.param == ("rdma", "dev") else OVERWRITE_SECONDS / 4
    return made


def read_while_replaced(mounted, seconds, by_name=False):
    replacing = Replacing(mounted.objects, mounted.puts, NAME_SECONDS)
    counts, wrong = read_all(mounted.point, mounted.objects, READERS, seconds, replacing, by_name)
    assert not replacing.failures, replacing.failures
    counts["replacements"] = sum(mounted.objects.versions) - len(SIZES)
    return counts, wrong


def test_an_open_file_is_one_version_whatever_becomes_of_the_name(mounted):
    counts, wrong = read_while_replaced(mounted, mounted.seconds)
    print(dict(counts))  # pytest -rP shows it
    assert not wrong, wrong
    # How often depends on the machine; that the very same readers would see a mix is the next test's to show.
    assert counts["handles that outlived their version"] > 0, counts
    if not can_pass_through():
        assert total(mounted.stats(), "fuse_opens_total", 'mode="passthrough"') > 0
    assert total(mounted.stats(), "fuse_opens_total", 'mode="direct"') > 0
    assert_nothing_held(mounted)


@pytest.mark.parametrize("mounted", [("rdma", "dev")], indirect=True, ids=["rdma-dev"])
def test_readers_that_go_by_the_name_see_a_mix(mounted):
    """The control: what a cache would give that ignores the ETag, the same readers call a mix."""
    _, wrong = read_while_replaced(mounted, 10, by_name=True)
    for how in set(READERS):
        assert any(why.startswith(f"{how}: ") and "but object" in why for why in wrong), (how, wrong)


# Maps its argument, says so, and once told touches the first byte of every page; prints how many it has seen.
MAP_AND_TOUCH = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
memory = mmap.mmap(file, 0, prot=mmap.PROT_READ)
print("mapped", flush=True)
sys.stdin.readline()
for offset in range(0, len(memory), mmap.PAGESIZE):
    memory[offset]
print("all touched", flush=True)
"""


@pytest.mark.parametrize("name", ["whole1", "large0"])
def test_a_mapping_whose_version_is_gone_raises_sigbus_unless_it_is_whole(site, name):
    target = site.target()
    objects, by_s3 = new_objects(target, site.folder)
    mounted = site.mount(target, BUCKET, cache=CACHE, read_ahead={"window_max": "0"})
    program = subprocess.Popen([sys.executable, "-c", MAP_AND_TOUCH, mounted / name], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert program.stdout.readline() == b"mapped\n"
    file = os.open(mounted / name, os.O_RDONLY)
    try:
        objects.replace(list(SIZES).index(name), by_s3, 0)
        out, _ = program.communicate(b"\n", timeout=60)
        if name == "whole1" and not can_pass_through():
            assert (program.returncode, out) == (0, b"all touched\n")
            assert not content.difference(os.pread(file, 4096, 0), 3 << 32 | 1, 0, 4096)
        else:
            assert (program.returncode, out) == (-signal.SIGBUS, b"")
            with pytest.raises(OSError) as failed:
                os.pread(file, 4096, 0)
            assert failed.value.errno == errno.ESTALE
    finally:
        os.close(file)
    assert (mounted / name).is_file(), "the mount goes on"
