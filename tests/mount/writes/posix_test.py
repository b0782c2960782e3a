# SPDX-License-Identifier: Apache-2.0
"""metadata.posix: modes, owners, times and symbolic links as user metadata, kept by one mount and shown by another, and the
programs that need them. These are the tests of s3rdmafs-semantics(7), ATTRIBUTES."""

import errno
import json
import os
import stat
import subprocess

import pytest
from harness.mount import MountFailed, total
from harness.s3_clients import Awscli, S3fs
from harness.writing import client_of, fails_with, keeping_mount, staged

pytestmark = pytest.mark.needs_fuse

BUCKET = "posix"
PROGRAM_SECONDS = 120  # a program on a loaded machine of two cores; one that takes it has hung
LISTED = 200
LONGEST_LINK = 4095


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target()
    (target.root / BUCKET).mkdir()
    return target


@pytest.fixture
def seen(at, showing):
    """The same directory in the other mount."""
    return showing / at.name


def run(*command, cwd=None):
    result = subprocess.run([str(word) for word in command], cwd=cwd, check=False, timeout=PROGRAM_SECONDS,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, f"{command}: {result.stdout}"
    return result.stdout


def attributes(path):
    found = os.lstat(path)
    return found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns


def tree_below(top):
    """Everything below a folder: attributes and content of files, targets and owners of links (rsync does not set their
    times), names of directories."""
    found = {}
    for folder, directories, files in os.walk(top):
        for name in directories + files:
            path = os.path.join(folder, name)
            what = attributes(path)
            if stat.S_ISLNK(what[0]):
                found[os.path.relpath(path, top)] = (what[:3], os.readlink(path))
            elif stat.S_ISREG(what[0]):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, top)] = (what, file.read())
            else:
                found[os.path.relpath(path, top)] = "directory"
    return found


@pytest.fixture
def tree(tmp_path):
    """Files of many modes and times, and links to them, to nothing and to a directory."""
    top = tmp_path / "tree"
    (top / "sub/deep").mkdir(parents=True)
    for number, mode in enumerate((0o644, 0o600, 0o755, 0o444, 0o640)):
        path = top / f"sub/file{number}"
        path.write_bytes(b"x" * 1000 * number)
        path.chmod(mode)
        os.utime(path, ns=(1_000_000_000 * number, 1_600_000_000_123_456_789 + number))
    (top / "sub/deep/link").symlink_to("../file1")
    (top / "dangling").symlink_to("/no/such/file")
    (top / "to-directory").symlink_to("sub")
    return top


def test_modes_owners_and_times_are_kept_and_the_inode_stays(at, seen):
    path = at / "file"
    path.write_bytes(b"some bytes")
    number = path.stat().st_ino
    os.chown(path, 1234, 4321)
    os.chmod(path, 0o4751)
    os.utime(path, ns=(5_000_000_007, 1_600_000_000_123_456_789))
    assert path.stat().st_ino == number
    assert attributes(path) == attributes(seen / "file")
    assert attributes(path) == (stat.S_IFREG | 0o4751, 1234, 4321, 1_600_000_000_123_456_789)
    assert (seen / "file").stat().st_atime_ns == 5_000_000_007
    assert (seen / "file").read_bytes() == b"some bytes"
    os.rename(path, at / "renamed")
    assert attributes(at / "renamed") == attributes(seen / "renamed")
    assert (seen / "renamed").stat().st_uid == 1234
    with open(at / "renamed", "ab") as file:
        file.write(b"more")
    assert attributes(at / "renamed") == attributes(seen / "renamed")
    assert (seen / "renamed").stat().st_mtime > 1_700_000_000, "a write sets the time"
    assert (seen / "renamed").stat().st_uid == 1234


def test_new_files_have_the_mode_and_umask_of_their_program(at, seen):
    run("sh", "-c", "umask 027; echo x > masked; umask 0; echo x > open; mknod node p || :", cwd=at)
    assert stat.S_IMODE((seen / "masked").stat().st_mode) == 0o640
    assert stat.S_IMODE((seen / "open").stat().st_mode) == 0o666
    assert not (seen / "node").exists()


