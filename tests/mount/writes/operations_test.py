# SPDX-License-Identifier: Apache-2.0
"""File operations beside read and write, as s3rdmafs-semantics(7) has them, on a staged mount by RDMA and by HTTP."""

import ctypes
import errno
import os
import stat
import subprocess
import sys

import pytest
from harness import content
from harness.mount import total
from harness.writing import MIB, fails_with, folder_for

pytestmark = pytest.mark.needs_fuse

BUCKET = "operations"


@pytest.fixture(scope="module", params=["rdma", "http"])
def place(request, shared_site):
    server = shared_site.target()
    (server.root / BUCKET).mkdir()
    mode = {"rdma": "require", "http": "off"}[request.param]
    mounted = shared_site.mount(server, BUCKET, rdma={"mode": mode, "threshold": "0"},
                                write={"mode": "staged", "buffer_size": "64MiB",
                                       "staging_dir": str(shared_site.folder / f"staging-{request.param}")})
    return mounted, server.root / BUCKET


@pytest.fixture
def folder(place, request):
    return folder_for(request, *place)


@pytest.mark.parametrize("flag", [os.O_SYNC, os.O_DSYNC], ids=["O_SYNC", "O_DSYNC"])
def test_each_write_is_stored_before_it_returns_if_the_file_is_opened_so(folder, flag):
    at, stored = folder
    opened = os.open(at / "file", os.O_CREAT | os.O_WRONLY | flag)
    try:
        for count in range(1, 4):
            os.write(opened, b"line\n")
            assert (stored / "file").read_bytes() == b"line\n" * count
    finally:
        os.close(opened)


def test_without_the_flag_a_write_is_not_stored_and_syncfs_does_not_change_that(folder):
    at, stored = folder
    libc = ctypes.CDLL(None, use_errno=True)
    with open(at / "file", "wb", buffering=0) as opened:
        opened.write(b"line\n")
        assert libc.syncfs(opened.fileno()) == 0
        assert not (stored / "file").exists()
        os.fsync(opened.fileno())
        assert (stored / "file").read_bytes() == b"line\n"


def test_a_directory_can_be_synced(folder):
    at, stored = folder
    (at / "sub").mkdir()
    os.rename(at / "sub", at / "other")
    opened = os.open(at, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
    assert (stored / "other").is_dir()


def test_a_file_is_data_to_its_end_and_a_hole_from_there(folder):
    at, stored = folder
    stored.mkdir(exist_ok=True)
    (stored / "file").write_bytes(bytes(MIB))
    with open(at / "file", "rb") as opened:
        for offset in (0, 5000, MIB - 1):
            assert os.lseek(opened.fileno(), offset, os.SEEK_DATA) == offset
            assert os.lseek(opened.fileno(), offset, os.SEEK_HOLE) == MIB
        for whence in (os.SEEK_DATA, os.SEEK_HOLE):
            with fails_with(errno.ENXIO):
                os.lseek(opened.fileno(), MIB, whence)


def test_copy_file_range_copies_between_files_and_within_one(folder):
    at, stored = folder
    whole = content.expected(5, 0, 3 * MIB)
    (at / "source").write_bytes(whole)
    with open(at / "source", "rb") as source, open(at / "copy", "wb+") as copy:
        at_offset = 0
        while count := os.copy_file_range(source.fileno(), copy.fileno(), 4 * MIB):
            at_offset += count
        assert at_offset == 3 * MIB
        assert os.copy_file_range(copy.fileno(), copy.fileno(), 1000, offset_src=7, offset_dst=2 * MIB) == 1000
    assert (stored / "copy").read_bytes() == whole[:2 * MIB] + whole[7:1007] + whole[2 * MIB + 1000:]


def test_cp_of_a_file_makes_the_server_copy_it_and_sends_no_bytes(place, folder):
    mounted, _ = place
    at, stored = folder
    stored.mkdir(exist_ok=True)
    whole = content.expected(6, 0, 20 * MIB + 77)
    (stored / "source").write_bytes(whole)
    (stored / "replaced").write_bytes(b"what was there")

    def counted():
        return {name: total(mounted.stats(), "s3_requests_total", f'operation="{name}"')
                for name in ("put", "upload_part", "copy")}

    before = counted()
    for name in ("new", "replaced"):
        subprocess.run(["cp", at / "source", at / name], check=True, timeout=60)
        assert (stored / name).read_bytes() == whole
        assert (at / name).stat().st_size == len(whole)
    after = counted()
    assert {name: after[name] - before[name] for name in after} == {"put": 0, "upload_part": 0, "copy": 2}
    with open(at / "by bytes", "wb") as copy:
        subprocess.run(["dd", f"if={at / 'source'}", "bs=1M"], stdout=copy, stderr=subprocess.DEVNULL, check=True, timeout=60)
    assert counted()["upload_part"] > after["upload_part"], "the control"
    assert (at / "new").read_bytes() == (at / "by bytes").read_bytes() == whole


def test_links_and_devices_are_refused(folder):
    at, _ = folder
    (at / "file").write_bytes(b"x")
    with fails_with(errno.EPERM):
        os.link(at / "file", at / "other")
    for kind in (stat.S_IFIFO, stat.S_IFSOCK, *([stat.S_IFCHR, stat.S_IFBLK] if os.geteuid() == 0 else [])):
        with fails_with(errno.EPERM):
            os.mknod(at / "other", kind | 0o600, os.makedev(1, 3))
    assert os.listdir(at) == ["file"]


def test_there_is_room_and_access(folder):
    at, _ = folder
    (at / "file").write_bytes(b"x")
    shown = os.statvfs(at)
    assert shown.f_bavail * shown.f_frsize == 1 << 50
    assert shown.f_favail == 1 << 32
    assert shown.f_namemax == 255
    assert os.access(at / "file", os.R_OK | os.W_OK)
    assert not os.access(at / "absent", os.F_OK)


def test_a_range_that_one_process_has_locked_is_locked_for_others(folder):
    at, _ = folder
    (at / "file").write_bytes(b"0123456789")
    code = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 5)
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 0)
    except OSError:
        print("held")
    else:
        print("free")
"""

    def state():
        return subprocess.run([sys.executable, "-c", code, at / "file"], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()

    with open(at / "file", "r+b") as file:
        os.lockf(file.fileno(), os.F_LOCK, 5)
        assert state() == "held"
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        os.lockf(file.fileno(), os.F_ULOCK, 5)
        assert state() == "free"
