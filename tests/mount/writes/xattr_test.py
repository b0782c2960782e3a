# SPDX-License-Identifier: Apache-2.0
"""Extended attributes: those of programs in user metadata, as s3fs keeps them, and those that tell of the object. These are the
tests of s3rdmafs-semantics(7), EXTENDED ATTRIBUTES."""

import errno
import json
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest
from harness.mount import total
from harness.s3_clients import Awscli, S3fs
from harness.writing import client_of, fails_with, keeping_mount, staged

pytestmark = pytest.mark.needs_fuse

BUCKET = "xattr"
PROGRAM_SECONDS = 60  # a program on a loaded machine of two cores; one that takes it has hung
BYTES = bytes(range(256))
WRITES = 1000
FILES = 100


@pytest.fixture(scope="module")
def server(shared_site):
    return shared_site.target(bucket=BUCKET)


@pytest.fixture
def file(at):
    (at / "file").write_bytes(b"some bytes")
    return at / "file"


def run(*command):
    result = subprocess.run([str(word) for word in command], check=False, timeout=PROGRAM_SECONDS, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, f"{command}: {result.stdout}"
    return result.stdout


def heads(mounted):
    return total(mounted.stats(), "s3_requests_total", 'operation="head"')


def test_attributes_are_set_listed_read_and_removed(at, file, showing):
    number = file.stat().st_ino
    os.setxattr(file, "user.one", BYTES)
    os.setxattr(file, "user.empty", b"")
    for shown in (file, showing / at.name / "file"):
        assert sorted(os.listxattr(shown)) == ["user.empty", "user.one"]
        assert os.getxattr(shown, "user.one") == BYTES
        assert os.getxattr(shown, "user.empty") == b""
    with fails_with(errno.EEXIST):
        os.setxattr(file, "user.one", b"", os.XATTR_CREATE)
    with fails_with(errno.ENODATA):
        os.setxattr(file, "user.two", b"", os.XATTR_REPLACE)
    os.rename(file, at / "renamed")
    assert os.getxattr(at / "renamed", "user.one") == BYTES
    os.removexattr(at / "renamed", "user.one")
    with fails_with(errno.ENODATA):
        os.getxattr(at / "renamed", "user.one")
    with fails_with(errno.ENODATA):
        os.removexattr(at / "renamed", "user.one")
    assert os.listxattr(at / "renamed") == ["user.empty"]
    assert (at / "renamed").read_bytes() == b"some bytes"
    assert (at / "renamed").stat().st_ino == number


def test_those_of_an_open_file_are_stored_at_its_close(at, server):
    with open(at / "file", "wb") as opened:
        opened.write(b"bytes")
        os.setxattr(opened.fileno(), "user.one", b"1")
        assert os.getxattr(at / "file", "user.one") == b"1"
        assert not (server.root / BUCKET / at.name / "file").exists()
    assert os.getxattr(at / "file", "user.one") == b"1"
    with open(at / "file", "ab") as opened:
        opened.write(b"more")
    assert os.getxattr(at / "file", "user.one") == b"1", "a write keeps it"


def test_programs_copy_them(at, file, tmp_path):
    os.setxattr(file, "user.one", BYTES)
    run("cp", "--preserve=xattr", file, at / "copied")
    run("rsync", "-X", file, at / "synced")
    run("cp", "-a", file, tmp_path)
    for copy in (at / "copied", at / "synced"):
        assert os.getxattr(copy, "user.one") == BYTES
        assert os.listxattr(copy) == ["user.one"]
    assert 'user.one' in run("getfattr", file)


@pytest.mark.needs(Awscli.program, S3fs.program)
def test_a_bucket_moves_between_s3fs_and_this(server, site, tmp_path):
    s3fs = S3fs(server, "moved", tmp_path / "s3fs")
    try:
        s3fs.make_bucket()
        theirs = s3fs.point
        (theirs / "theirs").write_bytes(b"x")
        os.setxattr(theirs / "theirs", "user.one", b"one")
        os.setxattr(theirs / "theirs", "user.two", BYTES)
        ours = keeping_mount(site, server, "moved")
        assert sorted(os.listxattr(ours / "theirs")) == ["user.one", "user.two"]
        assert os.getxattr(ours / "theirs", "user.two") == BYTES
        (ours / "ours").write_bytes(b"x")
        os.setxattr(ours / "ours", "user.one", b"one")
        os.setxattr(ours / "ours", "user.two", BYTES)
        assert sorted(os.listxattr(theirs / "ours")) == ["user.one", "user.two"]
        assert os.getxattr(theirs / "ours", "user.two") == BYTES
    finally:
        s3fs.close()


@pytest.mark.needs(Awscli.program)
def test_the_object_is_told(at, file, server, site, tmp_path):
    client = client_of(server, BUCKET)
    key = f"{at.name}/file"
    told = json.loads(client.run("s3api", "head-object", "--bucket", BUCKET, "--key", key))
    assert os.getxattr(file, "s3.etag").decode() == told["ETag"]
    assert os.getxattr(file, "s3.url").decode() == f"{server.endpoint}/{BUCKET}/{key}"
    assert re.fullmatch("crc64nvme:[A-Za-z0-9+/]{11}=", os.getxattr(file, "s3.checksum").decode())
    with fails_with(errno.ENODATA):
        os.getxattr(file, "s3.version")  # the bucket has no versions
    (tmp_path / "cold").write_bytes(b"x")
    client.run("s3api", "put-object", "--bucket", BUCKET, "--key", f"{at.name}/cold", "--body", str(tmp_path / "cold"),
               "--storage-class", "STANDARD_IA")
    assert os.getxattr(at / "cold", "s3.storage_class") == b"STANDARD_IA"
    assert os.listxattr(file) == [], "they are not listed, so that cp -a does not copy them"
    with fails_with(errno.EPERM):
        os.setxattr(file, "s3.etag", b"x")
    plain = site.mount(server, BUCKET)
    assert os.getxattr(plain / key, "s3.etag").decode() == told["ETag"], "also where metadata.posix is off"


def test_they_are_refused_where_they_are_not_kept(at, file, server, site):
    with fails_with(errno.EOPNOTSUPP):
        os.setxattr(at, "user.one", b"1")
    assert os.listxattr(at) == []
    for name in ("trusted.one", "security.one", "system.posix_acl_access"):
        with fails_with(errno.EOPNOTSUPP):
            os.setxattr(file, name, b"\2\0\0\0")
    with fails_with(errno.ENOSPC):
        os.setxattr(file, "user.large", bytes(2048))
    os.setxattr(file, "user.one", b"1")
    off = site.mount(server, BUCKET, write=staged(site))
    with fails_with(errno.EOPNOTSUPP):
        os.setxattr(off / at.name / "file", "user.one", b"2")
    assert os.listxattr(off / at.name / "file") == []


def test_a_listing_asks_for_none(at, keeping, server):
    for number in range(FILES):
        (server.root / BUCKET / at.name / f"f{number}").write_bytes(b"x")
    run("ls", "-l", at)
    asked = heads(keeping)
    assert len(run("ls", "-l", at).splitlines()) == FILES + 1
    assert heads(keeping) - asked <= 2
    # Control: one of each would be a request for each.
    assert len([name for name in os.listdir(at) if not os.listxattr(at / name)]) == FILES
    assert heads(keeping) - asked >= FILES


def test_the_kernel_does_not_ask_for_one_before_each_write(file, keeping):
    def reads_of_the_daemon():
        text = Path(f"/proc/{keeping.pid}/io").read_text()
        return int(next(line.split()[1] for line in text.splitlines() if line.startswith("syscr")))
    with open(file, "r+b", buffering=0) as opened:
        before = reads_of_the_daemon()
        for number in range(WRITES):
            opened.write(number.to_bytes(8, "big"))
        assert WRITES <= reads_of_the_daemon() - before < WRITES * 1.5, "one request for each write"


def test_a_write_takes_the_set_user_id_bit_away(at, file, showing):
    os.chmod(file, 0o6755)
    with open(file, "r+b") as opened:
        opened.write(b"x")
    assert stat.S_IMODE((showing / at.name / "file").stat().st_mode) == 0o755
    os.chmod(file, 0o4755)
    assert stat.S_IMODE((showing / at.name / "file").stat().st_mode) == 0o4755, "the control"
    os.truncate(file, 1)
    assert stat.S_IMODE((showing / at.name / "file").stat().st_mode) == 0o755