@pytest.mark.needs(Awscli.program)
def test_the_user_metadata_has_the_names_of_s3fs(at, server):
    (at / "file").write_bytes(b"x")
    os.chmod(at / "file", 0o640)
    os.utime(at / "file", (1, 2))
    os.symlink("file", at / "link")
    client = client_of(server, BUCKET)

    def metadata(name):
        return json.loads(client.run("s3api", "head-object", "--bucket", BUCKET, "--key", f"{at.name}/{name}"))["Metadata"]
    stored = metadata("file")
    assert (stored["mode"], stored["mtime"], stored["atime"]) == ("33184", "2", "1")
    assert (stored["uid"], stored["gid"]) == (str(os.getuid()), str(os.getgid()))
    assert metadata("link")["mode"] == "41471"


@pytest.mark.needs(Awscli.program)
def test_a_change_keeps_the_type_of_the_content_and_its_like(at, server, tmp_path):
    (tmp_path / "page").write_bytes(b"<p>")
    client = client_of(server, BUCKET)
    where = ["--bucket", BUCKET, "--key", f"{at.name}/page"]
    client.run("s3api", "put-object", *where, "--body", str(tmp_path / "page"), "--content-type", "text/html",
               "--content-encoding", "gzip", "--cache-control", "max-age=7", "--storage-class", "STANDARD_IA")
    for mode in (0o600, 0o604):
        os.chmod(at / "page", mode)
    found = json.loads(client.run("s3api", "head-object", *where))
    assert found["Metadata"]["mode"] == str(stat.S_IFREG | 0o604)
    assert (found["ContentType"], found["ContentEncoding"], found["CacheControl"]) == ("text/html", "gzip", "max-age=7")
    assert found["StorageClass"] == "STANDARD_IA"
    (at / "page").write_bytes(b"other")
    assert json.loads(client.run("s3api", "head-object", *where))["ContentType"] != "text/html", "the control"


@pytest.mark.needs(Awscli.program, S3fs.program)
def test_a_bucket_moves_between_s3fs_and_this(server, site, tmp_path):
    s3fs = S3fs(server, "moved", tmp_path / "s3fs")
    try:
        s3fs.make_bucket()
        theirs = s3fs.point
        (theirs / "file").write_bytes(b"theirs")
        os.chmod(theirs / "file", 0o640)
        os.chown(theirs / "file", 1234, 4321)
        os.utime(theirs / "file", (1, 1_600_000_000))
        os.symlink("file", theirs / "link")
        ours = keeping_mount(site, server, "moved")
        assert attributes(ours / "file") == (stat.S_IFREG | 0o640, 1234, 4321, 1_600_000_000 * 10**9)
        assert os.readlink(ours / "link") == "file"
        assert (ours / "link").read_bytes() == b"theirs"
        (ours / "ours").write_bytes(b"ours")
        os.chmod(ours / "ours", 0o600)
        os.symlink("ours", ours / "our-link")
        assert os.readlink(theirs / "our-link") == "ours"
        assert (theirs / "our-link").read_bytes() == b"ours"
        assert attributes(theirs / "ours")[:3] == attributes(ours / "ours")[:3]
    finally:
        s3fs.close()


def test_links_are_made_followed_renamed_and_removed(at, seen):
    (at / "folder").mkdir()
    (at / "folder/file").write_bytes(b"bytes")
    os.symlink("folder/file", at / "link")
    os.symlink("x" * LONGEST_LINK, at / "long")
    assert stat.S_ISLNK(os.lstat(at / "link").st_mode)
    for top in (at, seen):
        assert os.readlink(top / "link") == "folder/file"
        assert (top / "link").read_bytes() == b"bytes"
        assert len(os.readlink(top / "long")) == LONGEST_LINK
    (at / "link").write_bytes(b"through the link")
    assert (seen / "folder/file").read_bytes() == b"through the link"
    os.rename(at / "link", at / "moved")
    assert os.readlink(seen / "moved") == "folder/file"
    with fails_with(errno.EEXIST):
        os.symlink("x", at / "moved")
    with fails_with(errno.EINVAL):
        os.readlink(at / "folder/file")
    with os.scandir(at) as entries:
        assert {entry.name for entry in entries if entry.is_symlink()} == {"moved", "long"}
    os.lchown(at / "moved", 12, 34)
    assert os.lstat(seen / "moved").st_uid == 12
    os.unlink(at / "moved")
    assert not os.path.lexists(seen / "moved")
    assert (at / "folder/file").exists()


