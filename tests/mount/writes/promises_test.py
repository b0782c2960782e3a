# SPDX-License-Identifier: Apache-2.0
"""Claims of s3rdmafs-semantics(7) that the other files do not come by: msync, fsync and truncation among several
descriptors, a killed program, directories without an object, and the ends of mounts."""

import errno
import mmap
import os
import signal
import subprocess
import sys
import time

import pytest
from harness.mount import MountFailed, total
from harness.processes import eventually, is_alive
from harness.settings import BEHAVE_AS
from harness.writing import MIB, PART, fails_with, folder_for

pytestmark = pytest.mark.needs_fuse

BUCKET = "promises"


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target()
    (target.root / BUCKET).mkdir()
    return target


def mount_that_writes(site, server, mode, **sections):
    write = {"mode": mode, "buffer_size": "64MiB", "state_dir": str(site.folder / f"state-{mode}")}
    if mode == "staged":
        write["staging_dir"] = str(site.folder / "staging")
    return site.mount(server, BUCKET, rdma={"mode": "off"}, write=write, **sections)


@pytest.fixture(scope="module")
def staged_mount(shared_site, server):
    return mount_that_writes(shared_site, server, "staged")


@pytest.fixture(scope="module")
def sequential_mount(shared_site, server):
    return mount_that_writes(shared_site, server, "sequential")


@pytest.fixture
def staged(staged_mount, request, server):
    return folder_for(request, staged_mount, server.root / BUCKET)


@pytest.fixture
def sequential(sequential_mount, request, server):
    return folder_for(request, sequential_mount, server.root / BUCKET)


def test_msync_stores_what_the_map_has(staged):
    at, stored = staged
    (at / "file").write_bytes(b"before")
    with open(at / "file", "rb+") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:6] = b"mapped"
        assert (stored / "file").read_bytes() == b"before"
        mapped.flush()
        assert (stored / "file").read_bytes() == b"mapped"


def test_fsync_of_any_descriptor_stores_what_all_of_them_wrote(staged):
    at, stored = staged
    with open(at / "file", "wb", buffering=0) as one, open(at / "file", "rb+", buffering=0) as other:
        one.write(b"one")
        os.pwrite(other.fileno(), b"two", 3)
        assert not (stored / "file").exists()
        os.fsync(one.fileno())
        assert (stored / "file").read_bytes() == b"onetwo"


def test_a_path_that_is_open_to_write_is_truncated_and_stored_by_its_writer(staged):
    at, stored = staged
    (at / "file").write_bytes(b"0123456789")
    with open(at / "file", "rb+", buffering=0):
        os.truncate(at / "file", 4)
        assert (at / "file").read_bytes() == b"0123"
        assert (stored / "file").read_bytes() == b"0123456789"
    assert (stored / "file").read_bytes() == b"0123"


def test_of_a_large_removed_file_the_bytes_that_only_the_server_has_are_stale(staged):
    at, stored = staged
    stored.mkdir(exist_ok=True)
    for name, size in (("small", 1 * MIB), ("large", 65 * MIB)):
        (stored / name).write_bytes(b"x" * size)
    with open(at / "small", "rb+", buffering=0) as small, open(at / "large", "rb+", buffering=0) as large:
        os.pwrite(large.fileno(), b"y" * MIB, 0)
        os.unlink(at / "small")
        os.unlink(at / "large")
        assert os.pread(small.fileno(), 1, MIB - 1) == b"x"
        assert os.pread(large.fileno(), 6, 0) == b"yyyyyy"
        with fails_with(errno.ESTALE):
            os.pread(large.fileno(), 1, 64 * MIB)


def test_a_killed_programs_bytes_become_the_object(sequential):
    at, stored = sequential
    program = "import os, sys; os.write(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY), b'bytes'); os.kill(os.getpid(), 9)"
    ended = subprocess.run([sys.executable, "-c", program, at / "file"], check=False)
    assert ended.returncode == -signal.SIGKILL
    eventually(lambda: (stored / "file").exists(), 30, "the last close stores the file")
    assert (stored / "file").read_bytes() == b"bytes"


def test_a_directory_without_an_object_vanishes_with_its_last_file(sequential):
    at, stored = sequential
    (stored / "without").mkdir(parents=True)
    (stored / "without" / "file").write_bytes(b"of another client")
    (at / "made").mkdir()
    (at / "made" / "file").write_bytes(b"x")
    for name in ("without", "made"):
        assert (at / name / "file").exists()
        os.unlink(at / name / "file")
    assert os.listdir(at) == ["made"]


def test_a_renamed_file_has_the_time_of_its_copy_at_the_server(sequential):
    at, stored = sequential
    (stored / "old").write_bytes(b"bytes")
    os.utime(stored / "old", (1_000_000_000, 1_000_000_000))
    assert (at / "old").stat().st_mtime == 1_000_000_000
    begun = int(time.time())
    os.rename(at / "old", at / "new")
    keeps_time = BEHAVE_AS == "rename-object"  # a copy has its own
    assert (stored / "new").stat().st_mtime == 1_000_000_000 if keeps_time else (stored / "new").stat().st_mtime >= begun
    assert (at / "new").stat().st_mtime in (1_000_000_000, (stored / "new").stat().st_mtime)


def test_a_file_being_written_has_another_inode_number_than_afterwards(sequential):
    at, _ = sequential
    with open(at / "file", "wb", buffering=0) as file:
        file.write(b"bytes")
        number = os.fstat(file.fileno()).st_ino
    assert (at / "file").stat().st_ino != number


def test_a_lazy_unmount_ends_the_daemon_with_the_last_close(site, server):
    (server.root / BUCKET / "open").write_bytes(b"bytes")
    mounted = mount_that_writes(site, server, "off")
    with open(mounted / "open", "rb", buffering=0) as file:
        subprocess.run(["umount", "--lazy", mounted.point], check=True, timeout=20)
        assert not mounted.is_mounted()
        assert is_alive(mounted.pid)
        assert file.read() == b"bytes"
    eventually(lambda: not is_alive(mounted.pid), 30, "the daemon ends")


def test_a_mount_that_ends_without_the_server_names_the_uploads_that_are_left(site):
    target = site.target()
    (target.root / BUCKET).mkdir()
    log = site.folder / "log"
    mounted = mount_that_writes(site, target, "sequential", retry={"deadline": "2s"}, http={"request_timeout": "1s"},
                                log={"file": str(log)})
    file = os.open(mounted / "file", os.O_WRONLY | os.O_CREAT)
    os.write(file, b"x" * (2 * PART))
    eventually(lambda: total(mounted.stats(), "upload_bytes_total") >= PART, 20, "the server has a part")
    target.kill()
    with pytest.raises(OSError):
        os.close(file)
    os.kill(mounted.pid, signal.SIGTERM)
    eventually(lambda: not is_alive(mounted.pid), 30, "the daemon ends")
    assert "mount ends before 'file' was aborted" in log.read_text()


def test_a_folder_of_records_that_is_named_must_be_to_be_had(site, server):
    (site.folder / "state-sequential").write_text("a file")
    with pytest.raises(MountFailed, match="state-sequential"):
        mount_that_writes(site, server, "sequential")
