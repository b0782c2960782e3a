# SPDX-License-Identifier: Apache-2.0
"""Files that the kernel writes by itself, because the staging folder is a tmpfs of at most write.staging_size: the daemon
hears of the open and the close, and all that s3rdmafs-semantics(7) says of staged files holds."""

import errno
import mmap
import os
import random
import subprocess
import threading
import time
from pathlib import Path

import pytest
from harness import content
from harness.mount import total
from harness.processes import eventually
from harness.writing import MIB, PART, fails_with, folder_for

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_passthrough]

BUCKET = "passed"
PASSED = "passthrough_written_files_total"
# Parts of 8 MiB and an end inside a page.
SIZE = 20 * MIB + 4321


@pytest.fixture(scope="module")
def server(shared_site):
    return shared_site.target(bucket=BUCKET)


def section(site, size="256MiB", **write):
    return site.on_tmpfs({"mode": "staged", "buffer_size": "64MiB", "staging_size": size} | write)


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site, server):
    rdma = {"mode": {"rdma": "require", "http": "off"}[request.param], "threshold": "0"}
    return shared_site.mount(server, BUCKET, rdma=rdma, write=section(shared_site), metadata={"posix": "write"})


@pytest.fixture
def folder(mounted, request, server):
    return folder_for(request, mounted, server.root / BUCKET)


@pytest.fixture
def passed(mounted):
    """Counts the files that the kernel has taken since the last call."""
    before = [total(mounted.stats(), PASSED)]

    def count():
        now = total(mounted.stats(), PASSED)
        since, before[0] = now - before[0], now
        return since
    return count


def created(path, flags=0):
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | flags)


def test_a_new_file_is_written_by_the_kernel_and_stored_by_close(folder, mounted, passed):
    at, stored = folder
    taken = total(mounted.stats(), "fuse_written_bytes_total")
    data = content.expected(1, 0, SIZE)
    with open(at / "file", "wb", buffering=0) as file:
        file.write(data[:MIB])
        assert os.fstat(file.fileno()).st_size == MIB
        file.write(data[MIB:])
        assert os.listdir(at) == ["file"]
        assert not (stored / "file").exists()
    assert (stored / "file").read_bytes() == data
    assert (at / "file").read_bytes() == data
    assert passed() == 1
    assert total(mounted.stats(), "fuse_written_bytes_total") == taken


def test_a_file_that_cp_makes_of_another_one_of_the_mount_is_left_to_the_server(folder, mounted, passed):
    at, stored = folder
    stored.mkdir(exist_ok=True)
    data = content.expected(2, 0, SIZE)
    (stored / "source").write_bytes(data)
    (stored / "replaced").write_bytes(b"what was there")
    copies = total(mounted.stats(), "s3_requests_total", 'operation="copy"')
    for name in ("new", "replaced"):
        subprocess.run(["cp", at / "source", at / name], check=True, timeout=60)
        assert (stored / name).read_bytes() == data
    assert passed() == 0
    assert total(mounted.stats(), "s3_requests_total", 'operation="copy"') == copies + 2
    assert (at / "new").read_bytes() == data
    local = stored.parent.parent / "source"
    local.write_bytes(data)
    subprocess.run(["cp", local, at / "control"], check=True, timeout=60)
    assert passed() == 1, "the control: a copy of a file that is not of the mount"
    assert (stored / "control").read_bytes() == data


def test_copy_file_range_to_a_file_that_the_kernel_writes_moves_the_bytes(folder, passed):
    at, stored = folder
    stored.mkdir(exist_ok=True)
    data = content.expected(3, 0, MIB)
    (stored / "source").write_bytes(data)
    with open(at / "file", "wb", buffering=0) as file, open(at / "source", "rb") as source:
        assert os.copy_file_range(source.fileno(), file.fileno(), 2 * MIB) == MIB
    assert passed() == 1
    assert (stored / "file").read_bytes() == data


def test_without_a_bounded_tmpfs_the_daemon_writes(site):
    """The control of the test above: the same folder, and more room than write.staging_size."""
    server = site.target(bucket=BUCKET)
    write = section(site) | {"staging_size": "128MiB"}
    mounted = site.mount(server, BUCKET, write=write)
    (mounted / "control").write_bytes(bytes(MIB))
    assert total(mounted.stats(), PASSED) == 0
    assert total(mounted.stats(), "fuse_written_bytes_total") == MIB


