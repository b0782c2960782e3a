# SPDX-License-Identifier: Apache-2.0
"""The state after a boot where one server is there and another is not."""

from layout import ADDRESS, LATE_PORT, SERVER
from machine import daemons_of, mounts_on, run, system

NO_SERVER = rf"{ADDRESS}:{LATE_PORT}/.*Could( not|n't) connect to server"


def test_the_boot_ends_and_only_the_unit_that_tries_once_has_failed():
    for target in ("remote-fs.target", "multi-user.target"):
        assert system.show(target, "ActiveState") == "active"
    failed = {line.split()[0] for line in system.systemctl("list-units", "--failed", "--plain", "--no-legend").stdout.splitlines()}
    assert failed == {"mnt-missed.mount"}


def test_a_mount_unit_is_mounted_over_rc():
    assert system.show("mnt-boot.mount", "ActiveState") == "active"
    assert mounts_on("/mnt/boot") == ["fuse.s3rdma"]
    system.assert_serves_by_rdma("/mnt/boot")
    system.assert_journal("mnt-boot.mount", f"mounted bucket data of {SERVER.endpoint} on /mnt/boot")


def test_a_service_that_starts_after_network_mounts_has_read_the_bucket():
    assert system.show("reader.service", "Result") == "success"
    assert system.show("reader.service", "ActiveState") == "active"


def test_a_mount_unit_without_its_server_fails_once_and_says_why():
    system.assert_journal("mnt-missed.mount", NO_SERVER, "Failed to mount")
    assert mounts_on("/mnt/missed") == []
    assert daemons_of("/etc/s3rdmafs/missed.toml") == []


def test_a_service_without_its_server_says_why_and_is_mounted_once_the_server_is_there():
    system.assert_journal("s3rdmafs@late.service", NO_SERVER, "Scheduled restart job")
    assert mounts_on("/mnt/late") == []
    system.systemctl("start", f"target@{LATE_PORT}.service")
    system.wait_for("s3rdmafs@late.service", "active")
    system.assert_serves_by_rdma("/mnt/late")


def test_a_mount_unit_that_failed_at_boot_is_mounted_by_hand():
    system.systemctl("start", f"target@{LATE_PORT}.service", "mnt-missed.mount")
    system.assert_serves_by_rdma("/mnt/missed")
    system.systemctl("stop", "mnt-missed.mount")
    assert run("mountpoint", "--quiet", "/mnt/missed", check=False).returncode != 0
