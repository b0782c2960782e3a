# SPDX-License-Identifier: Apache-2.0
"""One mount of several buckets: each is a directory with its own settings, and all share one memory, fairly."""

import errno
import os
import subprocess
import threading
import time

import pytest
from harness import content
from harness.mount import MountFailed, assert_nothing_held, total
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

MANY = 16
LARGE_BYTES = 256 * MIB  # all of them together are many times the cache; the files are holes
CACHE_BYTES = 256 * MIB
FAIR = 0.2


def tables(*names, **settings):
    """[[bucket]] tables, each a directory called as its bucket."""
    return [{"directory": name, "name": name, **settings} for name in names]


def error_of(call, *arguments):
    with pytest.raises(OSError) as raised:
        call(*arguments)
    return raised.value.errno


@pytest.fixture
def two(site):
    """A server with two buckets that have one key of one size, and other bytes."""
    server = site.target()
    for number, name in enumerate(("train", "val")):
        content.write(server.root / name / "images/same", number, 3 * MIB + 5)
        content.write(server.root / name / f"only-{name}", number, 100)
    return server


def test_each_bucket_is_a_directory(site, two):
    mounted = site.mount(two, None, bucket=tables("train", "val"))
    assert sorted(os.listdir(mounted.point)) == ["train", "val"]
    assert sorted(os.listdir(mounted / "train")) == ["images", "only-train"]
    for number, name in enumerate(("train", "val")):
        got = (mounted / name / "images/same").read_bytes()
        assert not content.difference(got, number, 0, 3 * MIB + 5)
    found = subprocess.run(["find", mounted.point, "-type", "f"], check=True, stdout=subprocess.PIPE, text=True)
    assert len(found.stdout.splitlines()) == 4
    numbers = {os.stat(mounted / path).st_ino for path in ("", "train", "val", "train/images", "val/images",
                                                          "train/images/same", "val/images/same")}
    assert len(numbers) == 7
    listed = {entry.name: entry.inode() for entry in os.scandir(mounted.point)}
    assert listed == {name: os.stat(mounted / name).st_ino for name in ("train", "val")}
    assert error_of(os.stat, mounted / "other") == errno.ENOENT
    assert_nothing_held(mounted)


def test_a_bucket_may_show_a_part_of_itself_under_another_name(site, two):
    mounted = site.mount(two, None, bucket=[{"directory": "pictures", "name": "train", "prefix": "images/"}])
    assert os.listdir(mounted.point) == ["pictures"]
    assert os.listdir(mounted / "pictures") == ["same"]
    assert not content.difference((mounted / "pictures/same").read_bytes(), 0, 0, 3 * MIB + 5)


def test_the_mount_point_itself_cannot_be_changed(site, two):
    mounted = site.mount(two, None, bucket=tables("train", "val", **{"write.mode": "staged"}))
    assert error_of(os.mkdir, mounted / "new") == errno.EROFS
    assert error_of(open, mounted / "new", "w") == errno.EROFS
    assert error_of(os.rmdir, mounted / "train") in (errno.EROFS, errno.ENOTEMPTY, errno.EBUSY)
    assert error_of(os.rename, mounted / "train", mounted / "other") == errno.EROFS
    (mounted / "train/new").write_text("the control")
    assert sorted(os.listdir(mounted.point)) == ["train", "val"]


def test_each_bucket_has_its_own_write_mode(site, two):
    (two.root / "log").mkdir()
    mounted = site.mount(two, None, write={"staging_dir": str(site.folder / "staging")}, bucket=[
        *tables("train"), *tables("val", **{"write.mode": "staged"}), *tables("log", **{"write.mode": "sequential"})])
    assert error_of(open, mounted / "train/new", "w") == errno.EROFS
    with open(mounted / "val/new", "wb") as file:
        file.write(b"123456")
        file.seek(2)
        file.write(b"x")
    assert (two.root / "val/new").read_bytes() == b"12x456"
    (mounted / "log/new").write_bytes(b"in order")
    assert (two.root / "log/new").read_bytes() == b"in order"
    assert (mounted / "val/new").read_bytes() == b"12x456"


