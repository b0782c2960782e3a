# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed, and its mount is still there without it."""

import errno
import os

import pytest
from harness import content
from harness.mount import run_mount
from harness.processes import eventually, find_by_command_line, is_alive, kill, mounts_below

pytestmark = pytest.mark.needs_fuse

BUCKET = "killed"


@pytest.fixture
def server(site):
    started = site.target()
    content.write(started.root / BUCKET / "file", 1, 50_000)
    return started


def is_dead(mounted):
    """Whether the kernel knows that there is no daemon: a moment later than its first thread has ended."""
    try:
        os.listdir(mounted.point)
    except OSError as failure:
        return failure.errno == errno.ENOTCONN
    return False


@pytest.fixture
def dead(site, server):
    """A mount that has lost its daemon."""
    mounted = site.mount(server, BUCKET)
    assert os.listdir(mounted.point) == ["file"]
    kill(mounted.pid)
    eventually(lambda: not is_alive(mounted.pid), 10, "the daemon is dead")
    eventually(lambda: is_dead(mounted), 10, "the kernel knows that")
    return mounted


def test_umount_clears_its_mount_point(site, server, dead):
    dead.unmount("umount")
    assert mounts_below(dead.point) == []
    assert os.listdir(site.mount(server, BUCKET).point) == ["file"]


def test_the_next_mount_takes_its_place(site, server, dead, s3rdmafs):
    file = site.mount_file(server, BUCKET)
    result = run_mount(s3rdmafs, file, dead.point)
    assert result.returncode == 0, result.stderr
    (dead.pid,) = find_by_command_line(file, dead.point)  # so that it is ended with the test
    assert mounts_below(dead.point) == [str(dead.point)], "once"
    assert (dead / "file").read_bytes() == content.expected(1, 0, 50_000)


def test_a_mount_that_fails_leaves_it_in_place(site, server, dead, s3rdmafs):
    """Programs would otherwise find the empty folder below, and write there."""
    assert run_mount(s3rdmafs, site.mount_file(server, "no-such-bucket"), dead.point).returncode != 0
    assert mounts_below(dead.point) == [str(dead.point)]
    assert is_dead(dead)
