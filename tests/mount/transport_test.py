# SPDX-License-Identifier: Apache-2.0
"""FUSE over io_uring and over /dev/fuse: a mount uses the transport that it was told to, or is refused. Over either,
requests that wait for the network can be interrupted and abandoned, and end with the mount."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harness import content
from harness.kernel import ENABLE_URING, mount_with, setting, why_no_ring
from harness.mount import MountFailed, mount_file, total
from harness.processes import eventually, is_alive, mounts_below, stop
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

BUCKET = "data"
FILE = 16 * MIB
WAITERS = 6
DEADLINE_SECONDS = 30

needs_ring = pytest.mark.skipif(bool(why_no_ring()), reason=why_no_ring())


@pytest.fixture(params=["dev", pytest.param("uring", marks=needs_ring)])
def transport(request):
    return request.param


@pytest.fixture
def target(site):
    made = site.target()
    content.write(made.root / BUCKET / "file", 3, FILE)
    yield made
    os.kill(made.process.pid, signal.SIGCONT)


def options(transport):
    return {"rdma": {"mode": "off"}, "retry": {"deadline": f"{DEADLINE_SECONDS}s"},
            "http": {"request_timeout": f"{DEADLINE_SECONDS}s"}, "read_ahead": {"window_max": "0"},
            "cache": {"resident_size": "0"},  # every read asks the daemon
            "mount": {"transport": transport}}


def has_ring_threads(pid):
    return any((task / "comm").read_text().startswith("fuse-ring")
               for task in Path(f"/proc/{pid}/task").iterdir())


def test_requests_come_as_the_mount_file_says(site, target, transport):
    mounted = mount_with(transport, lambda: site.mount(target, BUCKET, **options(transport)))
    assert total(mounted.stats(), "fuse_transport", f'transport="{transport}"') == 1
    assert has_ring_threads(mounted.pid) == (transport == "uring")
    assert (mounted / "file").read_bytes() == content.expected(3, 0, FILE)


def workers(mounted):
    """Each thread that serves FUSE has a descriptor of the device."""
    def is_of_fuse(descriptor):
        try:
            return os.readlink(descriptor) == "/dev/fuse"
        except FileNotFoundError:  # it was closed meanwhile
            return False
    return sum(map(is_of_fuse, Path(f"/proc/{mounted.pid}/fd").iterdir()))


def read_at_once(path):
    def read(number):
        with open(path, "rb", buffering=0) as file:
            return all(os.pread(file.fileno(), 4096, (number + at * 16) * 4096) for at in range(200))
    with ThreadPoolExecutor(16) as readers:
        assert all(readers.map(read, range(16)))


def test_no_more_threads_serve_the_kernel_than_the_mount_file_says(site, target):
    def mount(threads):
        return site.mount(target, BUCKET, **{**options("dev"), "mount": {"transport": "dev", "threads": threads}}, read={"mode": "direct"})
    one, many = mount(1), mount(8)
    for mounted in (one, many):
        read_at_once(mounted / "file")
    assert workers(many) > workers(one), "the control: many requests at once begin more threads"
    assert workers(one) <= 2, "the session, and its one worker"


def test_requests_to_the_server_have_as_many_threads_as_the_mount_file_says(site, target):
    for wanted in (1, 5):
        mounted = site.mount(target, BUCKET, **{**options("dev"), "http": {"event_threads": wanted}})
        names = [(task / "comm").read_text() for task in Path(f"/proc/{mounted.pid}/task").iterdir()]
        assert sum(name.startswith("s3-event") for name in names) == wanted, names


def test_bytes_written_over_either_are_stored(site, target, transport):
    """A write is answered before its bytes are copied, and over a ring an answer gives the kernel the bytes back."""
    mounted = mount_with(transport, lambda: site.mount(target, BUCKET, write={"mode": "sequential", "buffer_size": "64MiB"},
                                                       **options(transport)))
    written = os.urandom(FILE)
    with open(mounted / "new", "wb", buffering=MIB) as file:
        file.write(written)
    assert (target.root / BUCKET / "new").read_bytes() == written


@needs_ring
def test_a_ring_that_is_switched_off_is_refused_with_what_to_do(site, target):
    with setting(ENABLE_URING, "N"), pytest.raises(MountFailed) as failed:
        site.mount(target, BUCKET, **options("uring"))
    assert failed.value.status == 32
    assert "echo Y > /sys/module/fuse/parameters/enable_uring" in failed.value.message
    assert not mounts_below(site.folder)


@needs_ring
def test_auto_mounts_where_rings_are_switched_off(site, target):
    with setting(ENABLE_URING, "N"):
        mounted = site.mount(target, BUCKET, **options("auto"))
    assert total(mounted.stats(), "fuse_transport", 'transport="dev"') == 1


def start_waiters(path):
    """Processes that each wait for other bytes of a file."""
    code = "import os, sys; f = os.open(sys.argv[1], os.O_RDONLY); os.pread(f, 4096, int(sys.argv[2]))"
    return [subprocess.Popen([sys.executable, "-c", code, path, str(number * 2 * MIB)], stderr=subprocess.DEVNULL)
            for number in range(WAITERS)]


def freeze(target):
    os.kill(target.process.pid, signal.SIGSTOP)


def await_waiting(mounted):
    eventually(lambda: total(mounted.stats(), "cache_reads_waiting") == WAITERS, 20, "every reader waits")


@pytest.fixture
def waiting(site, target, transport):
    """(mount, processes): all of them wait for a server that does not answer."""
    mounted = mount_with(transport, lambda: site.mount(target, BUCKET, **options(transport)))
    (mounted / "file").stat()
    file = os.open(mounted / "file", os.O_RDONLY)  # so that theirs need no request of the server's
    freeze(target)
    processes = start_waiters(mounted / "file")
    await_waiting(mounted)
    yield mounted, processes, file
    for process in processes:
        stop(process)


def test_a_process_that_waits_can_be_killed(waiting, target):
    mounted, processes, file = waiting
    for process in processes:
        process.kill()
    for process in processes:
        assert process.wait(DEADLINE_SECONDS / 3) == -signal.SIGKILL
    # The entries of those requests serve others now, also once the late answers have come.
    for _ in range(200):
        os.statvfs(mounted.point)
    os.kill(target.process.pid, signal.SIGCONT)
    assert os.pread(file, 4096, 9 * MIB) == content.expected(3, 9 * MIB, 4096)
    os.close(file)


def test_requests_of_others_are_answered_meanwhile(waiting, target):
    mounted, processes, file = waiting
    for _ in range(1000):
        os.stat(mounted.point)
        os.statvfs(mounted.point)
    os.kill(target.process.pid, signal.SIGCONT)
    os.close(file)
    assert [process.wait(DEADLINE_SECONDS) for process in processes] == [0] * WAITERS


def test_a_mount_told_to_end_answers_what_waits(waiting):
    mounted, processes, file = waiting
    os.kill(mounted.pid, signal.SIGTERM)
    for process in processes:
        assert process.wait(DEADLINE_SECONDS / 2) == 1, "an error, which Python dies of"
    os.close(file)
    eventually(lambda: not is_alive(mounted.pid), 20, "the daemon ends")
    assert not mounted.is_mounted()


def test_a_forced_umount_ends_what_waits_and_late_answers_do_no_harm(site, target, transport, s3rdmafs, tmp_path):
    file = mount_file(tmp_path / "forced.toml", target, BUCKET, **options(transport))
    point = tmp_path / "forced"
    point.mkdir()
    log = open(tmp_path / "forced.log", "wb")
    daemon = mount_with(transport, lambda: start_in_foreground(s3rdmafs, file, point, log))
    processes = []
    try:
        (point / "file").stat()
        held = os.open(point / "file", os.O_RDONLY)
        freeze(target)
        processes = start_waiters(point / "file")
        eventually(lambda: waiting_reads(s3rdmafs, point) == WAITERS, 20, "every reader waits")
        subprocess.run(["umount", "--force", "--lazy", point], check=True, timeout=20)
        assert [process.wait(20) for process in processes] == [1] * WAITERS
        os.kill(target.process.pid, signal.SIGCONT)  # the answers come now
        os.close(held)
        assert daemon.wait(2 * DEADLINE_SECONDS) == 0, (tmp_path / "forced.log").read_text()
    finally:
        stop(daemon)
        for process in processes:
            stop(process)
        log.close()


def start_in_foreground(s3rdmafs, file, point, log):
    daemon = subprocess.Popen([s3rdmafs, "mount", file, point, "-f"], stdin=subprocess.DEVNULL,
                              stdout=log, stderr=log)
    eventually(lambda: mounts_below(point) and os.listdir(point), 30, "it is mounted")
    return daemon


def waiting_reads(s3rdmafs, point):
    text = subprocess.run([s3rdmafs, "stats", point], check=True, timeout=20, stdout=subprocess.PIPE, text=True).stdout
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("s3rdmafs_cache_reads_waiting "))
