# SPDX-License-Identifier: Apache-2.0
"""write.mode = "staged": programs read and write files of a bucket at any place, over RDMA and over HTTP; what
they wrote is read back at the server. These are the tests of s3rdmafs-semantics(7) on staged files."""

import contextlib
import ctypes
import errno
import mmap
import os
import random
import signal
import subprocess

import pytest
from harness.processes import eventually, is_alive
from harness.writing import MIB, PART, fails_with, folder_for

pytestmark = pytest.mark.needs_fuse

BUCKET = "staged"
FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE, FALLOC_ZERO_RANGE = 1, 2, 16


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target()
    (target.root / BUCKET).mkdir()
    return target


def staged_mount(site, server, mode, **write):
    number = len(os.listdir(site.folder))
    folders = {"staging_dir": str(site.folder / f"staging{number}"), "state_dir": str(site.folder / f"state{number}")}
    return site.mount(server, BUCKET, rdma={"mode": mode, "threshold": "0"},
                      write={"mode": "staged", "buffer_size": "64MiB"} | folders | write)


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site, server):
    return staged_mount(shared_site, server, {"rdma": "require", "http": "off"}[request.param])


@pytest.fixture
def folder(mounted, request, server):
    return folder_for(request, mounted, server.root / BUCKET)


@pytest.fixture
def stored_file(folder):
    """An object that another client stored, as the mount and as the server see it."""
    at, stored = folder
    stored.mkdir(exist_ok=True)
    (stored / "file").write_bytes(b"0123456789")
    return at / "file", stored / "file"


def shell(command, at):
    subprocess.run(["bash", "-ec", command], cwd=at, check=True)


def test_a_new_file_is_written_in_any_order_and_stored_by_close(folder):
    at, stored = folder
    with open(at / "file", "wb+", buffering=0) as file:
        file.seek(5)
        file.write(b"world")
        file.seek(0)
        file.write(b"hello")
        file.seek(0)
        assert file.read() == b"helloworld"
        assert os.fstat(file.fileno()).st_size == 10
        assert os.listdir(at) == ["file"]
        assert not (stored / "file").exists()
    assert (stored / "file").read_bytes() == b"helloworld"
    assert (at / "file").read_bytes() == b"helloworld"


def test_bytes_in_the_middle_of_an_object_are_replaced(stored_file):
    file, stored = stored_file
    with open(file, "rb+", buffering=0) as opened:
        opened.seek(3)
        opened.write(b"abc")
        opened.seek(0)
        assert opened.read() == b"012abc6789"
        assert stored.read_bytes() == b"0123456789"
    assert stored.read_bytes() == b"012abc6789"


@pytest.mark.parametrize("size", [0, 4, 10, 25])
def test_a_path_is_truncated_to_any_size(stored_file, size):
    file, stored = stored_file
    os.truncate(file, size)
    assert stored.read_bytes() == b"0123456789"[:size].ljust(size, b"\0")
    assert file.stat().st_size == size


def test_a_descriptor_is_truncated_and_extended(stored_file):
    file, stored = stored_file
    with open(file, "rb+", buffering=0) as opened:
        os.ftruncate(opened.fileno(), 4)
        os.ftruncate(opened.fileno(), 8)
        assert opened.read() == b"0123\0\0\0\0"
    assert stored.read_bytes() == b"0123\0\0\0\0"


def test_a_shell_appends_in_a_loop(folder):
    at, stored = folder
    shell("for i in 1 2 3; do echo $i >> log; done; { echo 4; echo 5; } >> log; echo 6 | tee -a log > /dev/null", at)
    assert (stored / "log").read_text() == "1\n2\n3\n4\n5\n6\n"


def test_dd_and_truncate_work(stored_file):
    file, stored = stored_file
    shell("printf XY | dd of=file bs=1 seek=2 conv=notrunc status=none; truncate -s 6 file", file.parent)
    assert stored.read_bytes() == b"01XY45"


