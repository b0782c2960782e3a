# SPDX-License-Identifier: Apache-2.0
"""Where the kernel writes files by itself: what is left of them when the daemon is killed, and the tmpfs that a mount makes for
them."""

import contextlib
import json
import mmap
import os
import shutil
import subprocess

import pytest
from harness import content
from harness.mount import Mount, total
from harness.processes import eventually, is_alive, unmount_lazily
from harness.writing import MIB
from writes.crash_test import recover

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_passthrough]

BUCKET = "left"
PASSED = "passthrough_written_files_total"
# Parts of 8 MiB and an end inside a page.
SIZE = 20 * MIB + 4321


def section(site):
    return site.on_tmpfs({"mode": "staged", "buffer_size": "64MiB", "staging_size": "256MiB"})


def created(path):
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


def crashed(site, server, tmp_path, work):
    """Mounts, calls work(mount point), kills the daemon; (mount file, mount point)."""
    point = tmp_path / "mnt"
    file = site.mount_file(server, BUCKET, write=section(site))
    mounted = Mount(site.s3rdmafs, file, point)
    try:
        work(point)
    finally:
        mounted.kill()
    return file, point


def test_no_write_is_lost_when_the_daemon_is_killed(site, tmp_path):
    server = site.target(bucket=BUCKET)
    data = content.expected(3, 0, SIZE)

    def work(point):
        for name in ("new", "synced", "written-again"):
            file = created(point / name)
            os.write(file, data)
            files.append(file)
            if name != "new":
                os.fsync(file)
            if name == "written-again":
                os.pwrite(file, b"changed", 100)

    files = []
    file, point = crashed(site, server, tmp_path, work)
    for one in files:
        with contextlib.suppress(OSError):
            os.close(one)
    listed = recover(site, file, point)
    assert {one["key"] for one in listed} == {"new", "written-again"}
    assert all(one["age_seconds"] < 600 for one in listed)
    assert all(one["outcome"] == "sent" for one in recover(site, file, point, "--send"))
    changed = data[:100] + b"changed" + data[107:]
    for name, expected in [("new", data), ("synced", data), ("written-again", changed)]:
        assert (server.root / BUCKET / name).read_bytes() == expected
    assert recover(site, file, point) == []


def test_writes_through_a_mapping_are_not_lost_when_the_daemon_is_killed(site, tmp_path):
    server = site.target(bucket=BUCKET)
    kept = []

    def work(point):
        first = created(point / "mapped")
        os.write(first, b"0123456789")
        second = os.open(point / "mapped", os.O_RDWR)
        mapped = mmap.mmap(second, 10)
        os.fsync(first)
        mapped[0] = ord("a")
        kept.extend([first, second, mapped])

    file, point = crashed(site, server, tmp_path, work)
    assert [one["key"] for one in recover(site, file, point)] == ["mapped"]
    recover(site, file, point, "--send")
    assert (server.root / BUCKET / "mapped").read_bytes() == b"a123456789"


AUTOMATIC = {"mode": "staged", "buffer_size": "64MiB", "staging_size": "96MiB"}


@contextlib.contextmanager
def chosen_folder(site, file, point):
    """The staging folder of a mount that chooses it; removed afterwards."""
    point.mkdir(exist_ok=True)
    told = subprocess.run([site.s3rdmafs, "recover", file, point, "--json"], check=True, stdout=subprocess.PIPE, text=True)
    folder = json.loads(told.stdout)["folder"]
    assert folder.startswith("/dev/shm/")
    try:
        yield folder
    finally:
        if os.path.ismount(folder):
            unmount_lazily(folder)
        shutil.rmtree(folder)  # a mount that came just as the last one ended has left its lock there


@pytest.fixture
def automatic(site, tmp_path):
    """(server, mount file, mount point, folder) of a mount that chooses its staging folder."""
    server = site.target(bucket=BUCKET)
    file, point = site.mount_file(server, BUCKET, write=AUTOMATIC), tmp_path / "mnt"
    with chosen_folder(site, file, point) as folder:
        yield server, file, point, folder


def test_the_folder_that_a_mount_chooses_is_a_tmpfs_of_its_own_while_it_is_mounted(site, tmp_path):
    server = site.target(bucket=BUCKET)
    file, point = site.mount_file(server, BUCKET, write=AUTOMATIC), tmp_path / "mnt"
    with chosen_folder(site, file, point) as folder:
        mounted = Mount(site.s3rdmafs, file, point)
        try:
            status = os.statvfs(folder)
            assert os.path.ismount(folder)
            assert status.f_blocks * status.f_frsize == 96 * MIB
            assert os.stat(folder).st_mode & 0o777 == 0o700
            (point / "file").write_bytes(bytes(MIB))
            assert total(mounted.stats(), PASSED) == 1
        finally:
            mounted.destroy()
        assert not os.path.ismount(folder)
        assert (server.root / BUCKET / "file").read_bytes() == bytes(MIB)


def test_a_mount_that_follows_at_once_has_its_tmpfs_too(site, automatic):
    _, file, point, folder = automatic
    for _ in range(5):
        mounted = Mount(site.s3rdmafs, file, point)
        assert os.path.ismount(folder)
        subprocess.run(["umount", point], check=True)
    eventually(lambda: not is_alive(mounted.pid), 20, "the last daemon ends")


def test_the_tmpfs_of_a_killed_mount_stays_until_its_files_are_recovered(site, automatic):
    _, file, point, folder = automatic
    for _ in range(2):
        killed = Mount(site.s3rdmafs, file, point)
        opened = created(point / "file")
        os.write(opened, b"bytes")
        killed.kill()
        with contextlib.suppress(OSError):
            os.close(opened)
    assert [one["key"] for one in recover(site, file, point)] == ["file", "file"]
    assert os.path.ismount(folder)
    recover(site, file, point, "--discard")
    assert not os.path.ismount(folder)


def test_files_of_an_earlier_mount_are_not_hidden_by_a_tmpfs(site, tmp_path):
    server = site.target(bucket=BUCKET)
    file, point = site.mount_file(server, BUCKET, write=AUTOMATIC), tmp_path / "mnt"
    with chosen_folder(site, file, point) as folder:
        os.mkdir(folder, 0o700)
        for name in ("7.data", "7.meta"):
            open(f"{folder}/{name}", "xb").close()
        mounted = Mount(site.s3rdmafs, file, point)
        assert not os.path.ismount(folder)
        mounted.destroy()
