# SPDX-License-Identifier: Apache-2.0
"""Writes, renames and removals of programs are right at the server, whichever server it is, in both modes that write. Where the
server lacks a request or a condition, the daemon does without and its log names what lacks. Another client, which
knows nothing of the mount, stores and reads over plain HTTP.

The other files of this folder run against one such server by S3RDMAFS_BEHAVE_AS, and this one against all by
S3RDMAFS_SERVERS=all."""

import errno
import os
import subprocess

import pytest
from harness import content, rgw
from harness.processes import eventually
from harness.s3_http import Bucket
from harness.servers import BEHAVIOURS
from harness.settings import ALL_SERVERS
from harness.site import Site
from harness.writing import PART, fails_with

pytestmark = pytest.mark.needs_fuse

BUCKET = "written"
LARGE = 2 * PART + 4321  # three parts
CEPH = "ceph"  # the real gateway; all others are s3rdma-target

# The log of a staged mount names each request and condition that the server lacks.
NOT_COMPARED, REFUSED, NO_PART_COPY = "does not compare If-Match of a PUT", "refuses a condition", "has no UploadPartCopy"
LACKING = {
    "no-if-match": {NOT_COMPARED},
    "no-conditions": {NOT_COMPARED},
    "refused-conditions": {NOT_COMPARED, REFUSED},
    "no-part-copy": {NO_PART_COPY},
}

# The servers that differ in what a write asks of them; behaviour_test.py has the others.
DIFFERENT = ("versitygw", "no-conditions", "refused-conditions", "no-part-copy", "rename-object")


@pytest.fixture(scope="module", params=[*(BEHAVIOURS if ALL_SERVERS else DIFFERENT),
                                        pytest.param(CEPH, marks=pytest.mark.needs(*rgw.PROGRAMS))])
def behaviour(request):
    return request.param


@pytest.fixture(scope="module")
def place(behaviour, tmp_path_factory, s3rdmafs, s3rdma_target):
    """The site of this server alone, so that few servers run at once."""
    made = Site(tmp_path_factory.mktemp(behaviour), s3rdmafs, s3rdma_target)
    yield made
    made.end()


@pytest.fixture(scope="module")
def server(behaviour, place):
    if behaviour != CEPH:
        yield place.target("--behave-as", behaviour)
        return
    gateway = rgw.Rgw(place.folder / "rgw")
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def bucket(server):
    made = Bucket(server.endpoint, BUCKET, server.access_key, server.secret_key)
    made.make()
    return made


@pytest.fixture(scope="module", params=["staged", "sequential"])
def mode(request):
    return request.param


@pytest.fixture(scope="module")
def log(place, mode):
    return place.folder / f"{mode}.log"


@pytest.fixture(scope="module")
def mounted(behaviour, place, server, bucket, mode, log):
    staging = {"staging_dir": str(place.folder / "staging")} if mode == "staged" else {}
    return place.mount(server, BUCKET, rdma={"mode": "prefer", "threshold": "0", **BEHAVIOURS.get(behaviour, {})},
                       write={"mode": mode, "buffer_size": "64MiB", **staging}, log={"file": str(log)})


@pytest.fixture
def key(request, mode):
    """The folder of this test in this mode, with a slash."""
    return f"{mode}-{request.node.originalname}/"


@pytest.fixture
def at(mounted, key):
    (mounted / key).mkdir(exist_ok=True)  # one for all sizes
    return mounted / key


@pytest.mark.parametrize("size", [0, LARGE])
def test_a_file_is_created_replaced_and_removed(at, bucket, key, size):
    file = at / f"file-{size}"
    for number in (1, 2):
        written = content.expected(number, 0, size)
        file.write_bytes(written)
        # close(2) does not wait for the release of an empty file that it leaves to the kernel.
        eventually(lambda: bucket.has(f"{key}{file.name}"), 20, "the object is there")
        assert bucket.get(f"{key}{file.name}") == written
        assert file.read_bytes() == written
    file.unlink()
    assert not bucket.has(f"{key}{file.name}")
    assert file.name not in os.listdir(at)