def test_readers_see_what_a_writer_has_written_before_it_closes(stored_file):
    file, stored = stored_file
    with open(file, "rb", buffering=0) as before, open(file, "rb+", buffering=0) as writer:
        assert before.read() == b"0123456789"
        writer.write(b"ab")
        before.seek(0)
        assert before.read() == b"ab23456789"
        assert file.read_bytes() == b"ab23456789"
        assert subprocess.check_output(["cat", file]) == b"ab23456789"
    assert stored.read_bytes() == b"ab23456789"


def test_two_processes_write_one_file(stored_file):
    file, stored = stored_file
    with open(file, "rb+", buffering=0) as writer:
        writer.write(b"a")
        shell("printf b | dd of=file bs=1 seek=9 conv=notrunc status=none", file.parent)
        assert stored.read_bytes() == b"a12345678b"
        writer.write(b"c")
    assert stored.read_bytes() == b"ac2345678b"


def test_a_shared_map_is_written_and_read(stored_file):
    file, stored = stored_file
    with open(file, "rb+", buffering=0) as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        mapped[2:4] = b"MM"
        assert os.pread(opened.fileno(), 10, 0) == b"01MM456789"
        mapped.flush()
        os.fsync(opened.fileno())
        assert stored.read_bytes() == b"01MM456789"
        os.pwrite(opened.fileno(), b"W", 0)
        assert mapped[:4] == b"W1MM"
    assert stored.read_bytes() == b"W1MM456789"


def test_a_map_that_outlives_its_descriptor_is_stored(folder):
    at, stored = folder
    with open(at / "file", "wb+") as opened:
        opened.truncate(2 * mmap.PAGESIZE)
        mapped = mmap.mmap(opened.fileno(), 0)
    mapped[mmap.PAGESIZE:mmap.PAGESIZE + 5] = b"later"
    mapped.close()
    expected = (b"\0" * mmap.PAGESIZE + b"later").ljust(2 * mmap.PAGESIZE, b"\0")
    eventually(lambda: (stored / "file").read_bytes() == expected, 30, "the map is stored")


def test_fsync_stores_and_the_descriptor_goes_on(stored_file):
    file, stored = stored_file
    with open(file, "rb+", buffering=0) as opened:
        for text in (b"one", b"two"):
            os.pwrite(opened.fileno(), text, 0)
            os.fsync(opened.fileno())
            assert stored.read_bytes() == text + b"3456789"
    with open(file, "rb+", buffering=0, opener=lambda path, flags: os.open(path, flags | os.O_SYNC)) as opened:
        os.pwrite(opened.fileno(), b"six", 0)
        assert stored.read_bytes() == b"six3456789"


def test_the_inode_number_stays(folder):
    at, _ = folder
    (at / "file").write_bytes(b"one")
    number = (at / "file").stat().st_ino
    for text in (b"two", b"three"):
        with open(at / "file", "rb+") as file:
            file.write(text)
        assert (at / "file").stat().st_ino == number


def test_exclusive_creation_finds_what_is_there(stored_file):
    file, _ = stored_file
    with fails_with(errno.EEXIST):
        os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY)


def test_a_file_without_a_name_works_and_does_not_return(folder):
    at, stored = folder
    with open(at / "file", "wb+", buffering=0) as file:
        file.write(b"bytes")
        os.unlink(at / "file")
        assert not (at / "file").exists()
        file.write(b"!")
        assert os.pread(file.fileno(), 10, 0) == b"bytes!"
    assert os.listdir(at) == []
    assert not (stored / "file").exists()


def test_an_open_file_is_written_on_under_its_new_name(folder):
    at, stored = folder
    (at / "d").mkdir()
    with open(at / "d" / "a", "wb", buffering=0) as file:
        file.write(b"one")
        os.rename(at / "d" / "a", at / "d" / "b")
        assert (stored / "d" / "b").read_bytes() == b"one"
        file.write(b"two")
        assert (at / "d" / "b").read_bytes() == b"onetwo"
        os.rename(at / "d", at / "e")
        file.write(b"three")
        assert (at / "e" / "b").stat().st_ino == os.fstat(file.fileno()).st_ino
    assert (stored / "e" / "b").read_bytes() == b"onetwothree"
    assert os.listdir(at) == ["e"]
    assert not (stored / "d" / "a").exists() and not (stored / "d" / "b").exists()


