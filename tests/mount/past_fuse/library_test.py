# SPDX-License-Identifier: Apache-2.0
"""libs3rdmafs: reads past FUSE and through the mount give the same bytes, whatever becomes of the daemon, and whatever it
sends."""

import array
import errno
import os
import random
import socket
import subprocess
import sys
import threading

import attach_client as attach
import client_library as client
import pytest
from client_library import FROM_MEMORY, FROM_MOUNT
from harness import content
from harness.mount import COMMAND_SECONDS, total
from harness.processes import eventually, unmount_lazily
from harness.units import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_admin]

BUCKET = "library"
SIZE = 40 * MIB + 4321
PART = 8 * MIB
CACHE = {"size": "256MiB", "resident_size": "128MiB", "passthrough_max": "16MiB"}
SEED = 151


def place(site, mode="require", cache=CACHE, files=2, size=SIZE):
    target = site.target()
    for number in range(files):
        content.write(target.root / BUCKET / f"file{number}", number, size)
    return site.mount(target, BUCKET, rdma={"mode": mode}, cache=cache)


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site):
    return place(shared_site, {"rdma": "require", "http": "off"}[request.param])


def check(got, number, offset, length=None):
    assert length is None or len(got) == length
    wrong = content.difference(got, number, offset, len(got))
    assert not wrong, wrong


def test_random_reads_are_the_file(mounted):
    chosen = random.Random(SEED)
    with client.File(mounted / "file0") as file:
        assert file.reason is None and file.size == SIZE
        for _ in range(300):
            length = chosen.choice([1, 100, 4096, 70_000, 200_000, MIB, 3 * PART])
            offset = chosen.choice([chosen.randrange(SIZE), chosen.randrange(6) * PART - chosen.randrange(5)])
            if offset >= 0:
                check(file.read(length, offset)[0], 0, offset, max(0, min(length, SIZE - offset)))


def test_each_read_tells_from_where_it_was_served(mounted):
    with client.File(mounted / "file1") as file:
        assert file.read(MIB, 3 * PART)[1] == FROM_MEMORY
        assert file.read(4096, 3 * PART + 5)[1] == FROM_MEMORY, "it is there now"
        assert file.read(0, 0) == (b"", FROM_MEMORY) and file.read(10, SIZE) == (b"", FROM_MEMORY)


def test_a_few_small_reads_do_not_fetch_a_part(site):
    mount = place(site)
    with client.File(mount / "file0") as file:
        assert [file.read(4096, 2 * PART + at * MIB)[1] for at in range(5)] == [FROM_MOUNT] * 3 + [FROM_MEMORY] * 2
    assert total(mount.stats(), "attach_parts_total") == 1


def test_a_stream_has_its_next_parts_before_it_asks(site):
    mount = place(site)
    with client.File(mount / "file0") as file:
        for offset in range(0, SIZE, MIB):
            check(file.read(MIB, offset)[0], 0, offset)
    stats = mount.stats()
    assert total(stats, "cache_object_prefetches_total") >= 4
    assert total(stats, "attach_parts_total") == 6


def test_many_ranges_at_once(mounted):
    chosen = random.Random(SEED)
    ranges = [(chosen.randrange(200_000), chosen.randrange(SIZE)) for _ in range(40)]
    with client.File(mounted / "file0") as file:
        for (length, offset), (got, _) in zip(ranges, file.read_many(ranges), strict=True):
            check(got, 0, offset, min(length, SIZE - offset))


@pytest.mark.parametrize("offset, length", [(0, 100), (PART - 3, 10), (5, 3 * PART), (3 * PART, PART), (SIZE - 10, 100)])
def test_a_mapping_is_the_file(mounted, offset, length):
    with client.File(mounted / "file1") as file:
        mapping = file.map(offset, length)
    assert mapping.source == FROM_MEMORY
    check(client.bytes_of(mapping), 1, offset, min(length, SIZE - offset))  # also after the file is closed
    client.unmap(mapping)


def test_a_range_that_is_not_in_the_file_cannot_be_mapped(mounted):
    with client.File(mounted / "file0") as file:
        for offset, length in ((SIZE, 1), (-1, 1), (0, 0)):
            with pytest.raises(OSError) as refused:
                file.map(offset, length)
            assert refused.value.errno == errno.EINVAL