def test_a_file_is_moved_between_buckets_as_between_file_systems(site, two):
    mounted = site.mount(two, None, write={"staging_dir": str(site.folder / "staging")},
                         bucket=tables("train", "val", **{"write.mode": "staged"}))
    assert error_of(os.rename, mounted / "train/only-train", mounted / "val/moved") == errno.EXDEV
    subprocess.run(["mv", mounted / "train/only-train", mounted / "val/moved"], check=True)
    assert not (two.root / "train/only-train").exists()
    assert not content.difference((two.root / "val/moved").read_bytes(), 0, 0, 100)
    subprocess.run(["cp", mounted / "train/images/same", mounted / "val/copied"], check=True)
    assert not content.difference((two.root / "val/copied").read_bytes(), 0, 0, 3 * MIB + 5)
    os.rename(mounted / "val/moved", mounted / "val/again")
    assert (two.root / "val/again").exists()


def test_each_bucket_has_its_own_server_and_keys(site, two):
    other = site.target(bucket="far")
    content.write(other.root / "far/file", 7, MIB)
    far = {"directory": "far", "name": "far", "endpoint.url": other.endpoint}
    mounted = site.mount(two, None, rdma={"mode": "prefer", "threshold": "0"}, bucket=[*tables("train"), far])
    assert not content.difference((mounted / "far/file").read_bytes(), 7, 0, MIB)
    assert not content.difference((mounted / "train/images/same").read_bytes(), 0, 0, 3 * MIB + 5)
    with pytest.raises(MountFailed, match=r"\[\[bucket\]\] far"):
        site.mount(two, None, bucket=[*tables("train"), {
            **far, "credentials.access_key_id": "WRONG", "credentials.secret_access_key": "wrong"}])


def test_warm_takes_paths_below_the_mount_point(site, two, s3rdmafs):
    mounted = site.mount(two, None, bucket=tables("train", "val"))
    subprocess.run([s3rdmafs, "warm", mounted.point, "--cached", "val/images/*"], check=True, timeout=60)
    before = total(mounted.stats(), "get_bytes_total")
    assert before >= 3 * MIB
    assert not content.difference((mounted / "val/images/same").read_bytes(), 1, 0, 3 * MIB + 5)
    assert total(mounted.stats(), "get_bytes_total") == before


def test_requests_and_bytes_are_counted_by_bucket(site, two):
    mounted = site.mount(two, None, bucket=tables("train", "val"), cache={"passthrough_max": "0"})
    (mounted / "val/images/same").read_bytes()
    stats = mounted.stats()
    assert total(stats, "get_bytes_total", 'bucket="val"') == 3 * MIB + 5
    assert total(stats, "get_bytes_total", 'bucket="train"') == 0 < total(stats, "s3_requests_total", 'bucket="train"')
    assert total(stats, "endpoint_alive") == 2, "each bucket has its own view of a server"


