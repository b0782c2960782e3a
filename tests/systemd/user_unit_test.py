# SPDX-License-Identifier: Apache-2.0
"""A user's own mount, by the systemd of that user."""

from pathlib import Path

from harness.processes import eventually
from layout import USER, USER_ID
from machine import SECONDS, mounts_on, system, user

UNIT, POINT = "s3rdmafs@train.service", f"/home/{USER}/train"
MANAGER = f"user@{USER_ID}.service"
# As s3rdmafs(1) tells an administrator.
LIMITS = Path("/etc/security/limits.d/s3rdmafs.conf")


def limit_locked_memory(limit_kib):
    LIMITS.write_text(f"@{USER} - memlock {limit_kib}\n")
    system.systemctl("restart", MANAGER)


def test_under_a_small_limit_on_locked_memory_the_journal_names_the_limit_and_the_mend():
    limit_locked_memory(8192)
    assert user.systemctl("start", UNIT, check=False).returncode != 0
    user.assert_journal(UNIT, "the limit on locked memory is 8MiB; raise it")
    user.systemctl("stop", UNIT)
    assert mounts_on(POINT) == []


def test_with_a_higher_limit_the_user_mounts_by_rdma():
    limit_locked_memory("unlimited")
    user.systemctl("start", UNIT)
    user.assert_serves_by_rdma(POINT)
    assert f'Status: "bucket data on {POINT}"' in user.systemctl("status", UNIT).stdout


def test_a_users_killed_daemon_is_started_again_and_its_dead_mount_is_taken_away():
    user.systemctl("kill", "--signal=KILL", UNIT)
    eventually(lambda: user.show(UNIT, "NRestarts") == "1", SECONDS, "systemd starts it again")
    user.wait_for(UNIT, "active")
    user.assert_serves_by_rdma(POINT)
    assert mounts_on(POINT) == ["fuse.s3rdma"], "once"


def test_the_users_mounts_end_with_the_users_systemd():
    system.systemctl("stop", MANAGER)
    assert mounts_on(POINT) == []