@pytest.mark.parametrize("copies", ["cp -a {tree}/. {at}", "tar -C {tree} --format=posix -c . | tar -C {at} -xp", "rsync -a {tree}/ {at}",
                                    "rsync -a --inplace {tree}/ {at}"], ids=lambda command: command.split()[0] + "-" + command.split()[1])
def test_trees_are_copied_with_everything(at, seen, tree, copies):
    run("sh", "-ec", copies.format(tree=tree, at=at))
    assert tree_below(at) == tree_below(tree)
    assert tree_below(seen) == tree_below(tree)
    assert run("rsync", "-aOi", "--omit-dir-times", f"{tree}/", at) == "", "a second rsync finds nothing to do"


def test_git_finds_its_files_unchanged(at, tmp_path):
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "program").write_text("#!/bin/sh\n")
    (origin / "program").chmod(0o755)
    (origin / "plain").write_text("x")
    (origin / "link").symlink_to("plain")
    who = ("-c", "user.name=n", "-c", "user.email=e")
    run("git", "init", "-q", cwd=origin)
    run("git", "add", ".", cwd=origin)
    run("git", *who, "commit", "-qm", "first", cwd=origin)
    run("git", "clone", "-q", origin, at / "clone")
    clone = at / "clone"
    assert run("git", "config", "--default", "true", "--get", "core.symlinks", cwd=clone).strip() == "true"
    assert run("git", "status", "--porcelain", cwd=clone) == ""
    assert os.readlink(clone / "link") == "plain"
    assert os.access(clone / "program", os.X_OK) and not (clone / "plain").stat().st_mode & 0o111
    (clone / "plain").chmod(0o755)
    assert run("git", "diff", "--summary", cwd=clone).strip() == "mode change 100644 => 100755 plain"


def test_a_listing_asks_once_for_each_file_and_then_not_again(server, site):
    folder = server.root / BUCKET / "listed"
    folder.mkdir()
    large = server.root / BUCKET / "large"
    large.mkdir()
    for number in range(LISTED):
        (large / f"file{number:03}").write_bytes(bytes(LONGEST_LINK + 1))
        (folder / f"file{number:03}").write_bytes(b"x")
    mounted = site.mount(server, BUCKET, metadata={"posix": "read", "ttl": "1h"})

    def heads():
        return total(mounted.stats(), "s3_requests_total", 'operation="head"')
    run("ls", mounted / "listed")
    run("find", mounted / "large", "-name", "none")
    assert heads() <= 5, "names alone need no attributes, and no link is so large"
    run("ls", "-l", mounted / "listed")
    asked = heads()
    assert LISTED <= asked <= LISTED + 5
    run("ls", "-l", mounted / "listed")
    assert heads() <= asked + 2, "all is known by now"


def test_where_it_is_off_links_are_refused_and_attributes_those_of_the_mount(server, site, at):
    (at / "file").write_bytes(b"x")
    os.chmod(at / "file", 0o600)
    os.symlink("file", at / "link")
    plain = site.mount(server, BUCKET, write=staged(site))
    assert stat.S_IMODE((plain / at.name / "file").stat().st_mode) == 0o644
    assert (plain / at.name / "link").read_bytes() == b"file", "a link is the file that it is stored as"
    with fails_with(errno.EPERM):
        os.symlink("x", plain / at.name / "other")


def test_keeping_attributes_needs_staged_files(server, site):
    with pytest.raises(MountFailed, match="metadata.posix"):
        site.mount(server, BUCKET, metadata={"posix": "write"}, write={"mode": "sequential"})
