# SPDX-License-Identifier: Apache-2.0
"""A mount over real verbs: the demo, its server's death, and a machine with little memory."""

import errno
import os
import subprocess
import time
from pathlib import Path

import pytest
from harness import content
from harness.mount import GET_BYTES, assert_nothing_held, total
from harness.processes import eventually
from harness.settings import ROOT
from harness.units import MIB

BUCKET = "bucket"
# The smallest cache there is, and more than it holds.
SMALLEST_CACHE = {"size": "64MiB"}
FILES, FILE_BYTES = 3, 32 * MIB
DEADLINE_SECONDS = 6
# An emulated processor that is busy with the server's restart.
SLACK_SECONDS = 10


def rc(mode):
    return {"mode": mode, "fabric": "rc"}


@pytest.fixture
def server(site):
    started = site.target("--rc", "rxe0")
    for number in range(FILES):
        content.write(started.root / BUCKET / f"file{number}", number, FILE_BYTES)
    return started


def read_all(mounted):
    for number in range(FILES):
        why = content.difference((mounted / f"file{number}").read_bytes(), number, 0, FILE_BYTES)
        assert not why, why


def test_the_demo_over_rc():
    demo = subprocess.run([ROOT / "tools/demo.sh", "--fabric", "rc", "--small"], check=False, timeout=240,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(demo.stdout)
    assert demo.returncode == 0, demo.stdout
    assert "packets" in demo.stdout, "rxe0 counts packets, and the demo compares"


def test_require_reads_by_rdma_alone(site, server):
    mounted = site.mount(server, BUCKET, rdma=rc("require") | {"threshold": "0"}, cache=SMALLEST_CACHE)
    read_all(mounted)
    stats = mounted.stats()
    assert total(stats, GET_BYTES, 'path="rdma"') >= FILES * FILE_BYTES
    assert total(stats, GET_BYTES, 'path="http"') == 0
    assert_nothing_held(mounted)


def test_reads_fail_while_the_server_is_dead_and_work_when_it_is_back(site, server):
    # Always by RDMA: an emulated processor moves bytes faster by HTTP, and "auto" would notice.
    mounted = site.mount(server, BUCKET, rdma=rc("prefer") | {"threshold": "0"}, cache=SMALLEST_CACHE,
                         read_ahead={"window_max": "0"}, retry={"deadline": f"{DEADLINE_SECONDS}s"},
                         metadata={"ttl": "1h"})
    file = os.open(mounted / "file0", os.O_RDONLY)
    try:
        offsets = iter(range(0, FILE_BYTES, MIB))
        for _ in range(2):
            assert len(os.pread(file, MIB, next(offsets))) == MIB
        assert total(mounted.stats(), GET_BYTES, 'path="rdma"') > 0
        server.kill()
        begin = time.monotonic()
        with pytest.raises(OSError) as failure:
            while True:
                os.pread(file, MIB, next(offsets))
        assert failure.value.errno == errno.EIO
        assert time.monotonic() - begin < DEADLINE_SECONDS + SLACK_SECONDS
    finally:
        os.close(file)
    server.start()

    def reads_again():
        try:
            read_all(mounted)
            return True
        except OSError:
            return False
    eventually(reads_again, 60, "the same mount reads again")
    before = total(mounted.stats(), GET_BYTES, 'path="rdma"')

    def by_rdma_again():
        # This kernel's FUSE has no direct reads that allow mmap (6.6), so its page cache keeps the files.
        Path("/proc/sys/vm/drop_caches").write_text("1")
        read_all(mounted)
        return total(mounted.stats(), GET_BYTES, 'path="rdma"') > before
    # A path that failed is tried again after 30 s, and one round of reads takes its time here.
    eventually(by_rdma_again, 120, "and by RDMA")
    assert_nothing_held(mounted)


def test_a_small_memory_is_enough(site, server):
    """The mount's registered memory cannot be swapped or dropped: it must fit, and reads must not add to it."""
    mounted = site.mount(server, BUCKET, rdma=rc("require"), cache=SMALLEST_CACHE)
    group = Path("/sys/fs/cgroup/small")
    group.mkdir(exist_ok=True)
    limit = mounted.memory_bytes() + 32 * MIB
    (group / "memory.max").write_text(str(limit))
    (group / "cgroup.procs").write_text(str(mounted.pid))
    read_all(mounted)
    events = dict(line.split() for line in (group / "memory.events").read_text().splitlines())
    assert events["oom_kill"] == "0"
    assert_nothing_held(mounted)
