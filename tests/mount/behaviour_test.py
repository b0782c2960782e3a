# SPDX-License-Identifier: Apache-2.0
"""Programs on a mount whose server behaves as another one does: what they read and write is right, or they
see EIO; in every rdma.mode. tests/fault/matrix_test.cc is the same without a mount, and with every fault."""

import errno
import os
import subprocess

import pytest
from harness import content
from harness.processes import eventually
from harness.servers import BEHAVIOURS

pytestmark = pytest.mark.needs_fuse

KIB, MIB = 1 << 10, 1 << 20
BUCKET = "bucket"
# The first is small enough for NooBaa to send it in the body; the last one is of several blocks.
SIZES = {"small": 2000, "middle": 300 * KIB, "large": 9 * MIB + 12345}
WRITTEN = {"written-small": 2000, "written-large": 12 * MIB + 345}
OLD, NEW = 7, 8


def attempt(action):
    """Returns the result of `action`, or the errno of its OSError, which must be EIO."""
    try:
        return action()
    except OSError as error:
        assert error.errno == errno.EIO, errno.errorcode[error.errno]
        return error.errno


def write(path, number, size):
    with open(path, "wb") as file:
        for offset in range(0, size, MIB):
            file.write(content.expected(number, offset, min(MIB, size - offset)))


def check_reads(mounted, must_work):
    for number, (name, size) in enumerate(SIZES.items()):
        for offset, length in ((0, size), (size - 100, 100), (size - 50, 100), (size, 100)):
            file = os.open(mounted / name, os.O_RDONLY)
            try:
                got = attempt(lambda: os.pread(file, length, offset))
            finally:
                os.close(file)
            wanted = max(0, min(length, size - offset))
            if isinstance(got, bytes):
                # read(2) may give less than was asked for, as it does past 1 MiB.
                assert got or not wanted
                assert not content.difference(got, number, offset, len(got))
            else:
                assert not must_work and wanted, "EIO where nothing had to be fetched, or HTTP would do"
        whole = attempt((mounted / name).read_bytes)
        assert whole == errno.EIO and not must_work or whole == content.expected(number, 0, size)
    assert (mounted / "empty").read_bytes() == b""


def check_write(target, mounted, name, size, before, must_work):
    result = attempt(lambda: write(mounted / name, NEW, size))
    stored = target.root / BUCKET / name
    now = stored.read_bytes() if stored.exists() else None
    if result is None:
        assert now == content.expected(NEW, 0, size)
        assert attempt((mounted / name).read_bytes) in (now, errno.EIO)
    else:
        assert not must_work
        assert now == before, "a write that failed changed the object"


@pytest.mark.parametrize("mode", ["require", "prefer", "off"])
@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_right_bytes_or_EIO(site, behaviour, mode):
    target = site.target("--behave-as", behaviour)
    bucket = target.root / BUCKET
    for number, (name, size) in enumerate(SIZES.items()):
        content.write(bucket / name, number, size)
    content.write(bucket / "overwritten", OLD, SIZES["middle"])
    (bucket / "empty").touch()
    mounted = site.mount(target, BUCKET, rdma={"mode": mode, "threshold": "0", **BEHAVIOURS[behaviour]},
                         write={"mode": "sequential"}, retry={"deadline": "10s" if mode == "require" else "30s"})

    must_work = mode != "require"
    check_reads(mounted, must_work)
    write(mounted / "made-empty", NEW, 0)
    # close(2) does not wait for the release that it leaves to the kernel.
    eventually((bucket / "made-empty").exists, 20, "the empty object is made")
    assert (bucket / "made-empty").read_bytes() == b""
    for name, size in WRITTEN.items():
        check_write(target, mounted, name, size, None, must_work)
    check_write(target, mounted, "overwritten", SIZES["middle"],
                content.expected(OLD, 0, SIZES["middle"]), must_work)
    unfinished = subprocess.run(["find", bucket, "-size", "0", "!", "-name", "*empty"], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
    assert not unfinished, "an empty object was left behind"


@pytest.mark.parametrize("behaviour", ["spec", "no-delimiter", "repeated-tokens"])
def test_a_listing_has_every_name_or_fails(site, behaviour):
    """A directory with names missing and no error would be copied as if it were whole."""
    target = site.target("--behave-as", behaviour)
    # More than a page of a server that repeats its tokens, in folders of folders.
    names = {f"{folder}file-{i:02}" for folder in ("", "a/", "a/b/", "c/d/") for i in range(40)}
    for name in names:
        file = target.root / BUCKET / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    mounted = site.mount(target, BUCKET, retry={"deadline": "10s"})
    # Longer than the deadline by far: only a listing without an end takes that.
    found = subprocess.run(["find", mounted.point, "-type", "f", "-printf", "%P\\n"], check=False, timeout=60,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, "LC_ALL": "C"})
    if found.returncode == 0:
        assert set(found.stdout.splitlines()) == names
    else:
        assert behaviour != "spec", found.stderr
        assert "Input/output error" in found.stderr


def test_overwritten_bytes_are_read_although_the_etag_repeats(site):
    """The server's ETag is size and second: most of these overwrites have that of what they replace."""
    target = site.target("--behave-as", "weak-etags", bucket=BUCKET)
    mounted = site.mount(target, BUCKET, write={"mode": "sequential"})
    wrong = []
    for number in range(20):
        write(mounted / "file", number, 100 * KIB)
        if (mounted / "file").read_bytes() != content.expected(number, 0, 100 * KIB):
            wrong.append(number)
    assert not wrong
