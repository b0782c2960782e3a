# SPDX-License-Identifier: Apache-2.0
"""Random system calls of four processes on a staged mount, whose objects another client puts and removes meanwhile, give what
s3rdmafs-semantics(7) allows (harness/outside.py has the model). S3RDMAFS_SYSCALLS sets how many calls each makes; before a
release 25000."""

import os
import time

import pytest
from harness import outside
from harness.random_calls import play_side_by_side
from harness.settings import STRESS_SECONDS

pytestmark = pytest.mark.needs_fuse

BUCKET = "outside"
PROCESSES = 4
CALLS = int(os.environ.get("S3RDMAFS_SYSCALLS", "1000" if STRESS_SECONDS >= 60 else "250"))
SECONDS = 600 + CALLS // 20  # twenty calls a second is a mount that hangs
TTL_SECONDS = {"short": 0, "default": 10}

# Seeds that have found a fault once.
# With names that are kept: stat(2) gave size 0 for a closed file whose store had failed.
# After a rename of a version that a listing had shown and the kernel did not know, the new name was a former inode: stat(2)
# gave that one's size, and what was written through it was stored nowhere.
# A call by the name of a closed file whose store had failed gave ESTALE, and then a listing that was older than the removal of
# the object gave it to the kernel once more.
KEPT_SEEDS = (4716895, 4716887, 15158471, 15158472, 9815210)
KEPT_CALLS = 1000


def judge(server, mounted, folder, ttl, seeds, calls=CALLS):
    """The results that the model does not allow, one text for each seed that had any."""
    all_arguments = []
    for seed in seeds:
        prefix = f"{folder}/{seed}"
        (mounted.point / prefix).mkdir(parents=True)
        all_arguments.append([mounted.point / prefix, prefix, str(seed), str(calls), str(ttl), server.endpoint, BUCKET,
                              server.access_key, server.secret_key])
    return play_side_by_side(outside, all_arguments, SECONDS)


@pytest.fixture(scope="module")
def server(shared_site):
    return shared_site.target(bucket=BUCKET)


# Each transport and each ttl once, and all pairs where the calls are set.
PAIRS = [("rdma", "default"), ("http", "short")] + [("rdma", "short"), ("http", "default")] * ("S3RDMAFS_SYSCALLS" in os.environ)


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def mounted(request, shared_site, server):
    transport, ttl = request.param
    mode = {"rdma": "require", "http": "off"}[transport]
    made = shared_site.mount(server, BUCKET, rdma={"mode": mode, "threshold": "0"},
                             metadata={"ttl": f"{TTL_SECONDS[ttl]}s"},
                             write={"mode": "staged", "buffer_size": "64MiB",
                                    "staging_dir": str(shared_site.folder / f"staging-{transport}-{ttl}")})
    return made, f"{transport}-{ttl}", TTL_SECONDS[ttl]


def test_random_calls_beside_another_client_give_what_the_model_allows(mounted, server):
    mount, folder, ttl = mounted
    first = int.from_bytes(os.urandom(3), "big")
    wrong = judge(server, mount, folder, ttl, range(first, first + PROCESSES))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("seed", KEPT_SEEDS)
def test_seeds_that_found_a_fault_find_none_now(mounted, server, seed):
    mount, folder, ttl = mounted
    wrong = judge(server, mount, f"{folder}-kept", ttl, [seed], calls=KEPT_CALLS)
    assert not wrong, "\n".join(wrong)


def test_the_model_allows_an_older_answer_for_the_ttl_and_the_time_of_the_longest_call_since():
    player = outside.Outside("/nowhere", "", seed=1, ttl=10, bucket=None)
    player.stored["a"] = b"older"
    player.goes("a")
    player.stored["a"] = b"newer"
    began_at = player.began_at = time.monotonic()
    assert b"older" in player.may_show("a")
    player.began_at = began_at + 11
    assert not player.may_show("a"), "after the ttl"

    player.goes("a")
    player.WEIGHTS = {"slow": 1}
    player.slow = lambda: setattr(player, "began_at", player.began_at - 3)  # as if it had begun earlier
    player.step()
    player.began_at = time.monotonic() + 11
    assert b"newer" in player.may_show("a"), "its answer may have been as late as that call"
    player.began_at += 3
    assert not player.may_show("a")
