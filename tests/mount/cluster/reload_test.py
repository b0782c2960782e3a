# SPDX-License-Identifier: Apache-2.0
"""A mount file that changes while its bucket is mounted: `s3rdmafs reload` and SIGHUP."""

import os
import signal
import subprocess

import pytest
from harness import content
from harness.mount import COMMAND_SECONDS, GET_BYTES, mount_file, total
from harness.processes import eventually, is_alive

pytestmark = pytest.mark.needs_fuse

BUCKET = "reloaded"
SIZE = 20_000_000


@pytest.fixture
def server(site):
    started = site.target()
    content.write(started.root / BUCKET / "file", 1, SIZE)
    return started


def mount_of(site, server, tmp_path, **sections):
    mount = site.mount(server, BUCKET, log={"file": str(tmp_path / "log")}, **sections)
    mount.log, mount.sections = tmp_path / "log", sections
    return mount


@pytest.fixture
def mounted(site, server, tmp_path):
    """Without whole objects, so that the daemon sees each read."""
    return mount_of(site, server, tmp_path, cache={"size": "128MiB", "passthrough_max": "0", "resident_size": "0"})


def rewrite(mounted, server, **sections):
    """The mount file as it was, with these sections besides."""
    return mount_file(mounted.file, server, BUCKET, **{"log": {"file": str(mounted.log)}, **mounted.sections, **sections})


def reload(mounted, *options):
    result = subprocess.run([mounted.program, "reload", mounted.point, *options], check=False, timeout=COMMAND_SECONDS,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return result.returncode, result.stdout, result.stderr


def test_a_file_that_says_nothing_new_changes_nothing(mounted):
    assert reload(mounted) == (0, "the mount file says nothing new\n", "")


def test_the_level_of_the_log_changes(mounted, server):
    rewrite(mounted, server, log={"file": str(mounted.log), "level": "debug"})
    status, said, _ = reload(mounted, "--dry-run")
    assert status == 0 and said.split() == ["log.level", '"info"', "->", '"debug"', "would", "change", "now"]
    os.listdir(mounted.point)
    assert " debug " not in mounted.log.read_text(), "the control"
    status, said, _ = reload(mounted)
    assert status == 0 and said.split() == ["log.level", '"info"', "->", '"debug"', "changed"]
    assert 'reload: log.level changes from "info" to "debug"' in mounted.log.read_text()


def test_read_ahead_is_switched_off(mounted, server):
    """The server is asked for more than the program reads, until it is switched off."""
    def fetched():
        return total(mounted.stats(), GET_BYTES)

    def read_two_megabytes(offset):
        before = fetched()
        with open(mounted / "file", "rb", buffering=0) as file:
            for step in range(8):
                os.pread(file.fileno(), 250_000, offset + step * 250_000)
        return fetched() - before

    assert read_two_megabytes(0) > 3_000_000, "the control"
    rewrite(mounted, server, read_ahead={"window_max": "0"})
    assert reload(mounted)[1].split()[0] == "read_ahead.window_max"
    assert read_two_megabytes(15_000_000) < 3_000_000


def test_new_opens_go_by_new_read_rules(mounted, server):
    def opens(mode):
        return total(mounted.stats(), "fuse_opens_total", f'mode="{mode}"')

    def open_it():
        before = opens("cached")
        with open(mounted / "file", "rb"):
            return opens("cached") - before

    assert open_it() == 0, "the control: a large file is read past the page cache"
    rewrite(mounted, server, read={"buffered": "fi*"})
    assert reload(mounted)[0] == 0
    assert open_it() == 1


@pytest.mark.needs_passthrough
def test_objects_are_made_resident_and_released(site, server, tmp_path):
    mounted = mount_of(site, server, tmp_path, cache={"size": "128MiB", "resident_size": "64MiB"})

    def resident():
        return total(mounted.stats(), "resident_objects", 'state="resident"')

    rewrite(mounted, server, resident=[{"glob": "file"}])
    assert reload(mounted)[0] == 0
    eventually(lambda: resident() == 1, 20, "the object is resident")
    rewrite(mounted, server)
    assert reload(mounted)[0] == 0
    eventually(lambda: resident() == 0, 20, "it is released")


def test_other_settings_wait_for_the_next_mount(mounted, server):
    rewrite(mounted, server, cache={**mounted.sections["cache"], "size": "256MiB"})
    for _ in range(2):
        status, said, _ = reload(mounted)
        assert status == 0 and "needs a new mount" in said
    assert "cache.size stays" in mounted.log.read_text()


def test_a_wrong_mount_file_changes_nothing(mounted, server):
    rewrite(mounted, server, log={"level": "debug"}, cache={"size": "lots"})
    status, said, complained = reload(mounted)
    assert status == 32 and said == "" and "cache.size" in complained and str(mounted.file) in complained
    assert (mounted / "file").read_bytes() == content.expected(1, 0, SIZE)


def test_a_hangup_reloads_and_the_mount_goes_on(mounted, server):
    rewrite(mounted, server, log={"file": str(mounted.log), "level": "debug"})
    os.kill(mounted.pid, signal.SIGHUP)
    eventually(lambda: "reload: log.level" in mounted.log.read_text(), 10, "the mount file is read again")
    assert is_alive(mounted.pid)
    assert (mounted / "file").read_bytes() == content.expected(1, 0, SIZE)


def test_a_mount_that_is_not_there_is_named(mounted):
    mounted.unmount()
    status, _, complained = reload(mounted)
    assert status == 32 and str(mounted.point) in complained
