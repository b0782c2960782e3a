# SPDX-License-Identifier: Apache-2.0
"""A mount over two servers of the same folder: both are used, either may die or be slow."""

import subprocess
import threading

import pytest
from harness import content
from harness.mount import total
from harness.processes import eventually
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

BUCKET = "shared"
FILES = 12
FILE_BYTES = 8 * MIB


def two_servers(site, *options_of_the_second):
    first = site.target()
    second = site.target_beside(first, *options_of_the_second)
    for number in range(FILES):
        content.write(first.root / BUCKET / f"file{number}", number, FILE_BYTES)
    return first, second


def mount_both(site, first, second, /, mode="prefer", hedge=True, **sections):
    """The cache holds a fraction of the data, and memory changes hands all the time."""
    return site.mount(
        first, BUCKET, endpoint={"url": "", "urls": [first.endpoint, second.endpoint], "hedge": hedge},
        rdma={"mode": mode, "threshold": "0"}, cache={"size": "64MiB", "passthrough_max": "0"},
        read_ahead={"window_max": "4MiB"}, metadata={"ttl": "1h"}, **sections)


def of(mounted, name, server):
    return total(mounted.stats(), name, f'endpoint="{server.endpoint}"')


def read_all(mounted):
    for number in range(FILES):
        assert not content.difference((mounted / f"file{number}").read_bytes(), number, 0, FILE_BYTES)


class Reader(threading.Thread):
    """Reads and compares every file over and over until it is told to stop."""

    def __init__(self, mounted):
        super().__init__()
        self.mounted, self.rounds, self.failure = mounted, 0, None
        self.stopping = threading.Event()

    def run(self):
        try:
            while not self.stopping.is_set():
                read_all(self.mounted)
                self.rounds += 1
        except (OSError, AssertionError) as failure:
            self.failure = failure

    def go_on(self, why, rounds=1):
        wanted = self.rounds + rounds
        eventually(lambda: self.failure or self.rounds >= wanted, 60, why)
        assert not self.failure, self.failure


@pytest.fixture
def read_meanwhile():
    readers = []

    def start(mounted):
        readers.append(Reader(mounted))
        readers[-1].start()
        return readers[-1]

    yield start
    for reader in readers:
        reader.stopping.set()
        reader.join(60)


@pytest.mark.parametrize("mode", ["require", "off"])
def test_requests_are_spread_about_evenly(site, mode):
    first, second = two_servers(site)
    mounted = mount_both(site, first, second, mode=mode)
    read_all(mounted)
    read_all(mounted)
    counts = [of(mounted, "endpoint_requests_total", server) for server in (first, second)]
    assert min(counts) > max(counts) / 2, counts
    assert [of(mounted, "endpoint_outstanding_bytes", server) >= 0 for server in (first, second)] == [True, True]
    by = {"require": "rdma", "off": "http"}[mode]
    assert total(mounted.stats(), "get_bytes_total", f'path="{by}"') >= FILES * FILE_BYTES


@pytest.mark.parametrize("mode", ["prefer", "off"])
def test_a_server_that_dies_is_done_without_and_used_again_when_it_is_back(site, read_meanwhile, mode):
    first, second = two_servers(site)
    mounted = mount_both(site, first, second, mode=mode)
    reader = read_meanwhile(mounted)
    reader.go_on("it reads")

    second.kill()
    eventually(lambda: of(mounted, "endpoint_alive", second) == 0, 30, "the mount notices")
    reader.go_on("it reads on without an error", rounds=2)

    second.start()
    eventually(lambda: of(mounted, "endpoint_alive", second) == 1, 60, "the mount notices that it is back")
    before = of(mounted, "endpoint_requests_total", second)
    reader.go_on("it goes on", rounds=2)
    assert of(mounted, "endpoint_requests_total", second) > before + FILES


def test_without_any_server_reads_fail(site):
    """The control of the one above."""
    first, second = two_servers(site)
    mounted = mount_both(site, first, second, retry={"deadline": "10s"})
    read_all(mounted)
    first.kill()
    second.kill()
    with pytest.raises(OSError):
        read_all(mounted)


@pytest.mark.parametrize("hedge", [True, False])
def test_a_read_that_one_is_slow_with_goes_to_the_other_and_no_late_byte_shows(site, hedge):
    """Every twentieth transfer of the second is late by far; its bytes still come, into memory that the mount
    must not have used for anything else by then."""
    first, second = two_servers(site, "--fault", "delay-transfer:1500ms@get@/20")
    mounted = mount_both(site, first, second, mode="require", hedge=hedge)
    for _ in range(8 if hedge else 3):
        read_all(mounted)
    given_up = of(mounted, "endpoint_reads_given_up_total", second)
    reads = total(mounted.stats(), "s3_requests_total", 'operation="get"')
    if hedge:
        assert 1 <= given_up <= 0.02 * reads + 1, (given_up, reads)
        assert total(mounted.stats(), "cache_quarantines_total") >= 1
    else:
        assert given_up == 0, "the control"
    assert of(mounted, "endpoint_reads_given_up_total", first) <= 0.02 * reads + 1


def test_doctor_and_stats_name_every_server(site, s3rdmafs):
    def doctor():
        return subprocess.run([s3rdmafs, "doctor", mounted.file], check=False, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    first, second = two_servers(site)
    mounted = mount_both(site, first, second)
    for server in (first, second):
        assert of(mounted, "endpoint_alive", server) == 1
    report = doctor()
    assert report.returncode == 0, report.stdout
    second.kill()
    worse = doctor()
    assert worse.returncode == 1, worse.stdout
    for server in (first, second):
        assert server.endpoint in report.stdout, report.stdout
        assert server.endpoint in worse.stdout, worse.stdout
    assert "no connection" not in report.stdout and "no connection" in worse.stdout, worse.stdout


@pytest.mark.parametrize("mode", ["require", "off"])
def test_the_parts_of_a_file_go_to_both_and_writing_goes_on_without_one(site, mode):
    first, second = two_servers(site)
    mounted = mount_both(site, first, second, mode=mode, write={"mode": "sequential"})
    content.write(mounted / "new", 100, 5 * FILE_BYTES)
    assert not content.difference((first.root / BUCKET / "new").read_bytes(), 100, 0, 5 * FILE_BYTES)
    for server in (first, second):
        assert of(mounted, "endpoint_requests_total", server) >= 2
    second.kill()
    for number in range(3):
        content.write(mounted / f"newer{number}", 101 + number, (2 * number + 1) * FILE_BYTES // 2)
        written = (first.root / BUCKET / f"newer{number}").read_bytes()
        assert not content.difference(written, 101 + number, 0, (2 * number + 1) * FILE_BYTES // 2)
