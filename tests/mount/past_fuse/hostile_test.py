# SPDX-License-Identifier: Apache-2.0
"""A hostile program gets no byte that it may not read. Meanwhile others read on, and the daemon is as before when
it has left."""

import contextlib
import multiprocessing
import os
import resource
import shutil
import socket
import subprocess
import threading
import time

import attach_client as attach
import pytest
from harness import content
from harness.mount import COMMAND_SECONDS, total
from harness.processes import bytes_read, eventually, past_fuse
from harness.units import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_admin]

BUCKET = "hostile"
SIZE = 40 * MIB + 4321
PART = 8 * MIB
CACHE = {"size": "256MiB", "resident_size": "128MiB", "passthrough_max": "16MiB"}
TICKETS_MAX = 4096
CONNECTIONS_MAX = 1024
NOBODY = 65534


def fill(target):
    for number in range(2):
        content.write(target.root / BUCKET / f"file{number}", number, SIZE)
    return target


@pytest.fixture(scope="module")
def mounted(shared_site):
    return shared_site.mount(fill(shared_site.target()), BUCKET, cache=CACHE)


def read_part(reply):
    assert reply.status == attach.OK, reply
    with open(reply.fd, "rb") as part:
        return part.read()


def descriptors_sent(mounted):
    """Those of files of a mount that the daemon has."""
    found = 0
    for number in os.listdir(f"/proc/{mounted.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found += os.readlink(f"/proc/{mounted.pid}/fd/{number}").endswith(("/file0", "/file1"))
    return found


def by_another_program(mounted, hostile):
    """Runs hostile(), whose assertions count. Meanwhile this program reads, and afterwards the daemon holds nothing."""
    with attach.Client(mounted / "file0") as good:
        opened = good.open(mounted / "file0")
        program = multiprocessing.get_context("fork").Process(target=hostile, daemon=True)
        program.start()
        reads, end = 0, time.monotonic() + COMMAND_SECONDS
        while program.is_alive() or reads < 3:
            assert time.monotonic() < end, f"{reads} reads"
            part = good.ask(attach.GET, opened.ticket, reads % 3 * PART)
            if part.status == attach.NO_ROOM:  # programs together have half of the memory: it is read through the mount
                continue
            assert not content.difference(read_part(part), 0, reads % 3 * PART, PART)
            good.tell(attach.RELEASE, opened.ticket, reads % 3 * PART)
            reads += 1
        program.join()
        assert program.exitcode == 0
    eventually(lambda: total(mounted.stats(), "attach_held_bytes") == 0, 20, "nothing is held")
    eventually(lambda: descriptors_sent(mounted) == 0, 20, "the daemon has closed what it was sent")


def test_a_file_of_another_mount_proves_nothing(mounted, site):
    """Also where it has the same inode, of the same bucket."""
    other = site.mount(fill(site.target()), BUCKET, cache=CACHE)

    def hostile():
        with attach.Client(mounted / "file0") as client:
            fd = os.open(other / "file0", os.O_RDONLY)
            assert client.ask(attach.OPEN, fds=[fd]).status == attach.NOT_OF_MOUNT
            os.close(fd)
            assert client.open(mounted / "file0").status == attach.OK, "the control"

    by_another_program(mounted, hostile)


def test_thousands_of_tickets_are_refused(mounted):
    def hostile():
        with attach.Client(mounted / "file0") as client:
            fd = os.open(mounted / "file1", os.O_RDONLY)
            statuses = [client.ask(attach.OPEN, fds=[fd]).status for _ in range(TICKETS_MAX + 10)]
            os.close(fd)
            assert statuses == [attach.OK] * TICKETS_MAX + [attach.NO_ROOM] * 10

    by_another_program(mounted, hostile)


def connect_often(path, user, is_done):
    """As a user who may not even read the files."""
    count = CONNECTIONS_MAX + 50
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * count), hard))
    os.setuid(user)
    kept = []
    for _ in range(count):
        kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        kept[-1].connect(path)
    is_done.set()
    time.sleep(COMMAND_SECONDS)