@pytest.mark.parametrize("size", [LARGE])
def test_bytes_change_in_an_object_of_another_client(at, bucket, key, mode, size):
    """The sequential mode says EOPNOTSUPP, and the object stays."""
    name, expected = f"file-{size}", bytearray(content.expected(3, 0, size))
    bucket.put(key + name, bytes(expected))

    def in_the_middle():
        with open(at / name, "rb+", buffering=0) as file:
            assert os.pwrite(file.fileno(), b"changed", size // 2) == 7
        expected[size // 2:size // 2 + 7] = b"changed"

    def at_the_end():
        with open(at / name, "ab", buffering=0) as file:
            file.write(b"appended")
        expected.extend(b"appended")

    def cut():
        os.truncate(at / name, size // 2 + 100)
        del expected[size // 2 + 100:]

    for change in (in_the_middle, at_the_end, cut):
        if mode == "staged":
            change()
        else:
            with fails_with(errno.EOPNOTSUPP):
                change()
        assert bucket.get(key + name) == expected, change.__name__
    assert (at / name).read_bytes() == expected


@pytest.mark.parametrize("size", [LARGE])
def test_a_file_is_renamed_and_replaces_another(at, bucket, key, size):
    written, old, new, last = content.expected(4, 0, size), f"old-{size}", f"new-{size}", f"last-{size}"
    (at / old).write_bytes(written)
    os.rename(at / old, at / new)
    assert bucket.get(key + new) == written
    assert not bucket.has(key + old)
    bucket.put(key + last, b"replaced")
    os.rename(at / new, at / last)
    assert bucket.get(key + last) == written
    assert not bucket.has(key + new)
    assert (at / last).read_bytes() == written
    assert not [name for name in os.listdir(at) if "probe" in name], "some servers take a rename for a PUT of nothing"


@pytest.mark.parametrize("size", [LARGE])
def test_cp_copies_and_replaces_files_of_other_clients(at, bucket, key, size):
    written = content.expected(7, 0, size)
    bucket.put(f"{key}source-{size}", written)
    bucket.put(f"{key}replaced-{size}", b"what was there")
    for name in (f"new-{size}", f"replaced-{size}"):
        subprocess.run(["cp", at / f"source-{size}", at / name], check=True, timeout=120)
        assert bucket.get(key + name) == written
        assert (at / name).read_bytes() == written
    assert bucket.get(f"{key}source-{size}") == written


def test_a_copy_does_not_replace_what_another_client_stores_meanwhile(at, bucket, key, mode):
    if mode != "staged":
        return  # a sequential mount copies by reads and writes
    bucket.put(key + "source", b"ours")
    with open(at / "source", "rb") as source:
        file = os.open(at / "file", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        bucket.put(key + "file", b"theirs, longer")
        assert os.copy_file_range(source.fileno(), file, 100) == 4
        with fails_with(errno.ESTALE):
            os.close(file)
    assert bucket.get(key + "file") == b"theirs, longer"


def test_a_directory_is_made_renamed_and_removed(at, bucket, key):
    (at / "tree/below").mkdir(parents=True)
    (at / "tree/file").write_bytes(b"one")
    (at / "tree/below/file").write_bytes(b"two")
    os.rename(at / "tree", at / "moved")
    assert not (at / "tree").exists()
    assert bucket.get(key + "moved/file") + bucket.get(key + "moved/below/file") == b"onetwo"
    assert not bucket.has(key + "tree/file") and not bucket.has(key + "tree/below/file")
    with fails_with(errno.ENOTEMPTY):
        os.rmdir(at / "moved")
    os.unlink(at / "moved/file")
    os.unlink(at / "moved/below/file")
    os.rmdir(at / "moved/below")
    if (at / "moved").exists():  # one without an object of its own goes with its last file
        os.rmdir(at / "moved")
    assert os.listdir(at) == []


def test_an_object_that_another_client_stores_meanwhile_stays(at, bucket, key):
    file = os.open(at / "file", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    os.write(file, b"ours")
    bucket.put(key + "file", b"theirs, longer")
    with fails_with(errno.ESTALE):
        os.close(file)
    assert bucket.get(key + "file") == b"theirs, longer"


def test_a_name_that_another_client_has_taken_is_not_created_or_replaced(at, bucket, key):
    bucket.put(key + "taken", b"theirs")
    with fails_with(errno.EEXIST):
        os.open(at / "taken", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    assert bucket.get(key + "taken") == b"theirs"


def test_a_change_of_an_object_that_was_replaced_meanwhile_fails(at, bucket, key, mode):
    if mode != "staged":
        return  # a sequential mount changes nothing in an object
    for size in (100, LARGE):
        name, theirs = f"file-{size}", content.expected(6, 0, size + 1)
        bucket.put(key + name, content.expected(5, 0, size))
        file = os.open(at / name, os.O_RDWR)
        os.pwrite(file, b"ours", size // 2)
        bucket.put(key + name, theirs)
        with fails_with(errno.ESTALE):
            os.close(file)
        assert bucket.get(key + name) == theirs


def test_the_log_names_what_the_server_lacks(at, bucket, key, mode, behaviour, log):
    """A control: the log of a server that lacks nothing says none of it."""
    if mode != "staged":
        return
    bucket.put(key + "file", content.expected(7, 0, LARGE))
    with open(at / "file", "rb+", buffering=0) as file:
        file.write(b"changed")
    said = log.read_text()
    lacking = LACKING.get(behaviour, set())
    if behaviour == CEPH:  # releases differ in the conditions that they compare
        lacking = {line for line in (NOT_COMPARED, REFUSED) if line in said}
    assert {line for line in (NOT_COMPARED, REFUSED, NO_PART_COPY) if line in said} == lacking, said
