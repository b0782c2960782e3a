# SPDX-License-Identifier: Apache-2.0
"""Sixteen processes read at once, for a while, through a cache much smaller than the data: every byte is
right, the daemon keeps nothing, and no read is left hanging."""

import multiprocessing
import os
import random
import time

import pytest
from harness import content
from harness.kernel import mount_with
from harness.mount import assert_nothing_held
from harness.settings import STRESS_SECONDS
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

READERS = 16
BUCKET = "stress"
FILE_BYTES = 24 * MIB + 777
BIG_BYTES = 384 * MIB + 555
BIG_NUMBER = 1000
CACHE_BYTES = 128 * MIB  # a third of the data: blocks are evicted and filled again all the time

# Not leaks: connections to the server, and pages that malloc keeps for the most requests ever in flight at once.
CONNECTIONS_MAX = 32
MEMORY_SLACK_BYTES = 48 * MIB
GRACE_SECONDS = 60


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target()
    folder = target.root / BUCKET
    for number in range(READERS):
        content.write(folder / f"file{number:02}", number, FILE_BYTES)
    content.write(folder / "big", BIG_NUMBER, BIG_BYTES)
    return target


@pytest.fixture(params=[("rdma", "dev"), ("http", "dev"), ("rdma", "uring")], ids="-".join)
def mounted(request, site, server):
    path, transport = request.param
    mode = {"rdma": "require", "http": "off"}[path]
    made = mount_with(transport, lambda: site.mount(
        server, BUCKET, rdma={"mode": mode}, cache={"size": f"{CACHE_BYTES // MIB}MiB"},
        http={"connections_max": CONNECTIONS_MAX}, mount={"transport": transport}))
    # The way that most mounts go has the full time.
    made.stress_seconds = STRESS_SECONDS if request.param == ("rdma", "dev") else STRESS_SECONDS / 4
    return made


def read_whole_again_and_again(path, number, end):
    """Until `end`, and at least once, however busy the machine is."""
    count = 0
    while count == 0 or time.monotonic() < end:
        with open(path, "rb", buffering=0) as file:
            offset = 0
            while piece := file.read(MIB):
                if wrong := content.difference(piece, number, offset, min(MIB, FILE_BYTES - offset)):
                    return count, wrong
                offset += len(piece)
                count += len(piece)
        if offset != FILE_BYTES:
            return count, f"file {number} ended at {offset}"
    return count, ""


def read_at_random_offsets(path, seed, end):
    """Until `end`, and at least once."""
    count, choice = 0, random.Random(seed)
    with open(path, "rb", buffering=0) as file:
        while count == 0 or time.monotonic() < end:
            length = choice.choice((1, 512, 4096, 65_536, 300_001, MIB))
            offset = choice.randrange(BIG_BYTES)
            got = os.pread(file.fileno(), length, offset)
            if wrong := content.difference(got, BIG_NUMBER, offset, min(length, BIG_BYTES - offset)):
                return count, wrong
            count += len(got)
    return count, ""


def worker(pipe, work, *arguments):
    try:
        pipe.send(work(*arguments))
    except OSError as error:
        pipe.send((0, str(error)))


def run_readers(seconds, work, arguments_of):
    """Runs `work` in READERS processes; returns (bytes read, what went wrong) of each."""
    context = multiprocessing.get_context("fork")
    end = time.monotonic() + seconds
    started = []
    for number in range(READERS):
        near, far = context.Pipe(duplex=False)
        process = context.Process(target=worker, args=(far, work, *arguments_of(number), end))
        process.start()
        far.close()
        started.append((process, near))
    answers = []
    for process, pipe in started:
        left = max(0, end - time.monotonic()) + GRACE_SECONDS
        answers.append(pipe.recv() if pipe.poll(left) else (0, f"no answer {GRACE_SECONDS} s after the end"))
        process.join(5)
        if process.is_alive():
            process.kill()
            process.join(5)
    return answers


def stress(mounted, work, arguments_of):
    run_readers(min(3, STRESS_SECONDS / 3), work, arguments_of)  # malloc and connections as they will be
    assert_nothing_held(mounted)
    memory_before, descriptors_before = mounted.memory_bytes(), mounted.descriptors()

    answers = run_readers(mounted.stress_seconds, work, arguments_of)

    wrong = [why for _, why in answers if why]
    assert not wrong, wrong
    assert all(count > 0 for count, _ in answers), "every process got something"
    assert_nothing_held(mounted)
    assert mounted.memory_bytes() - memory_before < MEMORY_SLACK_BYTES, "memory"
    assert mounted.descriptors() - descriptors_before <= CONNECTIONS_MAX, "file descriptors"


def test_sixteen_processes_read_sixteen_files(mounted):
    stress(mounted, read_whole_again_and_again,
           lambda number: (mounted / f"file{number:02}", number))


def test_sixteen_processes_read_one_file_at_random_offsets(mounted):
    stress(mounted, read_at_random_offsets, lambda number: (mounted / "big", number))


def test_a_wrong_byte_would_have_been_seen(server, tmp_path):
    """The control: the same readers on a plain copy with one byte changed."""
    for number in range(READERS):
        content.write(tmp_path / f"file{number:02}", number, FILE_BYTES)
    with open(tmp_path / "file07", "r+b") as file:
        file.seek(FILE_BYTES - 5)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    answers = run_readers(1, read_whole_again_and_again, lambda number: (tmp_path / f"file{number:02}", number))
    assert [number for number, (_, why) in enumerate(answers) if why] == [7]