@pytest.mark.parametrize("user, past", [(NOBODY, SIZE), (0, 0)], ids=["another user", "the same user"])
def test_a_user_has_half_of_the_connections_and_a_program_beyond_that_reads_through_the_mount(mounted, tmp_path, user, past):
    report = tmp_path / "report"
    fork = multiprocessing.get_context("fork")
    is_done = fork.Event()
    hostile = fork.Process(target=connect_often, args=(attach.socket_of(mounted / "file0"), user, is_done))
    hostile.start()
    try:
        assert is_done.wait(COMMAND_SECONDS)
        got = subprocess.run(["cat", mounted / "file0"], check=True, stdout=subprocess.PIPE, timeout=COMMAND_SECONDS,
                             env=past_fuse(report)).stdout
        assert not content.difference(got, 0, 0, SIZE)
        assert bytes_read(report)[0] == past
    finally:
        hostile.kill()
        hostile.join()
    with attach.Client(mounted / "file0") as client:
        assert client.open(mounted / "file0").status == attach.OK, "there is room again"


def test_a_program_that_takes_no_answers_does_not_hold_up_others(mounted):
    def hostile():
        with attach.Client(mounted / "file0") as client:
            opened = client.open(mounted / "file1")
            client._socket.settimeout(0.2)
            with contextlib.suppress(TimeoutError, BrokenPipeError, ConnectionResetError):
                for number in range(2000):
                    client.tell(attach.GET, opened.ticket, number % (SIZE // PART) * PART)

    by_another_program(mounted, hostile)


def test_descriptors_that_are_never_received_are_closed(mounted):
    """Messages that wait when their sender ends the connection."""
    def hostile():
        fd = os.open(mounted / "file1", os.O_RDONLY)
        for _ in range(100):
            with attach.Client(mounted / "file0") as client, contextlib.suppress(OSError):
                for _ in range(5):
                    client.send(attach.REQUEST.pack(1, attach.OPEN, 0, 0, 0, 0), [fd])

    by_another_program(mounted, hostile)


def test_a_program_that_leaves_before_its_answer_holds_nothing(mounted):
    def hostile():
        for number in range(200):
            with attach.Client(mounted / "file0") as client:
                opened = client.open(mounted / "file1")
                client.tell(attach.GET, opened.ticket, number % (SIZE // PART) * PART, SIZE)

    by_another_program(mounted, hostile)


def test_a_part_of_an_object_that_is_replaced_meanwhile_is_of_the_version_that_was_opened(site):
    """An object that becomes shorter, again and again: no part is shorter than it was said to be."""
    target = fill(site.target())
    mount = site.mount(target, BUCKET, cache=CACHE, metadata={"ttl": "0s"})
    path = target.root / BUCKET / "file0"
    versions = {SIZE: 0, SIZE // 2: 1}
    copies = {}
    for size, number in versions.items():
        copies[size] = target.root / f"copy{number}"
        content.write(copies[size], number, size)
    ended = threading.Event()

    def replace():
        while not ended.is_set():
            for copy in copies.values():
                shutil.copyfile(copy, target.root / "next")
                os.replace(target.root / "next", path)
                time.sleep(0.01)

    given = {size: 0 for size in versions}
    replacing = threading.Thread(target=replace)
    replacing.start()
    try:
        with attach.Client(mount / "file0") as client:
            end = time.monotonic() + 5
            while time.monotonic() < end or not any(given.values()):
                assert time.monotonic() < end + 60, given
                with contextlib.suppress(OSError):  # the kernel's open meets a version that is gone
                    opened = client.open(mount / "file0")
                    for offset in range(0, opened.object_bytes, PART):
                        part = client.ask(attach.GET, opened.ticket, offset)
                        if part.status == attach.OK:
                            got = read_part(part)
                            assert len(got) == part.length == min(PART, opened.object_bytes - offset)
                            assert not content.difference(got, versions[opened.object_bytes], offset, part.length)
                            given[opened.object_bytes] += 1
                            client.tell(attach.RELEASE, opened.ticket, offset)
                        else:
                            assert part.status in (attach.FAILED, attach.NO_ROOM), part
                    client.tell(attach.CLOSE, opened.ticket)
    finally:
        ended.set()
        replacing.join()
    assert mount.is_mounted()
