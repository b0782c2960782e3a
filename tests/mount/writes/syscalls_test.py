# SPDX-License-Identifier: Apache-2.0
"""The same random system calls on a staged mount and on a plain directory give the same results, by four processes at once
(harness/syscalls.py). S3RDMAFS_SYSCALLS sets how many calls each makes; before a release 250000."""

import os
from pathlib import Path

import pytest
from harness import syscalls
from harness.mount import can_pass_through
from harness.random_calls import play_side_by_side
from harness.settings import STRESS_SECONDS

pytestmark = pytest.mark.needs_fuse

BUCKET = "syscalls"
PROCESSES = 4
CALLS = int(os.environ.get("S3RDMAFS_SYSCALLS", "5000" if STRESS_SECONDS >= 60 else "2000"))
SECONDS = 600 + CALLS // 50  # fifty calls a second is a mount that hangs

# Seeds that have found a fault once.
# Both: a reader of a large file, which the kernel read by itself, missed a change of its size.
KEPT_SEEDS = (4242854, 316189)


def compare(folder, reference, seeds, calls=CALLS):
    """The differences, one for each seed that had any."""
    all_arguments = []
    for seed in seeds:
        places = [top / str(seed) for top in (folder, reference)]
        for place in places:
            place.mkdir(parents=True)
        all_arguments.append([*places, str(seed), str(calls)])
    return play_side_by_side(syscalls, all_arguments, SECONDS)


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site):
    server = shared_site.target()
    (server.root / BUCKET).mkdir()
    mode = {"rdma": "require", "http": "off"}[request.param]
    write = {"mode": "staged", "buffer_size": "64MiB", "staging_dir": str(shared_site.folder / f"staging-{request.param}")}
    if request.param == "rdma" and not can_pass_through():
        write = shared_site.on_tmpfs(write)  # there the kernel writes new files by itself
    return shared_site.mount(server, BUCKET, rdma={"mode": mode, "threshold": "0"}, write=write)


def test_random_calls_give_what_a_plain_directory_gives(mounted, tmp_path):
    first = int.from_bytes(os.urandom(3), "big")
    assert not compare(mounted.point, tmp_path, range(first, first + PROCESSES))


@pytest.mark.parametrize("seed", [*KEPT_SEEDS, 1])
def test_seeds_that_found_a_fault_find_none_now(mounted, tmp_path, seed):
    assert not compare(mounted.point / "kept", tmp_path, [seed], calls=2000)


def test_two_plain_directories_agree_and_a_changed_byte_is_found(tmp_path):
    left, right = tmp_path / "left", tmp_path / "right"
    assert not compare(left, right, [1], calls=3000)
    twins = syscalls.Twins((str(left), str(right)), 2)
    for top in (left, right):
        Path(top / "a").write_bytes(b"same")
    Path(right / "a").write_bytes(b"sane")
    with pytest.raises(AssertionError):
        for _ in range(3000):
            twins.content()
