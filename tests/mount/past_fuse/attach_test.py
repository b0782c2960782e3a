# SPDX-License-Identifier: Apache-2.0
"""Programs that read past FUSE: the daemon's side. They get the bytes of the file that they have opened and
nothing else, whatever they send, and keep no memory when they are gone."""

import errno
import mmap
import os
import random
import select
import signal
import subprocess
import sys
import threading

import pytest
import attach_client as attach
from harness import content
from harness.mount import COMMAND_SECONDS, GET_BYTES, total
from harness.processes import eventually, unmount_lazily
from harness.units import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_admin]

BUCKET = "past"
SIZE = 40 * MIB + 4321
FILES = 3
PART = 8 * MIB
RESIDENT = 128 * MIB
CACHE = {"size": "256MiB", "resident_size": "128MiB"}
SEED = 15


def fill(target, count=FILES, size=SIZE):
    for number in range(count):
        content.write(target.root / BUCKET / f"file{number}", number, size)
    return target


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site):
    mode = {"rdma": "require", "http": "off"}[request.param]
    target = fill(shared_site.target())
    made = shared_site.mount(target, BUCKET, rdma={"mode": mode}, cache={**CACHE, "passthrough_max": "16MiB"})
    made.path = request.param
    return made


@pytest.fixture
def client(mounted):
    # All clients of this process share its limit, also one that a test has closed just now.
    eventually(lambda: held_bytes(mounted) == 0, 10, "nothing is held")
    with attach.Client(mounted / "file0") as made:
        yield made


def held_bytes(mount):
    return total(mount.stats(), "attach_held_bytes")


def read_part(reply):
    assert reply.status == attach.OK, reply
    try:
        assert os.fstat(reply.fd).st_size == reply.length
        return os.pread(reply.fd, reply.length, 0)
    finally:
        os.close(reply.fd)


def check(got, number, offset):
    wrong = content.difference(got, number, offset, len(got))
    assert not wrong, wrong


def test_all_parts_of_a_file_are_the_file(mounted, client):
    opened = client.open(mounted / "file1")
    assert (opened.status, opened.object_bytes, opened.part_bytes) == (attach.OK, SIZE, PART)
    for offset in range(0, SIZE, PART):
        part = client.ask(attach.GET, opened.ticket, offset)
        assert (part.offset, part.length) == (offset, min(PART, SIZE - offset))
        check(read_part(part), 1, offset)
        client.tell(attach.RELEASE, opened.ticket, offset)
    assert total(mounted.stats(), GET_BYTES, f'path="{mounted.path}"') >= SIZE


def test_a_part_that_is_there_is_not_fetched_again(mounted, client):
    opened = client.open(mounted / "file1")
    read_part(client.ask(attach.GET, opened.ticket, 0))
    before = total(mounted.stats(), GET_BYTES)
    check(read_part(client.ask(attach.GET, opened.ticket, 4321)), 1, 0)
    assert total(mounted.stats(), GET_BYTES) == before


def test_parts_that_are_wanted_next_are_fetched_ahead(site):
    mount = site.mount(fill(site.target()), BUCKET, cache={**CACHE, "passthrough_max": "16MiB"})
    with attach.Client(mount / "file0") as client:
        opened = client.open(mount / "file0")
        read_part(client.ask(attach.GET, opened.ticket, 0, length=PART))
        eventually(lambda: total(mount.stats(), GET_BYTES) == 2 * PART, 10, "the next part is fetched")
        client.tell(attach.PREFETCH, opened.ticket, 2 * PART, 2 * PART)
        eventually(lambda: total(mount.stats(), GET_BYTES) == 4 * PART, 10, "two more are fetched")


@pytest.mark.needs_passthrough
def test_an_object_that_is_resident_is_one_part(mounted, client):
    small = mounted / "file2"
    subprocess.run([mounted.program, "warm", mounted.point, "file2"], check=True, timeout=COMMAND_SECONDS)
    opened = client.open(small)
    assert opened.part_bytes == SIZE
    check(read_part(client.ask(attach.GET, opened.ticket, SIZE - 1)), 2, 0)
    client.tell(attach.RELEASE, opened.ticket, 0)


