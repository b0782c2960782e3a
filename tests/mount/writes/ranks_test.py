# SPDX-License-Identifier: Apache-2.0
"""Eight ranks on one mount write checkpoints, and another mount of the bucket reads them. Each time a rank is killed at a
random moment: a checkpoint whose .metadata shows is whole, and no half file ever shows. S3RDMAFS_CHECKPOINTS sets how many;
before a release 100."""

import errno
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from harness import rank
from harness.settings import STRESS_SECONDS

pytestmark = pytest.mark.needs_fuse

BUCKET = "ranks"
RANKS = 8
CHECKPOINTS = int(os.environ.get("S3RDMAFS_CHECKPOINTS", "8" if STRESS_SECONDS >= 60 else "3"))


def checkpoint(folder, step, killed):
    """Runs all ranks of one step. A rank that is killed is started again, as a job's scheduler does."""
    def begin(number):
        return subprocess.Popen([sys.executable, "-B", rank.__file__, folder, str(number), str(RANKS), str(step)])
    ranks = [begin(number) for number in range(RANKS)]
    try:
        time.sleep(random.uniform(0.05, 0.4))
        ranks[killed].send_signal(signal.SIGKILL)
        ranks[killed].wait(20)
        ranks[killed] = begin(killed)
        for process in ranks:
            assert process.wait(rank.WAIT_SECONDS + 60) == 0
    finally:
        for process in ranks:
            process.kill()
            process.wait()


class Reader(threading.Thread):
    """Looks at the other mount all the time: each shard that has its final name must be whole, and all must be there once
    .metadata shows."""

    def __init__(self, top):
        super().__init__()
        self.top, self.wrong, self.looks, self.ending = top, [], 0, threading.Event()

    def run(self):
        while not self.ending.is_set():
            for step in os.listdir(self.top):
                names = os.listdir(self.top / step)
                shown = [int(match.group(1)) for name in names if (match := re.fullmatch(r"shard(\d+)", name))]
                for number in range(RANKS) if ".metadata" in names else shown:
                    self.look(step, number)

    def look(self, step, number):
        try:
            data = (self.top / step / f"shard{number}").read_bytes()
        except OSError as error:
            if error.errno != errno.ESTALE:  # replaced since it was opened
                self.wrong.append(f"{step}/shard{number}: {error}")
            return
        self.looks += 1
        if data != rank.shard_of(int(step), number):
            self.wrong.append(f"{step}/shard{number} has {len(data)} wrong bytes")


@pytest.mark.parametrize("mode", ["sequential", "staged"])
def test_a_checkpoint_that_shows_is_whole_on_the_other_node(site, mode):
    server = site.target()
    (server.root / BUCKET).mkdir()
    writes = {"mode": mode, "buffer_size": "128MiB"}
    one, other = (site.mount(server, BUCKET, write=writes) for _ in range(2))
    reader = Reader(other.point)
    reader.start()
    try:
        for step in range(CHECKPOINTS):
            checkpoint(one.point / str(step), step, killed=random.randrange(RANKS))
            # The barrier is the end of rank 0: from here on the other node must see all.
            assert (other.point / str(step) / ".metadata").read_text() == f"{RANKS}\n"
            for number in range(RANKS):
                assert (other.point / str(step) / f"shard{number}").read_bytes() == rank.shard_of(step, number)
    finally:
        reader.ending.set()
        reader.join(120)
    assert not reader.wrong, reader.wrong[:5]
    assert reader.looks > RANKS, "the reader has looked"