def test_an_open_file_whose_name_is_taken_by_a_rename_is_not_stored_over_it(folder):
    at, stored = folder
    (at / "a").write_bytes(b"renamed")
    with open(at / "b", "wb", buffering=0) as file:
        file.write(b"written")
        os.rename(at / "a", at / "b")
        file.write(b"!")
    assert (at / "b").read_bytes() == (stored / "b").read_bytes() == b"renamed"
    assert os.listdir(at) == ["b"]


def fallocate(file, mode, offset, length):
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (file.fileno(), mode, ctypes.c_long(offset), ctypes.c_long(length))
    if libc.fallocate(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


def test_fallocate_extends_and_makes_holes_and_does_not_reserve(stored_file):
    file, stored = stored_file
    with open(file, "rb+", buffering=0) as opened:
        fallocate(opened, 0, 0, 12)
        fallocate(opened, FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE, 2, 3)
        fallocate(opened, FALLOC_ZERO_RANGE, 11, 4)
        with fails_with(errno.EOPNOTSUPP):
            fallocate(opened, FALLOC_KEEP_SIZE, 0, 100)
        assert opened.read() == b"01\0\0\x0056789\0\0\0\0\0"
        assert os.lseek(opened.fileno(), 3, os.SEEK_DATA) == 3
        assert os.lseek(opened.fileno(), 3, os.SEEK_HOLE) == 15
    assert stored.read_bytes() == b"01\0\0\x0056789\0\0\0\0\0"


def test_random_writes_into_a_large_object(folder):
    at, stored = folder
    stored.mkdir(exist_ok=True)
    content = bytearray(random.Random(1).randbytes(3 * PART + 12_345))
    (stored / "file").write_bytes(content)
    choice = random.Random(2)
    with open(at / "file", "rb+", buffering=0) as file:
        for _ in range(200):
            offset, text = choice.randrange(len(content)), choice.randbytes(choice.randrange(1, 5000))
            os.pwrite(file.fileno(), text, offset)
            content[offset:offset + len(text)] = text
            offset = choice.randrange(len(content))
            assert os.pread(file.fileno(), 5000, offset) == content[offset:offset + 5000]
    assert (stored / "file").read_bytes() == content
    assert (at / "file").read_bytes() == content


def test_a_version_of_another_client_is_not_destroyed(stored_file):
    file, stored = stored_file
    opened = os.open(file, os.O_RDWR)
    os.pwrite(opened, b"x", 0)
    stored.write_bytes(b"of another client")
    with fails_with(errno.ESTALE):
        os.fsync(opened)
    with fails_with(errno.ESTALE):
        os.pwrite(opened, b"y", 0)
    with fails_with(errno.ESTALE):
        os.close(opened)
    assert stored.read_bytes() == b"of another client"
    assert file.read_bytes() == b"of another client"


def test_an_open_file_is_stored_when_the_mount_ends(site):
    target = site.target()
    (target.root / BUCKET).mkdir()
    mounted = staged_mount(site, target, "off")
    file = os.open(mounted / "file", os.O_CREAT | os.O_WRONLY)
    os.write(file, b"bytes")
    os.kill(mounted.pid, signal.SIGTERM)
    eventually(lambda: not is_alive(mounted.pid), 30, "the daemon ends")
    assert (target.root / BUCKET / "file").read_bytes() == b"bytes"
    with contextlib.suppress(OSError):  # nothing answers the close
        os.close(file)


# From its end, as a file in order may be larger than the area.
def test_a_full_staging_area_refuses_writes_and_keeps_what_it_took(site):
    target = site.target()
    (target.root / BUCKET).mkdir()
    mounted = staged_mount(site, target, "off", staging_size="64MiB")
    with open(mounted / "file", "wb", buffering=0) as file:
        for number in range(62, -1, -1):
            os.pwrite(file.fileno(), b"x" * MIB, number * MIB)
        with fails_with(errno.ENOSPC):
            os.pwrite(file.fileno(), b"y" * MIB, 63 * MIB)
    assert (target.root / BUCKET / "file").stat().st_size == 63 * MIB
