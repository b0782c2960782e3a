# SPDX-License-Identifier: Apache-2.0
"""Steps that tests of writing share, whatever the fabric."""

import errno
import hashlib
import os
import threading

from harness import content
from harness.mount import total
from harness.processes import eventually
from harness.s3_clients import Awscli
from harness.s3_http import Bucket
from harness.units import MIB

PART = 8 * MIB


def fails_with(number):
    class Expectation:
        def __enter__(self):
            return self

        def __exit__(self, _, error, __):
            assert isinstance(error, OSError), f"{errno.errorcode[number]} was expected, got {error!r}"
            assert error.errno == number, errno.errorcode[error.errno]
            return True
    return Expectation()


def folder_for(request, mounted, bucket):
    """A directory of the mount for one test, and the same in the server's folder."""
    name = hashlib.sha1(f"{request.node.name}".encode()).hexdigest()[:12]
    (mounted / name).mkdir()
    return mounted / name, bucket / name


def staged(site):
    """Section write of a mount whose files are staged in a folder of their own."""
    number = len(os.listdir(site.folder))
    return {"mode": "staged", "buffer_size": "64MiB", "staging_dir": str(site.folder / f"staging{number}")}


def keeping_mount(site, server, bucket):
    """A mount that keeps attributes."""
    return site.mount(server, bucket, metadata={"posix": "write"}, write=staged(site))


def showing_mount(site, server, bucket):
    """One that only reads, and shows what is stored."""
    return site.mount(server, bucket, metadata={"posix": "read", "ttl": "0s", "negative_ttl": "0s"})


def folder_of(request, mounted):
    """A directory of the mount with the test's name."""
    path = mounted / "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    path.mkdir()
    return path


def client_of(target, bucket):
    return Awscli(target, bucket, target.root.parent / f"aws{len(os.listdir(target.root.parent))}")


def uploads_of(client, prefix="", what="Key"):
    """The keys, or ids, of uploads that were begun and not ended."""
    server = client.server
    return Bucket(server.endpoint, client.bucket, server.access_key, server.secret_key).uploads(prefix, what)


def assert_copied(folder, count, size_of):
    """The folder's file000, file001, ... are what the tests write: each has its number's content and size."""
    for number in range(count):
        with open(folder / f"file{number:03}", "rb") as file:
            for offset in range(0, size_of(number), PART):
                length = min(PART, size_of(number) - offset)
                assert not content.difference(file.read(length), number, offset, length)
            assert not file.read(1)


def kill_in_mid_write(target, mounted, bucket, path):
    """Kills the target while a new file and an overwrite are under way, and parts of them went by this path: both
    writers hear of it at close, and once it is back nothing of either is left. The mount's retry.deadline should be
    short."""
    stored = target.root / bucket
    (mounted / "before").write_bytes(b"whole")
    (mounted / "replaced").write_bytes(b"old version")
    errors = []

    def write_until_told(name):
        file = os.open(mounted / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        written = 0
        try:
            while not stopping.is_set():
                written += os.write(file, content.expected(1, written, MIB))
                begun[name].set() if written > 3 * PART else None
        except OSError:
            pass
        try:
            os.close(file)
        except OSError as error:
            errors.append((name, error.errno))

    stopping = threading.Event()
    begun = {name: threading.Event() for name in ("new", "replaced")}
    writers = [threading.Thread(target=write_until_told, args=(name,)) for name in begun]
    for writer in writers:
        writer.start()
    for event in begun.values():
        assert event.wait(60)
    eventually(lambda: total(mounted.stats(), "upload_bytes_total", f'path="{path}"') > 2 * PART, 60,
               f"two parts went by {path}")
    target.kill()
    stopping.set()
    for writer in writers:
        writer.join(60)
        assert not writer.is_alive(), "a writer hangs"
    assert sorted(errors) == [("new", errno.EIO), ("replaced", errno.EIO)]

    target.start()
    client = client_of(target, bucket)
    eventually(lambda: not uploads_of(client), 60, "the mount aborts its uploads when the server is back")
    assert not (stored / "new").exists()
    assert (stored / "replaced").read_bytes() == b"old version"
    eventually(lambda: total(mounted.stats(), "upload_quarantined_bytes") == 0, 60, "the buffers are safe again")
    assert sorted(os.listdir(mounted.point)) == ["before", "replaced"]
    (mounted / "new").write_bytes(content.expected(5, 0, 3 * PART))
    assert not content.difference((stored / "new").read_bytes(), 5, 0, 3 * PART)