def test_a_range_larger_than_the_limit_is_mapped_through_the_mount(site):
    mount = place(site, cache={"size": "128MiB", "resident_size": "64MiB", "passthrough_max": "16MiB"})
    with client.File(mount / "file0") as file:
        mapping = file.map(0, SIZE)
        assert mapping.source == FROM_MOUNT
        check(client.bytes_of(mapping), 0, 0, SIZE)
        client.unmap(mapping)


def test_a_file_larger_than_the_limit_is_read_part_by_part(site):
    mount = place(site, cache={"size": "128MiB", "resident_size": "64MiB", "passthrough_max": "16MiB"})
    with client.File(mount / "file0") as file:
        for offset in range(0, SIZE, MIB):
            got, source = file.read(MIB, offset)
            check(got, 0, offset)
            assert source == FROM_MEMORY
        assert total(mount.stats(), "attach_held_bytes") <= 16 * MIB
    eventually(lambda: total(mount.stats(), "attach_held_bytes") == 0, 10, "a file that is closed holds nothing")


def test_the_reason_is_told_where_a_file_is_read_through_its_descriptor(mounted, tmp_path):
    plain = tmp_path / "plain"
    plain.write_bytes(b"x" * 2 * MIB)
    with client.File(plain) as file:
        assert "not on an s3rdmafs mount" in file.reason
        assert file.read(10, 5) == (b"x" * 10, FROM_MOUNT)
    small = tmp_path / "small"
    small.write_bytes(b"x")
    with client.File(small) as file:
        assert "smaller than 1 MiB" in file.reason
    with pytest.raises(FileNotFoundError):
        client.File(mounted / "none")


