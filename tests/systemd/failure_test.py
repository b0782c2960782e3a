# SPDX-License-Identifier: Apache-2.0
"""Mounts that cannot be: systemctl fails, and journalctl says why."""

import pytest
from machine import daemons_of, mounts_on, system

WRONG_KEY = r"/etc/s3rdmafs/wrong\.toml:\d+:\d+: .*cach"


def assert_fails(unit, name, *reasons):
    started = system.systemctl("start", unit, check=False)
    assert started.returncode != 0
    assert "journalctl -xe" in started.stdout, "where the reason is"
    system.assert_journal(unit, *reasons)
    assert mounts_on(f"/mnt/{name}") == []


@pytest.fixture
def given_up():
    """Units that systemd would start again and again."""
    units = []
    yield units
    for unit in units:
        system.systemctl("stop", unit)


def test_a_wrong_mount_file_is_named_with_line_and_key_and_not_tried_again():
    unit = "s3rdmafs@wrong.service"
    assert_fails(unit, "wrong", WRONG_KEY)
    assert system.show(unit, "ActiveState") == "failed", "the control: others are activating, see below"
    assert system.show(unit, "NRestarts") == "0"


def test_a_mount_unit_names_file_line_and_key_too():
    assert_fails("mnt-wrong.mount", "wrong", WRONG_KEY)


def test_wrong_credentials_are_told_apart_and_tried_again(given_up):
    unit = "s3rdmafs@secret.service"
    given_up.append(unit)
    assert_fails(unit, "secret", "SignatureDoesNotMatch", "Scheduled restart job")
    assert daemons_of("/etc/s3rdmafs/boot.toml"), "the control for the next line"


def test_a_mount_point_that_is_not_there_is_named_with_what_to_do(given_up):
    unit = "s3rdmafs@nowhere.service"
    given_up.append(unit)
    assert_fails(unit, "nowhere", r"/mnt/nowhere does not exist: create it")


def test_a_mount_file_that_is_not_there_is_named():
    assert_fails("s3rdmafs@absent.service", "absent", r"/etc/s3rdmafs/absent\.toml.*No such file")