def test_a_file_that_is_replaced_is_written_by_the_kernel(folder, passed):
    at, stored = folder
    (at / "file").write_bytes(bytes(SIZE))
    assert (at / "file").read_bytes() == bytes(SIZE), "the page cache has the old bytes"
    (at / "file").write_bytes(b"new")
    assert passed() == 2
    assert (at / "file").read_bytes() == b"new"
    assert (stored / "file").read_bytes() == b"new"


def test_appends_and_changes_in_the_middle_go_on_as_before(folder, passed):
    at, stored = folder
    (at / "file").write_bytes(b"0123456789")
    assert passed() == 1
    with open(at / "file", "ab") as file:
        file.write(b"abc")
    with open(at / "file", "rb+") as file:
        file.seek(3)
        file.write(b"-")
    assert passed() == 0
    assert (stored / "file").read_bytes() == b"012-456789abc"


def test_writes_after_fsync_are_stored_by_close(folder):
    at, stored = folder
    file = created(at / "file")
    os.write(file, b"first")
    os.fsync(file)
    assert (stored / "file").read_bytes() == b"first"
    os.pwrite(file, b"F", 0)
    os.fsync(file)
    assert (stored / "file").read_bytes() == b"First"
    os.write(file, b" second")
    os.close(file)
    assert (stored / "file").read_bytes() == b"First second"


def test_a_file_that_is_not_written_after_fsync_is_stored_once(folder, mounted, server):
    at, stored = folder
    file = created(at / "file")
    os.write(file, b"bytes")
    os.fsync(file)
    version = stored.joinpath("file").stat().st_mtime_ns
    os.fsync(file)
    os.close(file)
    assert stored.joinpath("file").stat().st_mtime_ns == version


def sent_bytes(mounted):
    return sum(total(mounted.stats(), "upload_bytes_total", f"path=\"{path}\"") for path in ("rdma", "http"))


def test_only_the_parts_that_changed_since_the_last_fsync_are_sent(folder, mounted):
    at, stored = folder
    data = bytearray(content.expected(4, 0, 5 * PART))
    file = created(at / "file")
    os.write(file, data)
    os.fsync(file)
    before = sent_bytes(mounted)
    data[3 * PART + 5] ^= 1
    os.pwrite(file, data[3 * PART:3 * PART + 10], 3 * PART)
    os.fsync(file)
    assert (stored / "file").read_bytes() == data
    assert sent_bytes(mounted) - before == PART
    os.write(file, b"more")
    os.close(file)
    assert (stored / "file").read_bytes() == data + b"more"
    assert sent_bytes(mounted) - before == PART + 4


def test_a_file_that_changes_at_random_between_stores_is_stored_as_it_is(folder):
    at, stored = folder
    chosen = random.Random(int.from_bytes(at.name.encode()[:4], "big"))
    file, model = created(at / "file"), bytearray()
    for _ in range(25):
        for _ in range(chosen.randrange(4)):
            offset, data = chosen.randrange(4 * PART), chosen.randbytes(chosen.choice((1, 5000, PART)))
            os.pwrite(file, data, offset)
            model.extend(bytes(max(0, offset + len(data) - len(model))))
            model[offset:offset + len(data)] = data
        if chosen.random() < 0.3:
            size = chosen.randrange(5 * PART)
            os.ftruncate(file, size)
            model = model[:size] + bytes(max(0, size - len(model)))
        if chosen.random() < 0.2:
            os.fchmod(file, chosen.randrange(0o600, 0o700))
        os.fsync(file)
        assert (stored / "file").read_bytes() == model
    os.close(file)


def test_readers_and_a_second_writer_see_each_write(folder):
    at, stored = folder
    first = created(at / "file")
    os.write(first, b"one ")
    with open(at / "file", "rb", buffering=0) as reader:
        assert reader.read() == b"one "
        second = os.open(at / "file", os.O_WRONLY | os.O_APPEND)
        os.write(second, b"two ")
        os.write(first, b"1")
        assert reader.read() == b"1wo "
        os.lseek(reader.fileno(), 0, os.SEEK_SET)
        assert reader.read() == b"one 1wo "
        os.close(first)
        os.write(second, b"three")
        os.close(second)
        os.lseek(reader.fileno(), 0, os.SEEK_SET)
        assert reader.read() == b"one 1wo three"
    assert (stored / "file").read_bytes() == b"one 1wo three"


