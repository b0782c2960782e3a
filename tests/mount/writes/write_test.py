# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of S3 write into a mounted bucket, over RDMA and over HTTP; what they wrote is
read back through another client. These are the tests of s3rdmafs-semantics(7) on writes."""

import errno
import multiprocessing
import os
import shutil
import signal
import subprocess

import pytest
from harness import content
from harness.mount import total
from harness.processes import eventually
from harness.s3_clients import Awscli
from harness.settings import STRESS_SECONDS
from harness.units import MIB
from harness.writing import PART, assert_copied, client_of, fails_with, folder_for, kill_in_mid_write, uploads_of

pytestmark = pytest.mark.needs_fuse

BUCKET = "written"
WRITE_BYTES = "upload_bytes_total"

# .ci/run stresses for a minute; then the largest file is 2 GiB.
BIG = STRESS_SECONDS >= 60
WRITERS = 8
FILES = 200


@pytest.fixture(scope="module")
def server(shared_site):
    return shared_site.target(bucket=BUCKET)


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site, server):
    mode = {"rdma": "require", "http": "off"}[request.param]
    made = shared_site.mount(server, BUCKET, rdma={"mode": mode, "threshold": "0"},
                             write={"mode": "sequential", "buffer_size": "64MiB"})
    made.path = request.param
    return made


@pytest.fixture
def folder(mounted, request, server):
    return folder_for(request, mounted, server.root / BUCKET)


def bytes_by_path(mounted):
    stats = mounted.stats()
    return {path: total(stats, WRITE_BYTES, f'path="{path}"') for path in ("rdma", "http")}


@pytest.fixture
def aws(server, tmp_path):
    return Awscli(server, BUCKET, tmp_path / "aws")


@pytest.mark.parametrize("size", [0, 1, 4096, 100_000, PART - 1, PART, PART + 1, 2 * PART, 5 * PART + 4321])
def test_a_file_is_at_the_server_when_close_returns(mounted, folder, size):
    at, stored = folder
    with open(at / "file", "wb") as file:
        file.write(content.expected(7, 0, size))
    assert not content.difference((stored / "file").read_bytes(), 7, 0, size)
    assert (at / "file").stat().st_size == size
    assert not content.difference((at / "file").read_bytes(), 7, 0, size)
    assert os.listdir(at) == ["file"]


def test_the_bytes_go_by_the_path_asked_for(mounted, folder):
    other = {"rdma": "http", "http": "rdma"}[mounted.path]
    before = bytes_by_path(mounted)
    (folder[0] / "small").write_bytes(b"x" * 100_000)
    (folder[0] / "large").write_bytes(content.expected(1, 0, 3 * PART))
    after = bytes_by_path(mounted)
    assert after[mounted.path] - before[mounted.path] == 100_000 + 3 * PART
    assert after[other] == before[other]


def test_nothing_shows_before_close_and_all_of_it_after(mounted, folder, aws):
    at, stored = folder
    with open(at / "file", "wb", buffering=0) as file:
        for offset in range(0, 3 * PART, MIB):
            file.write(content.expected(3, offset, MIB))
            assert not (stored / "file").exists()
        assert (at / "file").stat().st_size == 3 * PART, "in this mount the size so far shows"
        assert os.fstat(file.fileno()).st_size == 3 * PART
        with fails_with(errno.EBUSY):
            open(at / "file", "rb")
        with fails_with(errno.EBUSY):
            open(at / "file", "wb")
    assert not content.difference((stored / "file").read_bytes(), 3, 0, 3 * PART)
    assert not uploads_of(aws)


def test_a_reader_keeps_the_old_version_while_it_is_overwritten(folder):
    at, stored = folder
    (at / "file").write_bytes(b"old" * 1000)
    with open(at / "file", "rb", buffering=0) as reader:
        assert reader.read(3) == b"old"
        with open(at / "file", "wb") as writer:
            writer.write(b"new!")
            writer.flush()
            assert (stored / "file").read_bytes() == b"old" * 1000
            assert os.fstat(reader.fileno()).st_size == 3000
        assert reader.read() == (b"old" * 1000)[3:], "they are in the cache"
    assert (at / "file").read_bytes() == b"new!"
    assert (stored / "file").read_bytes() == b"new!"
    assert (at / "file").stat().st_size == 4


@pytest.mark.parametrize("size", [1000, 2 * PART + 5])
def test_fsync_makes_the_file_visible(folder, size):
    at, stored = folder
    with open(at / "file", "wb", buffering=0) as file:
        file.write(content.expected(1, 0, size))
        os.fsync(file.fileno())
        assert not content.difference((stored / "file").read_bytes(), 1, 0, size)
        if size > PART:
            with fails_with(errno.EOPNOTSUPP):
                file.write(b"more")
        else:
            file.write(content.expected(1, size, 5000))
            size += 5000
    assert not content.difference((stored / "file").read_bytes(), 1, 0, size)


def test_shell_redirection_writes_what_all_commands_wrote(folder):
    at, stored = folder
    script = "{ echo one; cat /etc/hostname; (echo two); echo three; } > file; exec 3> log; echo a >&3; echo b >&3"
    subprocess.run(["bash", "-c", script], cwd=at, check=True, timeout=60)
    with open("/etc/hostname", "rb") as file:
        expected = b"one\n" + file.read() + b"two\nthree\n"
    eventually(lambda: (stored / "file").read_bytes() == expected, 10, "the file is whole")
    eventually(lambda: (stored / "log").read_bytes() == b"a\nb\n", 10, "the log is whole")
    subprocess.run("echo c > small; echo d > small", shell=True, cwd=at, check=True, timeout=60)
    assert (at / "small").read_bytes() == b"d\n"
    with fails_with(errno.EOPNOTSUPP):
        open(at / "small", "ab")


def test_an_empty_file_can_be_appended_to(folder):
    at, stored = folder
    (at / "file").touch()
    with open(at / "file", "ab") as file:
        file.write(b"first")
    assert (stored / "file").read_bytes() == b"first"


ELSEWHERE = {
    "write in the middle": lambda file: os.pwrite(file, b"x", 3),
    "write behind the end": lambda file: os.pwrite(file, b"x", 100),
    "read": lambda file: os.pread(file, 4, 0),
    "shorten": lambda file: os.ftruncate(file, 4),
    "lengthen": lambda file: os.ftruncate(file, 40),
}


@pytest.mark.parametrize("what", ELSEWHERE)
def test_a_write_that_is_not_sequential_is_refused_at_once_and_spoils_nothing(folder, what):
    at, stored = folder
    file = os.open(at / "file", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(file, b"0123456789")
        with fails_with(errno.EOPNOTSUPP):
            ELSEWHERE[what](file)
        os.ftruncate(file, 10)
    finally:
        os.close(file)
    assert (stored / "file").read_bytes() == b"0123456789"


def test_truncating_to_nothing_begins_again(folder):
    at, stored = folder
    with open(at / "file", "wb", buffering=0) as file:
        file.write(b"wrong")
        file.truncate(0)
        file.seek(0)
        file.write(b"right")
    assert (stored / "file").read_bytes() == b"right"
    os.truncate(at / "file", 0)
    assert (stored / "file").read_bytes() == b""
    assert (at / "file").stat().st_size == 0


def test_an_existing_file_is_not_opened_without_truncating_it(folder):
    at, stored = folder
    (at / "file").write_bytes(b"bytes")
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_WRONLY | os.O_CREAT):
        with fails_with(errno.EOPNOTSUPP):
            os.open(at / "file", flags)
    with fails_with(errno.EEXIST):
        os.open(at / "file", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    assert (stored / "file").read_bytes() == b"bytes"


def test_exclusive_creation_sees_what_others_made_meanwhile(folder):
    at, stored = folder
    assert not (at / "file").exists()  # now the kernel may believe so for a while
    (stored / "file").write_bytes(b"theirs")
    with fails_with(errno.EEXIST):
        os.open(at / "file", os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def test_directories_are_made_and_removed_when_empty(folder):
    at, stored = folder
    (at / "a/b").mkdir(parents=True)
    assert os.listdir(at) == ["a"] and os.listdir(at / "a") == ["b"]
    (at / "a/b/file").write_bytes(b"x")
    with fails_with(errno.ENOTEMPTY):
        os.rmdir(at / "a/b")
    with fails_with(errno.EEXIST):
        os.mkdir(at / "a/b")
    os.unlink(at / "a/b/file")
    with open(at / "a/b/other", "wb"):
        with fails_with(errno.ENOTEMPTY):
            os.rmdir(at / "a/b")
        os.unlink(at / "a/b/other")
    assert not (at / "a/b/file").exists()
    os.rmdir(at / "a/b")
    os.rmdir(at / "a")
    assert os.listdir(at) == []
    shutil.rmtree(at)
    assert not stored.exists() or os.listdir(stored) == []


def test_unlinking_a_file_that_is_written_leaves_nothing(folder, aws):
    at, stored = folder
    with open(at / "file", "wb", buffering=0) as file:
        file.write(b"x" * (2 * PART))
        os.unlink(at / "file")
        assert not (at / "file").exists()
        file.write(b"x" * PART)
    assert not (stored / "file").exists()
    # close() does not wait for the parts that were under way.
    eventually(lambda: not uploads_of(aws), 20, "the upload is aborted")


REFUSED = {
    "link": lambda at: os.link(at / "file", at / "other"),
    "symlink": lambda at: os.symlink("file", at / "other"),
    "mknod": lambda at: os.mkfifo(at / "other"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_operations_that_objects_do_not_have_are_refused(folder, what):
    at, stored = folder
    (at / "file").write_bytes(b"x")
    with fails_with(errno.EPERM):
        REFUSED[what](at)
    assert os.listdir(stored) == ["file"]


def test_modes_owners_and_times_are_accepted_and_not_kept(folder):
    at, _ = folder
    (at / "file").write_bytes(b"x")
    before = (at / "file").stat()
    os.chmod(at / "file", 0o600)
    os.chown(at / "file", 1, 1)
    os.utime(at / "file", (1, 1))
    assert (at / "file").stat() == before
    assert before.st_mode & 0o777 == 0o644


@pytest.fixture
def tree(tmp_path):
    source = tmp_path / "tree"
    for number, (name, size) in enumerate({"a": 0, "b": 1, "sub/c": 100_000, "sub/deep/d": PART + 9}.items()):
        content.write(source / name, number, size)
    os.utime(source / "b", (1_000_000_000, 1_000_000_000))
    return source


TOOLS = {
    "cp": "cp -r '{source}' '{at}/'",
    "cp -p": "cp -rp '{source}' '{at}/'",
    "dd": "mkdir -p '{at}/tree/sub/deep'; for f in a b sub/c sub/deep/d; do"
          " dd if='{source}'/$f of='{at}'/tree/$f bs=64k status=none || exit 1; done",
    "tar": "tar -C '{source}/..' -cf - tree | tar -C '{at}' -xf -",
    "rsync": "rsync -a --inplace '{source}' '{at}/'",
    "python": "/usr/bin/python3 -c 'import shutil; shutil.copytree(\"{source}\", \"{at}/tree\")'",
}


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_copy_trees_into_the_mount(folder, tree, tool):
    if not shutil.which(tool.split()[0]) and tool != "python":
        pytest.skip(f"{tool} is not installed")
    at, stored = folder
    for _ in range(1 if tool == "rsync" else 2):  # the second time it overwrites
        if tool == "python":
            shutil.rmtree(at / "tree", ignore_errors=True)
        subprocess.run(TOOLS[tool].format(source=tree, at=at), shell=True, check=True, timeout=120)
    subprocess.run(["diff", "-r", tree, stored / "tree"], check=True, timeout=60)
    subprocess.run(["diff", "-r", tree, at / "tree"], check=True, timeout=60)


def size_of(number):
    """From 0 bytes up; most small, a few large."""
    if number % 50 == 49:
        return (2048 if BIG and number == 199 else 64) * MIB + number
    return (0, 1, 4095, 70_000, MIB + 3, PART, PART + 1, 3 * MIB, 12 * MIB, 511)[number % 10] + number // 10 * (
        number % 10 > 0)


def write_files(folder, first):
    for number in range(first, FILES, WRITERS):
        size = size_of(number)
        with open(folder / f"file{number:03}", "wb", buffering=0) as file:
            for offset in range(0, size, MIB):
                file.write(content.expected(number, offset, min(MIB, size - offset)))


def run_writers(folder):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_files, args=(folder, first)) for first in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(600)
    assert [writer.exitcode for writer in writers] == [0] * WRITERS


@pytest.mark.needs("aws")
def test_two_hundred_files_by_eight_writers_are_what_another_client_reads(mounted, folder, aws, tmp_path):
    at, stored = folder
    before = bytes_by_path(mounted)
    run_writers(at)
    eventually(lambda: len(os.listdir(stored)) >= FILES, 20, "every file is there")

    bulk = {path: count - before[path] for path, count in bytes_by_path(mounted).items()}
    assert bulk[mounted.path] > 0.99 * sum(bulk.values()), bulk
    assert sum(bulk.values()) == sum(map(size_of, range(FILES)))
    copy = tmp_path / "copy"
    aws.run("s3", "cp", "--recursive", "--only-show-errors", f"s3://{BUCKET}/{at.name}/", copy)
    assert_copied(copy, FILES, size_of)
    assert not uploads_of(aws)
    gauges = mounted.stats()
    assert total(gauges, "upload_buffers_bytes") == 64 * MIB
    eventually(lambda: total(mounted.stats(), "upload_buffers_used_bytes") == 0, 10, "no buffer is kept")
    assert total(mounted.stats(), "upload_quarantined_bytes") == 0
    for number in range(FILES):
        os.unlink(at / f"file{number:03}")


# The server dies

DEADLINE_SECONDS = 8


@pytest.fixture(params=["rdma", "http"])
def outage(request, site):
    target = site.target(bucket=BUCKET)
    mode = {"rdma": "prefer", "http": "off"}[request.param]
    made = site.mount(target, BUCKET, rdma={"mode": mode}, retry={"deadline": f"{DEADLINE_SECONDS}s"},
                      write={"mode": "sequential", "buffer_size": "64MiB"})
    return target, made, request.param


def test_a_server_killed_in_mid_write_gives_an_error_at_close_and_no_half_object(outage):
    target, mounted, path = outage
    kill_in_mid_write(target, mounted, BUCKET, path)


def test_unmounting_waits_for_what_was_closed(outage):
    target, mounted, _ = outage
    for number in range(20):
        (mounted / f"empty{number}").touch()
    (mounted / "file").write_bytes(content.expected(1, 0, 2 * PART))
    mounted.unmount()
    assert len(os.listdir(target.root / BUCKET)) == 21


def test_ending_the_daemon_gives_up_what_is_open(outage):
    target, mounted, _ = outage
    file = os.open(mounted / "file", os.O_WRONLY | os.O_CREAT)
    os.write(file, b"x" * (2 * PART))
    os.kill(mounted.pid, signal.SIGTERM)
    eventually(lambda: not mounted.is_mounted(), 20, "the daemon unmounts")
    try:
        os.close(file)
    except OSError:
        pass
    eventually(lambda: not uploads_of(client_of(target, BUCKET)), 60, "the upload is aborted")
    assert not (target.root / BUCKET / "file").exists()
