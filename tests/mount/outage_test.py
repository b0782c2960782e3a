# SPDX-License-Identifier: Apache-2.0
"""The server dies while programs read: each read ends with EIO within its deadline, none hangs; when the
server is back, the same mount reads again."""

import errno
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import content
from harness.kernel import mount_with
from harness.mount import GET_BYTES, assert_nothing_held, total
from harness.processes import eventually
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

BUCKET = "outage"
SIZE = 96 * MIB
DEADLINE_SECONDS = 4
# A loaded machine of two cores takes this long after the deadline to run the reader again.
SLACK_SECONDS = 6
READERS = 8


@pytest.fixture(params=[("rdma", "dev"), ("http", "dev"), ("rdma", "uring")], ids="-".join)
def place(request, site):
    """(target, mount): the cache holds a fraction of the data, so that reads need the server."""
    target = site.target()
    for number in range(READERS):
        content.write(target.root / BUCKET / f"file{number}", number, SIZE // READERS)
    path, transport = request.param
    mode = {"rdma": "prefer", "http": "off"}[path]
    mounted = mount_with(transport, lambda: site.mount(
        target, BUCKET, rdma={"mode": mode}, cache={"size": "64MiB"}, read_ahead={"window_max": "0"},
        retry={"deadline": f"{DEADLINE_SECONDS}s"}, metadata={"ttl": "1h"}, mount={"transport": transport}))
    mounted.path = path
    return target, mounted


class Reader(threading.Thread):
    """Reads a file over and over until it is told to stop; keeps what each failed read said and took."""

    def __init__(self, path, number):
        super().__init__()
        self.path, self.number = path, number
        self.stopping = threading.Event()
        self.good = 0
        self.short = 0
        self.errors = []  # (errno, seconds)
        self.wrong = []

    def run(self):
        file = os.open(self.path, os.O_RDONLY)
        offset, size = 0, SIZE // READERS
        while not self.stopping.is_set():
            begin = time.monotonic()
            try:
                got = os.pread(file, MIB, offset)
            except OSError as error:
                self.errors.append((error.errno, time.monotonic() - begin))
            else:
                # A buffer that is not page-aligned makes one read two requests; where the second one fails,
                # read(2) gives the first one's bytes. Those must be right, and the next read tells the error.
                wanted = min(MIB, size - offset)
                self.good += len(got) == wanted
                self.short += len(got) < wanted
                if why := content.difference(got, self.number, offset, len(got)):
                    self.wrong.append(why)
            offset = (offset + 5 * MIB) % size
        os.close(file)


def await_good_reads(readers, why):
    before = [reader.good for reader in readers]
    eventually(lambda: all(reader.good > good + 20 for reader, good in zip(readers, before)), 60, why)


@pytest.fixture
def readers(place):
    _, mounted = place
    threads = [Reader(mounted / f"file{number}", number) for number in range(READERS)]
    for thread in threads:
        thread.start()
    yield threads
    for thread in threads:
        thread.stopping.set()
    for thread in threads:
        thread.join(DEADLINE_SECONDS + SLACK_SECONDS)
    assert not any(thread.is_alive() for thread in threads), "a read hangs"


def test_reads_fail_with_EIO_in_time_and_work_again_without_a_remount(place, readers):
    target, mounted = place
    eventually(lambda: all(reader.good > 3 for reader in readers), 30, "every reader reads")

    target.kill()
    eventually(lambda: any(reader.errors for reader in readers), 30, "a read notices that the server is gone")
    eventually(lambda: sum(bool(reader.errors) for reader in readers) == READERS, 60, "every reader notices")
    for reader in readers:
        for number, seconds in reader.errors:
            assert number == errno.EIO, errno.errorcode[number]
            assert seconds < DEADLINE_SECONDS + SLACK_SECONDS, f"a read took {seconds:.1f} s to fail"

    target.start()
    failed = [len(reader.errors) for reader in readers]
    await_good_reads(readers, "every reader reads again, through the handle it had open")
    short = [reader.short for reader in readers]
    await_good_reads(readers, "and goes on")
    assert [reader.short for reader in readers] == short, "only the outage cut reads short"
    assert not any(reader.wrong for reader in readers), [reader.wrong for reader in readers]
    assert mounted.is_mounted()
    assert any(failed), "the control: the outage was felt"


def test_rdma_comes_back_with_the_server(place):
    target, mounted = place
    if mounted.path != "rdma":
        assert total(mounted.stats(), GET_BYTES, 'path="rdma"') == 0, "the control: HTTP stays HTTP"
        return
    (mounted / "file0").read_bytes()
    target.kill()
    with pytest.raises(OSError):
        for number in range(1, READERS):
            (mounted / f"file{number}").read_bytes()
    target.start()

    by_rdma = total(mounted.stats(), GET_BYTES, 'path="rdma"')

    def comes_by_rdma():
        for number in range(READERS):  # more than the cache holds: some of it must be fetched
            assert (mounted / f"file{number}").read_bytes() == content.expected(number, 0, SIZE // READERS)
        return total(mounted.stats(), GET_BYTES, 'path="rdma"') > by_rdma

    eventually(comes_by_rdma, 60, "bytes come by RDMA again")


@pytest.mark.parametrize("mode", ["prefer", "require", "off"])
def test_a_restart_of_three_seconds_costs_no_reader_an_error(site, mode):
    """The deadline is the standard one; the outage tests above are the control, where it is too short."""
    target = site.target()
    for number in range(READERS):
        content.write(target.root / BUCKET / f"file{number}", number, SIZE // READERS)
    mounted = site.mount(target, BUCKET, rdma={"mode": mode}, cache={"size": "64MiB"},
                         read_ahead={"window_max": "0"}, retry={"deadline": "30s"}, metadata={"ttl": "1h"})
    threads = [Reader(mounted / f"file{number}", number) for number in range(READERS)]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: all(reader.good > 3 for reader in threads), 30, "every reader reads")
        target.kill()
        time.sleep(3)
        good = [reader.good for reader in threads]
        target.start()
        await_good_reads(threads, "every reader reads on")
    finally:
        for thread in threads:
            thread.stopping.set()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a read hangs"
    assert [reader.errors for reader in threads] == [[]] * READERS
    assert not any(reader.wrong for reader in threads), [reader.wrong for reader in threads]
    assert all(reader.good > before for reader, before in zip(threads, good))
    assert total(mounted.stats(), "s3_retries_total") > 0, "the control: the outage was felt"


def test_after_an_outage_the_mount_can_be_unmounted(place):
    target, mounted = place
    (mounted / "file0").read_bytes()
    target.kill()
    mounted.unmount()


def test_after_an_outage_the_cache_holds_nothing_for_reads_that_failed(place):
    target, mounted = place
    target.kill()

    def error_of_read(number):
        with pytest.raises(OSError) as failed:
            (mounted / f"file{number}").read_bytes()
        return failed.value.errno

    with ThreadPoolExecutor(READERS) as readers:  # each waits for the deadline
        assert list(readers.map(error_of_read, range(READERS))) == [errno.EIO] * READERS
    target.start()
    assert_nothing_held(mounted)