def test_writes_of_a_second_handle_through_a_mapping_are_stored(folder):
    at, stored = folder
    first = created(at / "file")
    os.write(first, b"0123456789")
    second = os.open(at / "file", os.O_RDWR)
    with mmap.mmap(second, 10) as mapped:
        mapped[0] = ord("a")
        os.fsync(first)
        assert (stored / "file").read_bytes() == b"a123456789"
        mapped[1] = ord("b")
        os.close(first)
        assert (stored / "file").read_bytes() == b"ab23456789"
        os.close(second)
        mapped[2] = ord("c")  # the mapping outlives its descriptor
    eventually(lambda: (stored / "file").read_bytes() == b"abc3456789", 20, "the end of the mapping stores it")


def test_a_second_handle_that_is_synchronous_stores_each_write(folder):
    at, stored = folder
    first = created(at / "file")
    os.write(first, b"0123456789")
    second = os.open(at / "file", os.O_WRONLY | os.O_DSYNC)
    os.write(second, b"ab")
    assert (stored / "file").read_bytes() == b"ab23456789"
    os.write(first, b"X")
    os.close(second)
    os.close(first)
    assert (stored / "file").read_bytes() == b"ab23456789X"


def test_a_synchronous_handle_is_never_the_first(folder, passed):
    at, stored = folder
    file = created(at / "file", os.O_SYNC)
    os.write(file, b"now")
    assert (stored / "file").read_bytes() == b"now"
    os.close(file)
    assert passed() == 0


@pytest.mark.parametrize("size", [0, 4, 25])
def test_a_file_is_cut_and_extended_while_the_kernel_writes_it(folder, size):
    at, stored = folder
    file = created(at / "file")
    os.write(file, b"0123456789")
    os.ftruncate(file, size)
    assert os.fstat(file).st_size == size
    os.truncate(at / "file", size + 1)
    os.posix_fallocate(file, 0, size + 3)
    assert os.fstat(file).st_size == size + 3
    os.pwrite(file, b"end", size + 4)
    os.close(file)
    assert (stored / "file").read_bytes() == b"0123456789"[:size].ljust(size + 4, b"\0") + b"end"


def test_times_are_those_of_the_last_write_or_of_utimensat(folder, mounted):
    at, _ = folder
    file = created(at / "file")
    before = time.time()
    os.write(file, b"bytes")
    assert before - 0.1 < os.fstat(file).st_mtime < before + 10
    os.utime(file, (10 ** 9, 10 ** 9))
    assert os.fstat(file).st_mtime == 10 ** 9
    os.close(file)
    assert (at / "file").stat().st_mtime == 10 ** 9
    file = created(at / "file")
    os.write(file, b"more")
    os.fsync(file)
    assert os.fstat(file).st_mtime > before - 0.1
    os.close(file)
    assert (at / "file").stat().st_mtime > before - 0.1


def test_a_file_is_renamed_and_removed_while_the_kernel_writes_it(folder):
    at, stored = folder
    file = created(at / "file")
    os.write(file, b"before ")
    os.rename(at / "file", at / "renamed")
    os.write(file, b"after")
    os.close(file)
    assert (stored / "renamed").read_bytes() == b"before after"
    assert os.listdir(at) == ["renamed"]
    file = created(at / "renamed")
    os.write(file, b"gone")
    os.remove(at / "renamed")
    os.write(file, b" on")
    assert os.fstat(file).st_size == 7
    os.close(file)
    assert os.listdir(at) == [] and list(stored.iterdir()) == []


def test_the_modes_of_a_file_change_while_the_kernel_writes_it(folder):
    at, stored = folder
    file = created(at / "file")
    os.write(file, b"bytes")
    os.chmod(at / "file", 0o640)
    os.write(file, b" more")
    os.fchmod(file, 0o600)
    os.close(file)
    assert (at / "file").stat().st_mode & 0o777 == 0o600
    assert (stored / "file").read_bytes() == b"bytes more"


def test_another_clients_version_is_never_replaced(folder):
    at, stored = folder
    (at / "file").write_bytes(b"first")
    file = created(at / "file")
    os.write(file, b"mine")
    (stored / "file").write_bytes(b"theirs")
    with fails_with(errno.ESTALE):
        os.close(file)
    assert (stored / "file").read_bytes() == b"theirs"
    assert (at / "file").read_bytes() == b"theirs"


