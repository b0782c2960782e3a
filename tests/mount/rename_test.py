# SPDX-License-Identifier: Apache-2.0
"""rename(2) as s3rdmafs-semantics(7) describes it, with the programs that depend on it, over RDMA and over HTTP; and
after the daemon was killed, the next mount."""

import ctypes
import errno
import os
import shutil
import subprocess

import pytest
from harness import content
from harness.settings import STRESS_SECONDS
from harness.writing import PART, fails_with, folder_for

pytestmark = pytest.mark.needs_fuse

BUCKET = "renamed"
NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
AT_FDCWD = -100

# .ci/run stresses for a minute; then the tree has as many files as a check-out of a large project.
TREE_FILES = 2000 if STRESS_SECONDS >= 60 else 200


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target()
    (target.root / BUCKET).mkdir()
    return target


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site, server):
    mode = {"rdma": "require", "http": "off"}[request.param]
    return shared_site.mount(server, BUCKET, rdma={"mode": mode, "threshold": "0"},
                             write={"mode": "sequential", "buffer_size": "64MiB"})


@pytest.fixture
def folder(mounted, request, server):
    return folder_for(request, mounted, server.root / BUCKET)


def renameat2(old, new, flags):
    """As rename(2) with flags, which Python does not have."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), flags) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


@pytest.mark.parametrize("size", [0, 1, 100_000, 2 * PART + 4321])
def test_a_file_moves_with_all_its_bytes(folder, size):
    at, stored = folder
    (at / "a").write_bytes(content.expected(1, 0, size))
    os.rename(at / "a", at / "b")
    assert os.listdir(at) == ["b"]
    assert os.listdir(stored) == ["b"]
    assert not content.difference((at / "b").read_bytes(), 1, 0, size)
    assert not (at / "a").exists()


def test_a_file_replaces_another_and_its_readers_keep_what_they_have_open(folder):
    at, _ = folder
    (at / "old").write_bytes(b"old bytes")
    with open(at / "old", "rb") as reader:
        (at / "new").write_bytes(b"new")
        assert reader.read() == b"old bytes"
        os.replace(at / "new", at / "old")
        reader.seek(0)
        assert reader.read() == b"old bytes"
    assert (at / "old").read_bytes() == b"new"
    assert os.listdir(at) == ["old"]


def test_a_descriptor_of_the_source_reads_on(folder):
    at, _ = folder
    size = 3 * PART
    (at / "a").write_bytes(content.expected(2, 0, size))
    with open(at / "a", "rb", buffering=0) as reader:
        os.rename(at / "a", at / "b")
        assert os.fstat(reader.fileno()).st_size == size
        assert not content.difference(reader.readall(), 2, 0, size)


def test_the_time_of_the_directory_changes_so_that_python_finds_a_new_module(folder):
    at, _ = folder
    before = at.stat().st_mtime_ns
    (at / "a").write_bytes(b"x")
    created = at.stat().st_mtime_ns
    os.rename(at / "a", at / "b")
    assert before < created < at.stat().st_mtime_ns


def test_flags_are_obeyed_or_refused(folder):
    at, _ = folder
    (at / "a").write_bytes(b"a")
    (at / "b").write_bytes(b"b")
    with fails_with(errno.EEXIST):
        renameat2(at / "a", at / "b", NOREPLACE)
    for flag in (EXCHANGE, WHITEOUT):
        with fails_with(errno.EINVAL):
            renameat2(at / "a", at / "b", flag)
    renameat2(at / "a", at / "c", NOREPLACE)
    assert sorted(os.listdir(at)) == ["b", "c"]
    assert (at / "c").read_bytes() == b"a"


def test_what_posix_refuses_is_refused(folder):
    at, _ = folder
    (at / "file").write_bytes(b"x")
    (at / "full").mkdir()
    (at / "full" / "file").write_bytes(b"x")
    (at / "empty").mkdir()
    for old, new, code in [("absent", "b", errno.ENOENT), ("file", "full", errno.EISDIR),
                           ("empty", "file", errno.ENOTDIR), ("empty", "full", errno.ENOTEMPTY),
                           ("full", "full/below", errno.EINVAL), ("file", "n" * 256, errno.ENAMETOOLONG)]:
        with fails_with(code):
            os.rename(at / old, at / new)
    os.rename(at / "file", at / "file")
    assert sorted(os.listdir(at)) == ["empty", "file", "full"]


def test_a_tree_moves_and_processes_inside_stay_inside(folder):
    at, stored = folder
    for number in range(TREE_FILES):
        below = at / "from" / f"d{number % 10}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"f{number}").write_bytes(content.expected(number, 0, 100))
    (at / "from" / "empty").mkdir()
    inside = os.open(at / "from" / "d3", os.O_RDONLY)
    os.rename(at / "from", at / "to")
    assert os.listdir(at) == ["to"]
    assert (at / "to" / "empty").is_dir()
    for number in range(TREE_FILES):
        assert not content.difference((at / "to" / f"d{number % 10}" / f"f{number}").read_bytes(), number, 0, 100)
    assert sorted(os.listdir(inside)) == sorted(os.listdir(at / "to" / "d3"))
    os.close(inside)
    assert not (stored / "from").exists()
    shutil.rmtree(at / "to")
    assert os.listdir(at) == []


def test_mv_and_sed_and_an_editors_save_work(folder):
    at, _ = folder
    (at / "text").write_text("one\ntwo\n")
    (at / "folder").mkdir()
    subprocess.run(["sed", "-i", "s/two/three/", at / "text"], check=True)
    subprocess.run(["mv", at / "text", at / "folder"], check=True)
    subprocess.run(["mv", at / "folder", at / "moved"], check=True)
    assert (at / "moved" / "text").read_text() == "one\nthree\n"
    with open(at / ".save~", "w") as file:
        file.write("saved")
        file.flush()
        os.fsync(file.fileno())
    os.replace(at / ".save~", at / "moved" / "text")
    assert (at / "moved" / "text").read_text() == "saved"
    assert sorted(os.listdir(at)) == ["moved"]


def test_rsync_writes_aside_and_renames(folder, tmp_path):
    at, stored = folder
    for number, name in enumerate(["a", "sub/b", "sub/c"]):
        content.write(tmp_path / "tree" / name, number, 50_000)
    subprocess.run(["rsync", "-r", "--size-only", f"{tmp_path}/tree/", at / "copy"], check=True)
    for number, name in enumerate(["a", "sub/b", "sub/c"]):
        assert not content.difference((stored / "copy" / name).read_bytes(), number, 0, 50_000)
    assert sorted(os.listdir(at / "copy" / "sub")) == ["b", "c"]


def test_a_checkpoint_is_written_aside_and_renamed_over_the_last_one(folder):
    at, _ = folder
    for step in range(5):
        (at / "next").write_bytes(content.expected(step, 0, PART + step))
        os.replace(at / "next", at / "checkpoint")
        assert not content.difference((at / "checkpoint").read_bytes(), step, 0, PART + step)
    assert os.listdir(at) == ["checkpoint"]


def test_mv_copies_a_directory_of_more_keys_than_a_rename_may_move(shared_site, server):
    mounted = shared_site.mount(server, BUCKET, write={"mode": "sequential", "rename_max_keys": 2})
    at = mounted / "bounded"
    (at / "from").mkdir(parents=True)
    for name in "abc":
        (at / "from" / name).write_text(name)
    with fails_with(errno.EXDEV):
        os.rename(at / "from", at / "to")
    assert sorted(os.listdir(at / "from")) == ["a", "b", "c"]
    subprocess.run(["mv", at / "from", at / "to"], check=True)
    assert {name: (at / "to" / name).read_text() for name in os.listdir(at / "to")} == {n: n for n in "abc"}
    assert os.listdir(at) == ["to"]