def test_many_clients_at_once_get_the_right_bytes(mounted):
    failures = []

    def reader(seed):
        chosen = random.Random(seed)
        with attach.Client(mounted / "file0") as client:
            for _ in range(20):
                number = chosen.randrange(2)
                opened = client.open(mounted / f"file{number}")
                offset = chosen.randrange(SIZE // PART) * PART
                part = client.ask(attach.GET, opened.ticket, offset, length=2 * PART)
                if part.status == attach.OK:
                    wrong = content.difference(read_part(part), number, offset, part.length)
                    failures.extend([wrong] if wrong else [])
                    client.tell(attach.RELEASE, opened.ticket, offset)
                elif part.status not in (attach.NO_ROOM, attach.TOO_MANY):
                    failures.append(part)
                client.tell(attach.CLOSE, opened.ticket)

    threads = [threading.Thread(target=reader, args=(SEED + i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_a_descriptor_of_a_part_cannot_be_written(mounted, client):
    opened = client.open(mounted / "file0")
    part = client.ask(attach.GET, opened.ticket, 0)
    with pytest.raises(OSError) as refused:
        os.write(part.fd, b"x")
    assert refused.value.errno == errno.EBADF
    with pytest.raises(PermissionError):
        mmap.mmap(part.fd, PART, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    with pytest.raises(OSError):
        os.ftruncate(part.fd, 0)
    check(read_part(part), 0, 0)
    # Another user cannot get a writable one through /proc either.
    part = client.ask(attach.GET, opened.ticket, 0)
    script = f"import os; os.setuid(65534); os.open('/proc/self/fd/{part.fd}', os.O_RDWR)"
    tried = subprocess.run([sys.executable, "-c", script], pass_fds=[part.fd], check=False, capture_output=True,
                           timeout=COMMAND_SECONDS)
    os.close(part.fd)
    assert b"PermissionError" in tried.stderr, tried


def test_the_file_itself_is_the_proof(mounted, client, tmp_path):
    """Descriptors that do not show that a file of this mount may be read give nothing."""
    other = tmp_path / "file"
    other.write_bytes(b"x" * PART)
    inside = mounted / "file0"
    pipe = os.pipe()
    tries = {
        "another file system": os.open(other, os.O_RDONLY),
        "O_PATH": os.open(inside, os.O_PATH),
        "a directory": os.open(mounted.point, os.O_RDONLY),
        "a pipe": pipe[0],
        "a hidden file": os.open(mounted / ".s3rdmafs" / "stats", os.O_RDONLY),
    }
    answers = {what: client.ask(attach.OPEN, fds=[fd]).status for what, fd in tries.items()}
    for fd in (*tries.values(), pipe[1]):
        os.close(fd)
    assert answers == dict.fromkeys(tries, attach.NOT_OF_MOUNT)
    assert client.ask(attach.OPEN).status == attach.BAD_REQUEST, "no descriptor at all"


def test_a_ticket_is_of_one_process(mounted, client):
    opened = client.open(mounted / "file0")
    script = (f"import sys; sys.path.insert(0, {os.path.dirname(attach.__file__)!r})\n"
              "import attach_client as attach\n"
              f"print(attach.Client({str(mounted / 'file0')!r}).ask(attach.GET, {opened.ticket!r}, 0).status)")
    told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True,
                          timeout=COMMAND_SECONDS)
    assert int(told.stdout) == attach.NO_TICKET
    assert client.ask(attach.GET, opened.ticket, 0).status == attach.OK, "the control"
    client.tell(attach.RELEASE, opened.ticket, 0)


HOSTILE = {
    "no message": lambda client, fd: client.send(b""),
    "a short one": lambda client, fd: client.send(b"x" * (attach.REQUEST.size - 1)),
    "a long one": lambda client, fd: client.send(b"x" * (attach.REQUEST.size + 1)),
    "garbage": lambda client, fd: client.send(bytes(random.Random(SEED).randbytes(attach.REQUEST.size))),
    "another version": lambda client, fd: client.tell(attach.OPEN, version=2),
    "no such kind": lambda client, fd: client.tell(0),
    "a huge kind": lambda client, fd: client.tell(2**32 - 1),
    "no ticket": lambda client, fd: client.tell(attach.GET),
    "a forged ticket": lambda client, fd: client.tell(attach.GET, (1, 2)),
    "two descriptors": lambda client, fd: client.send(attach.REQUEST.pack(1, attach.OPEN, 0, 0, 0, 0), [fd, fd]),
    "many descriptors": lambda client, fd: client.send(attach.REQUEST.pack(1, attach.OPEN, 0, 0, 0, 0), [fd] * 100),
    "a descriptor with a part": lambda client, fd: client.send(attach.REQUEST.pack(1, attach.GET, 0, 0, 0, 0), [fd]),
    "release of nothing": lambda client, fd: client.tell(attach.RELEASE, (3, 4), 2**63),
    "close of nothing": lambda client, fd: client.tell(attach.CLOSE, (3, 4)),
    "prefetch of nothing": lambda client, fd: client.tell(attach.PREFETCH, (3, 4), 2**63, 2**64 - 1),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_wrong_message_gives_nothing_and_harms_no_other_program(mounted, what):
    descriptors = mounted.descriptors()
    with attach.Client(mounted / "file0") as good:
        opened = good.open(mounted / "file0")
        fd = os.open(mounted / "file1", os.O_RDONLY)
        with attach.Client(mounted / "file0") as hostile:
            HOSTILE[what](hostile, fd)
            hostile._socket.settimeout(0.3)
            try:
                answer = hostile.receive()
            except TimeoutError:
                answer = None
            assert answer is None or answer.status not in (attach.OK,) and answer.fd == -1
        os.close(fd)
        check(read_part(good.ask(attach.GET, opened.ticket, 0)), 0, 0)
    eventually(lambda: mounted.descriptors() <= descriptors, 10, "the daemon has closed what it was sent")


def test_ranges_past_the_end_give_nothing(mounted, client):
    opened = client.open(mounted / "file0")
    for offset in (SIZE, SIZE + PART, 2**63, 2**64 - 1):
        assert client.ask(attach.GET, opened.ticket, offset).status == attach.BAD_REQUEST
    for offset, length in ((SIZE - 1, 2**64 - 1), (2**64 - 1, 2**64 - 1), (0, 2**64 - 1)):
        client.tell(attach.PREFETCH, opened.ticket, offset, length)
    check(read_part(client.ask(attach.GET, opened.ticket, SIZE - 1)), 0, SIZE // PART * PART)


def test_a_process_may_hold_a_quarter_and_no_more_until_it_releases(mounted, client):
    opened = client.open(mounted / "file0")
    held = []
    while (part := client.ask(attach.GET, opened.ticket, len(held) * PART)).status == attach.OK:
        held.append(part)
    assert part.status == attach.TOO_MANY
    assert len(held) * PART <= RESIDENT // 4 == opened.parts_max * PART
    client.tell(attach.RELEASE, opened.ticket, 0)
    assert client.ask(attach.GET, opened.ticket, len(held) * PART).status == attach.OK


def holder(path, parts):
    """A program that holds parts and waits."""
    script = (f"import sys; sys.path.insert(0, {os.path.dirname(attach.__file__)!r})\n"
              "import attach_client as attach\nimport mmap, time\n"
              f"client = attach.Client({str(path)!r}); opened = client.open({str(path)!r})\n"
              f"parts = [client.ask(attach.GET, opened.ticket, i * {PART}) for i in range({parts})]\n"
              "maps = [mmap.mmap(part.fd, part.length, prot=mmap.PROT_READ) for part in parts]\n"
              "print(sum(part.length for part in parts), flush=True); time.sleep(60)")
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


def test_a_program_that_is_killed_holds_nothing(mounted):
    before = held_bytes(mounted)
    program = holder(mounted / "file0", 3)
    assert int(program.stdout.readline()) == 3 * PART
    assert held_bytes(mounted) == before + 3 * PART
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    eventually(lambda: held_bytes(mounted) == before, 10, "nothing is held")


def test_memory_that_a_program_still_maps_is_not_used_again(site):
    """Also where it says that it has released it, and has left."""
    mount = site.mount(fill(site.target()), BUCKET, cache={"size": "128MiB", "resident_size": "64MiB",
                                                           "passthrough_max": "16MiB"})
    with attach.Client(mount / "file0") as client:
        opened = client.open(mount / "file0")
        part = client.ask(attach.GET, opened.ticket, 0)
        mapped = mmap.mmap(part.fd, part.length, prot=mmap.PROT_READ)
        os.close(part.fd)
        client.tell(attach.RELEASE, opened.ticket, 0)
    with attach.Client(mount / "file0") as client:
        for number in range(FILES):
            opened = client.open(mount / f"file{number}")
            for offset in range(0, SIZE, PART):
                check(read_part(client.ask(attach.GET, opened.ticket, offset)), number, offset)
                client.tell(attach.RELEASE, opened.ticket, offset)
    check(mapped[:], 0, 0)
    assert total(mount.stats(), "cache_object_bytes") <= 64 * MIB
    mapped.close()


def test_a_version_that_is_gone_gives_no_part(site):
    target = fill(site.target())
    mount = site.mount(target, BUCKET, cache={**CACHE, "passthrough_max": "16MiB"})
    with attach.Client(mount / "file0") as client:
        opened = client.open(mount / "file0")
        check(read_part(client.ask(attach.GET, opened.ticket, 0)), 0, 0)
        content.write(target.root / BUCKET / "file0", 7, SIZE)
        assert client.ask(attach.GET, opened.ticket, PART).status == attach.FAILED
        check(read_part(client.ask(attach.GET, opened.ticket, 0)), 0, 0)


def test_a_mount_that_may_write_refuses(site):
    target = fill(site.target(), count=1)
    mount = site.mount(target, BUCKET, write={"mode": "staged"})
    with pytest.raises(OSError) as refused:
        attach.socket_of(mount / "file0")
    assert refused.value.errno == errno.ENODATA


def test_a_mapping_outlives_the_daemon(site):
    mount = site.mount(fill(site.target()), BUCKET, cache={**CACHE, "passthrough_max": "16MiB"})
    with attach.Client(mount / "file0") as client:
        opened = client.open(mount / "file0")
        part = client.ask(attach.GET, opened.ticket, 0)
        mount.kill()
        # Threads of a dead daemon may still be ending: the last one closes its sockets.
        assert select.select([client._socket], [], [], COMMAND_SECONDS)[0]
        assert client.receive() is None
        with pytest.raises(BrokenPipeError):
            client.tell(attach.CLOSE, opened.ticket)
    unmount_lazily(mount.point)
    check(read_part(part), 0, 0)
