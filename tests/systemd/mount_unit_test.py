# SPDX-License-Identifier: Apache-2.0
"""A .mount unit and an .automount unit, as the package's examples have them."""

import errno
import os
import signal

import pytest
from harness.processes import eventually
from layout import IDLE_SECONDS
from machine import SECONDS, daemons_of, mounts_on, run, system

BOOT, AUTO = "/etc/s3rdmafs/boot.toml", "/etc/s3rdmafs/auto.toml"


def kill_daemon(file):
    (pid,) = daemons_of(file)
    os.kill(int(pid), signal.SIGKILL)
    eventually(lambda: not daemons_of(file), SECONDS, "the daemon is dead")


def test_a_file_that_is_open_keeps_it_mounted_and_the_journal_says_so(open_file):
    descriptor = open_file("/mnt/boot/file")
    assert system.systemctl("stop", "mnt-boot.mount", check=False).returncode != 0
    system.assert_journal("mnt-boot.mount", "target is busy")
    assert system.show("mnt-boot.mount", "ActiveState") == "active"
    assert os.pread(descriptor, 4096, 0), "its reader goes on"


def assert_dead():
    with pytest.raises(OSError) as failure:
        os.listdir("/mnt/boot")
    assert failure.value.errno == errno.ENOTCONN
    assert system.show("mnt-boot.mount", "ActiveState") == "active", "systemd watches the mount, not its daemon"


def test_a_killed_daemon_is_replaced_by_a_restart_of_the_unit():
    kill_daemon(BOOT)
    assert_dead()
    system.systemctl("start", "mnt-boot.mount")
    assert daemons_of(BOOT) == [], "the unit is active, so a start does nothing"
    system.systemctl("restart", "mnt-boot.mount")
    assert mounts_on("/mnt/boot") == ["fuse.s3rdma"]
    system.assert_serves_by_rdma("/mnt/boot")


def test_a_killed_daemon_whose_files_are_open_is_replaced_after_a_lazy_unmount(open_file):
    open_file("/mnt/boot/file")
    kill_daemon(BOOT)
    assert_dead()
    run("s3rdmafs", "umount", "--lazy", "/mnt/boot")
    system.wait_for("mnt-boot.mount", "inactive")
    system.systemctl("start", "mnt-boot.mount")
    system.assert_serves_by_rdma("/mnt/boot")


def test_stop_unmounts_and_ends_the_daemon():
    system.systemctl("stop", "mnt-boot.mount")
    assert mounts_on("/mnt/boot") == []
    eventually(lambda: not daemons_of(BOOT), SECONDS, "the daemon has ended")
    system.assert_journal("mnt-boot.mount", "/mnt/boot is no longer mounted")
    assert system.show("mnt-boot.mount", "Result") == "success"


def test_an_automount_is_mounted_at_first_use_and_unmounted_when_idle():
    assert mounts_on("/mnt/auto") == ["autofs"]
    assert daemons_of(AUTO) == [], "nothing was used yet, so no memory is taken"
    system.assert_serves_by_rdma("/mnt/auto")
    assert mounts_on("/mnt/auto") == ["autofs", "fuse.s3rdma"]
    # Nothing here looks below /mnt/auto meanwhile, which would count as use.
    eventually(lambda: mounts_on("/mnt/auto") == ["autofs"], SECONDS, f"unmounted after {IDLE_SECONDS} s without use")
    eventually(lambda: not daemons_of(AUTO), SECONDS, "the daemon has ended")
    system.assert_serves_by_rdma("/mnt/auto")


def test_an_automount_in_use_stays(open_file):
    open_file("/mnt/auto/file")
    (before,) = daemons_of(AUTO)
    system.systemctl("stop", "mnt-auto.mount", check=False)
    assert daemons_of(AUTO) == [before]
