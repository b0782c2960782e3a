# SPDX-License-Identifier: Apache-2.0
"""s3rdmafs@train.service: started, killed, stopped."""

import errno
import os

import pytest
from harness.processes import eventually
from machine import SECONDS, daemons_of, mounts_on, system

UNIT, FILE, POINT = "s3rdmafs@train.service", "/etc/s3rdmafs/train.toml", "/mnt/train"


@pytest.fixture(autouse=True)
def started():
    system.systemctl("start", UNIT)
    yield
    system.systemctl("stop", UNIT)


def assert_gone(descriptor):
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)  # the page cache may have what was read before
    with pytest.raises(OSError) as failure:
        os.pread(descriptor, 4096, 0)
    assert failure.value.errno == errno.ENOTCONN


def assert_ended():
    assert system.show(UNIT, "ActiveState") == "inactive", "and not failed"
    assert system.show(UNIT, "Result") == "success"
    assert mounts_on(POINT) == [] and daemons_of(FILE) == []
    assert os.listdir(POINT) == [], "the folder below"


def test_it_is_active_only_when_the_mount_answers_and_its_status_says_what_is_mounted():
    system.assert_serves_by_rdma(POINT)
    assert f'Status: "bucket data on {POINT}"' in system.systemctl("status", UNIT).stdout


def test_a_killed_daemon_is_started_again_and_its_dead_mount_is_taken_away(open_file):
    descriptor = open_file(f"{POINT}/file")
    before = int(system.show(UNIT, "NRestarts"))
    system.systemctl("kill", "--signal=KILL", UNIT)
    eventually(lambda: int(system.show(UNIT, "NRestarts")) == before + 1, SECONDS, "systemd starts it again")
    system.wait_for(UNIT, "active")
    system.assert_serves_by_rdma(POINT)
    assert mounts_on(POINT) == ["fuse.s3rdma"], "once"
    assert_gone(descriptor)
    system.assert_journal(UNIT, "Main process exited, code=killed, status=9/KILL",
                          f"mount point {POINT}: the daemon of its last mount died; that mount was taken away")


def test_stop_unmounts_and_ends_it():
    system.systemctl("stop", UNIT)
    assert_ended()
    system.assert_journal(UNIT, f"{POINT} is no longer mounted")


def test_stop_does_not_wait_for_open_files_and_their_readers_get_an_error(open_file):
    descriptor = open_file(f"{POINT}/file")
    assert os.pread(descriptor, 4096, 0), "the control"
    system.systemctl("stop", UNIT)
    assert_ended()
    assert_gone(descriptor)
    system.systemctl("start", UNIT)
    system.assert_serves_by_rdma(POINT)
    assert_gone(descriptor)