def test_a_write_after_a_failed_store_is_kept_and_fsync_fails(site):
    server = site.target(bucket=BUCKET)
    write = section(site)
    mounted = site.mount(server, BUCKET, write=write)
    file = created(mounted / "file")
    os.write(file, b"mine")
    (server.root / BUCKET / "file").write_bytes(b"theirs")
    for text in (b" and more", b" and more"):
        with fails_with(errno.ESTALE):
            os.fsync(file)
        assert os.write(file, text) == 9
    with fails_with(errno.ESTALE):
        os.close(file)
    assert (mounted / "file").read_bytes() == b"theirs"
    left = [path.read_bytes() for path in Path(write["staging_dir"]).glob("*.data")]
    assert left == [b"mine and more and more"]


def test_a_write_with_a_flag_to_sync_is_stored_by_the_next_sync(folder):
    at, stored = folder
    file = created(at / "file")
    os.pwritev(file, [b"bytes"], 0, os.RWF_SYNC)
    assert not (stored / "file").exists()
    os.fsync(file)
    assert (stored / "file").read_bytes() == b"bytes"
    os.close(file)


def test_a_program_hears_that_the_room_is_full(site):
    server = site.target(bucket=BUCKET)
    mounted = site.mount(server, BUCKET, write=section(site, "64MiB"))
    file = created(mounted / "large")
    with fails_with(errno.ENOSPC):
        for _ in range(100):
            os.write(file, bytes(MIB))
    size = os.fstat(file).st_size
    assert size > 32 * MIB
    os.close(file)
    assert (server.root / BUCKET / "large").stat().st_size == size
    eventually(lambda: total(mounted.stats(), "staging_used_bytes") < MIB, 20, "the room is free again")
    (mounted / "next").write_bytes(bytes(MIB))
    assert (server.root / BUCKET / "next").stat().st_size == MIB


def test_a_file_is_written_by_the_daemon_where_half_of_the_room_is_taken(site):
    server = site.target(bucket=BUCKET)
    mounted = site.mount(server, BUCKET, write=section(site, "64MiB"))
    first = created(mounted / "first")
    os.write(first, bytes(33 * MIB))
    os.fstat(first)
    (mounted / "second").write_bytes(bytes(MIB))
    assert total(mounted.stats(), PASSED) == 1
    assert total(mounted.stats(), "fuse_written_bytes_total") == MIB
    os.close(first)


def test_the_room_that_the_kernel_takes_is_counted(site):
    server = site.target(bucket=BUCKET)
    mounted = site.mount(server, BUCKET, write=section(site))
    file = created(mounted / "counted")
    os.write(file, bytes(8 * MIB))
    os.fstat(file)
    assert total(mounted.stats(), "staging_used_bytes") >= 8 * MIB
    os.close(file)
    eventually(lambda: total(mounted.stats(), "staging_used_bytes") < MIB, 20, "the closed file takes no room")


def test_many_writers_and_readers_of_one_file_lose_no_byte(folder):
    at, stored = folder
    writers, pieces, length = 4, 200, 1000
    os.close(created(at / "file"))
    files = [created(at / "file")] + [os.open(at / "file", os.O_WRONLY) for _ in range(writers - 1)]

    def write(number):
        for piece in range(pieces):
            os.pwrite(files[number], bytes([number + 1]) * length, (piece * writers + number) * length)
            if piece % 50 == number * 10:
                os.fsync(files[number])
        os.close(files[number])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = b"".join(bytes([number + 1]) * length for _ in range(pieces) for number in range(writers))
    eventually(lambda: (stored / "file").read_bytes() == expected, 20, "the last close stores all")


def test_programs_copy_trees_through_the_kernel(folder, tmp_path, passed):
    at, stored = folder
    tree = tmp_path / "tree"
    for number in range(20):
        content.write(tree / f"d{number % 3}" / f"f{number}", number, number * 9999)
    subprocess.run(["cp", "-a", tree, at / "copy"], check=True)
    subprocess.run(["rsync", "-a", f"{tree}/", at / "synced"], check=True)
    assert passed() >= 20
    for copy in ("copy", "synced"):
        subprocess.run(["diff", "-r", tree, at / copy], check=True)
        subprocess.run(["diff", "-r", tree, stored / copy], check=True)