def test_threads_read_one_file_at_once(mounted):
    failures = []

    def reader(seed):
        chosen = random.Random(seed)
        for _ in range(100):
            offset = chosen.randrange(SIZE)
            got = file.read(chosen.choice([4096, 300_000]), offset)[0]
            wrong = content.difference(got, 0, offset, len(got))
            failures.extend([wrong] if wrong else [])

    with client.File(mounted / "file0") as file:
        threads = [threading.Thread(target=reader, args=(SEED + i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_a_child_goes_on_with_the_files_of_its_parent(mounted):
    with client.File(mounted / "file0") as file:
        file.read(MIB, 0)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                for offset in (0, 2 * PART, 4 * PART):  # one that the parent has, and others
                    got, source = file.read(MIB, offset)
                    assert source == FROM_MEMORY and not content.difference(got, 0, offset, MIB)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        got, source = file.read(MIB, 3 * PART)
        check(got, 0, 3 * PART)
        assert source == FROM_MEMORY


def test_a_read_after_the_daemon_was_killed_is_that_of_the_kernel(site):
    mount = place(site)
    with client.File(mount / "file0") as file:
        file.read(MIB, 0)
        mapping = file.map(PART, 100)
        mount.kill()
        check(file.read(MIB, 0)[0], 0, 0, MIB)
        with pytest.raises(OSError) as refused:
            file.read(MIB, 3 * PART)
        assert refused.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
        check(client.bytes_of(mapping), 0, PART, 100)
        client.unmap(mapping)
    unmount_lazily(mount.point)


class LyingDaemon:
    """Takes the place of a daemon's socket, and answers kGet as it is told."""

    def __init__(self, path, answer_get):
        self._answer_get = answer_get
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.settimeout(30)
        self.gets = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        while True:
            try:
                data, rights, _, _ = connection.recvmsg(attach.REQUEST.size, socket.CMSG_SPACE(64))
            except OSError:
                return
            for _, _, payload in rights:
                for fd in array.array("i", payload):
                    os.close(fd)
            if not data:
                return
            _, kind, *_, offset, _ = attach.REQUEST.unpack(data)
            if kind == attach.OPEN:
                connection.send(attach.REPLY.pack(1, attach.OK, 1, 2, SIZE, PART, 4, 0, 0))
            elif kind == attach.GET:
                self.gets += 1
                if not self._answer_get(connection, offset):
                    connection.close()
                    return

    def stop(self):
        self._listener.close()


def give(connection, offset, fds, status=attach.OK, version=1, length=PART, size=attach.REPLY.size):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    connection.sendmsg([attach.REPLY.pack(version, status, 0, 0, 0, 0, 0, offset, length)[:size]], rights)
    for fd in fds:
        os.close(fd)
    return True


def memory(size=PART):
    fd = os.memfd_create("lie")
    os.ftruncate(fd, size)
    return fd


LIES = {
    "leaves": lambda connection, offset: False,
    "no descriptor": lambda connection, offset: give(connection, offset, []),
    "two descriptors": lambda connection, offset: give(connection, offset, [memory(), memory()]),
    "a short file": lambda connection, offset: give(connection, offset, [memory(PART - 1)]),
    "another part": lambda connection, offset: give(connection, offset + PART, [memory()]),
    "a longer part": lambda connection, offset: give(connection, offset, [memory(2 * PART)], length=2 * PART),
    "a shorter part": lambda connection, offset: give(connection, offset, [memory()], length=PART - 1),
    "a pipe": lambda connection, offset: give(connection, offset, list(os.pipe())[:1]),
    "a directory": lambda connection, offset: give(connection, offset, [os.open("/", os.O_RDONLY)]),
    "another version": lambda connection, offset: give(connection, offset, [memory()], version=2),
    "a cut answer": lambda connection, offset: give(connection, offset, [memory()], size=20),
    "no room": lambda connection, offset: give(connection, offset, [], status=attach.NO_ROOM),
    "too many": lambda connection, offset: give(connection, offset, [], status=attach.TOO_MANY),
    "no ticket": lambda connection, offset: give(connection, offset, [], status=attach.NO_TICKET),
    "an unknown status": lambda connection, offset: give(connection, offset, [memory()], status=77),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_daemon_that_does_not_keep_to_the_messages_is_not_believed(mounted, tmp_path, lie):
    """Another process, for which the mount's own socket is not there, as in a container."""
    told = attach.socket_of(mounted / "file0")
    os.rename(told, told + ".away")
    daemon = LyingDaemon(tmp_path / "socket", LIES[lie])
    script = f"""
import os, sys
sys.path[:0] = {[str(os.path.dirname(client.__file__)), str(os.path.dirname(os.path.dirname(client.__file__)))]!r}
import client_library as client
from harness import content
with client.File({str(mounted / "file0")!r}) as file:
    assert file.reason is None, file.reason
    for offset in (0, {PART}, {PART} + 5):
        got, source = file.read({MIB}, offset)
        assert source == client.FROM_MOUNT and not content.difference(got, 0, offset, {MIB}), (source, offset)
    mapping = file.map(0, 100)
    assert mapping.source == client.FROM_MOUNT
"""
    try:
        ended = subprocess.run(
            [sys.executable, "-c", script], check=False, capture_output=True, timeout=COMMAND_SECONDS,
            env={**os.environ, "S3RDMAFS_BUILD": str(client.BUILD), "S3RDMAFS_ATTACH_SOCKET": str(tmp_path / "socket")})
        assert ended.returncode == 0, ended
        assert daemon.gets >= 1
        assert daemon.gets <= 4, "it is not asked at each read"
    finally:
        os.rename(told + ".away", told)
        daemon.stop()


def test_the_socket_may_be_at_another_path(mounted, tmp_path):
    """As in a container that has its folder mounted elsewhere. The control of the test before."""
    told = attach.socket_of(mounted / "file0")
    os.rename(told, tmp_path / "moved")
    script = f"""
import sys
sys.path[:0] = {[str(os.path.dirname(client.__file__)), str(os.path.dirname(os.path.dirname(client.__file__)))]!r}
import client_library as client
with client.File({str(mounted / "file0")!r}) as file:
    assert file.read({MIB}, 0)[1] == client.FROM_MEMORY
"""
    try:
        ended = subprocess.run(
            [sys.executable, "-c", script], check=False, capture_output=True, timeout=COMMAND_SECONDS,
            env={**os.environ, "S3RDMAFS_BUILD": str(client.BUILD), "S3RDMAFS_ATTACH_SOCKET": str(tmp_path / "moved")})
        assert ended.returncode == 0, ended
    finally:
        os.rename(tmp_path / "moved", told)