def doctor(s3rdmafs, file, *options):
    return subprocess.run([s3rdmafs, "doctor", *options, file], check=False, timeout=120, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def test_doctor_examines_each_bucket(site, two, s3rdmafs, tmp_path):
    tables_of = tables("train") + tables("val", **{"write.mode": "sequential"})
    result = doctor(s3rdmafs, site.mount_file(two, None, bucket=tables_of), "--report", tmp_path / "report")
    assert result.returncode in (0, 1), result.stdout
    lines = result.stdout.splitlines()
    for name in ("train", "val"):
        assert [line for line in lines if line.startswith("pass") and f" {name}: RDMA read:" in line], result.stdout
    assert sum(" mount file:" in line for line in lines) == 1
    assert [line for line in lines if " val: test object: written" in line], "the control of the next line"
    assert not list((two.root / "val").glob(".s3rdmafs-doctor/*")), "its test objects are gone"
    missing = doctor(s3rdmafs, site.mount_file(two, None, bucket=[*tables_of, *tables("missing")]))
    assert missing.returncode == 2
    failed = [line for line in missing.stdout.splitlines() if line.startswith("fail")]
    assert failed and all(" missing: " in line for line in failed), missing.stdout


def test_a_manifest_is_of_the_bucket_that_one_names(site, two, s3rdmafs, tmp_path):
    file, manifest = site.mount_file(two, None, bucket=tables("train", "val")), tmp_path / "manifest"

    def write(*options):
        return subprocess.run([s3rdmafs, "manifest", file, "-o", manifest, *options], check=False, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    assert write("--bucket", "val").returncode == 0
    shown = subprocess.run([s3rdmafs, "manifest", "--show", manifest], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "bucket: val\n" in shown and "objects: 2\n" in shown
    for options in ((), ("--bucket", "other")):
        refused = write(*options)
        assert refused.returncode == 32 and "one of train, val" in refused.stderr
    mounted = site.mount(two, None, bucket=[*tables("train"), *tables("val", **{"metadata.manifest": str(manifest)})])
    assert sorted(os.listdir(mounted / "val")) == ["images", "only-val"]


def test_staged_files_of_a_killed_mount_are_sent_to_their_own_buckets(site, two, s3rdmafs):
    mounted = site.mount(two, None, write={"staging_dir": str(site.folder / "staging")},
                         bucket=tables("train", "val", **{"write.mode": "staged"}))
    files = [open(mounted / name / "staged", "wb", buffering=0) for name in ("train", "val")]
    for name, file in zip(("train", "val"), files):
        file.write(name.encode() * 1000)
    mounted.kill()
    for file in files:
        with pytest.raises(OSError):  # of the close: its mount is gone
            file.close()
    assert not (two.root / "val/staged").exists(), "the control"
    sent = subprocess.run([s3rdmafs, "recover", "--send", mounted.file, mounted.point], check=False, timeout=60, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    assert sent.returncode == 0, sent.stdout
    for name in ("train", "val"):
        assert (two.root / name / "staged").read_bytes() == name.encode() * 1000


class Reader(threading.Thread):
    """Reads a file from its beginning on, until it is told to stop."""

    def __init__(self, path):
        super().__init__()
        self.path, self.read_bytes, self.failure = path, 0, None
        self.stopping = threading.Event()

    def run(self):
        buffer = bytearray(MIB)
        try:
            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                while not self.stopping.is_set():
                    self.read_bytes += os.preadv(descriptor, [buffer], self.read_bytes % LARGE_BYTES)
            finally:
                os.close(descriptor)
        except OSError as failure:
            self.failure = failure


def spread(got):
    """The least and the most, as parts of the mean."""
    mean = sum(got) / len(got)
    return min(got) / mean, max(got) / mean


def is_fair(got):
    least, most = spread(got)
    return least >= 1 - FAIR and most <= 1 + FAIR


def read_at_once(mounted, names, seconds):
    """The bytes of its file that each bucket's reader got while all were reading."""
    readers = [Reader(mounted / name / "large") for name in names]
    for reader in readers:
        reader.start()
    try:
        time.sleep(2)  # what the first ones fetched alone has been read
        before = [reader.read_bytes for reader in readers]
        time.sleep(seconds)
        got = [reader.read_bytes - begin for reader, begin in zip(readers, before)]
    finally:
        for reader in readers:
            reader.stopping.set()
        for reader in readers:
            reader.join(60)
    assert not [reader.failure for reader in readers if reader.failure]
    return got


def slow_server(site, names, delay):
    """Its answers come so late that the memory for read-ahead is what decides how fast a reader is, and not which of the
    readers the machine runs."""
    server = site.target("--delay", delay)
    for number, name in enumerate(names):
        content.write(server.root / name / "known", number, MIB)
        with open(server.root / name / "large", "wb") as file:
            file.truncate(LARGE_BYTES)
    return server


SMALL_CACHE = {"read": {"mode": "direct"}, "cache": {"size": f"{CACHE_BYTES // MIB}MiB", "passthrough_max": "0"}}


def test_sixteen_buckets_are_read_fairly_in_one_memory(site):
    names = [f"bucket{number:02}" for number in range(MANY)]
    mounted = site.mount(slow_server(site, names, "200ms"), None, bucket=tables(*names), **SMALL_CACHE)
    got = read_at_once(mounted, names, seconds=8)
    assert is_fair(got), "{:.2f} to {:.2f} times the mean: {}".format(*spread(got), got)
    assert mounted.memory_bytes() < CACHE_BYTES + 64 * MIB  # the cache, which is there from the start, and all else
    for number, name in enumerate(names):
        assert not content.difference((mounted / name / "known").read_bytes(), number, 0, MIB)
    assert_nothing_held(mounted)


def test_a_bucket_that_gets_less_than_the_others_shows(site):
    fast, slow = slow_server(site, ["fast1", "fast2", "fast3"], "200ms"), slow_server(site, ["slow"], "600ms")
    mounted = site.mount(fast, None, **SMALL_CACHE, bucket=[
        *tables("fast1", "fast2", "fast3"), *tables("slow", **{"endpoint.url": slow.endpoint})])
    assert not is_fair(read_at_once(mounted, ["fast1", "fast2", "fast3", "slow"], seconds=4))
