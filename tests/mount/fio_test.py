# SPDX-License-Identifier: Apache-2.0
"""fio reads what fio has written, by five I/O engines, past the page cache and through it, in blocks of 4 KiB to
16 MiB, by 1 to 16 jobs at once, from files of each open mode: every block has its checksum and is in its place."""

import itertools
import json
import subprocess
from dataclasses import dataclass

import pytest
from harness.kernel import mount_with
from harness.mount import assert_nothing_held, can_pass_through, total
from harness.settings import FIO_IS_FULL

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs("fio")]

KIB, MIB = 1 << 10, 1 << 20
BUCKET = "fio"
SECONDS = 300  # for one fio, on a machine that does much else

ENGINES = ("psync", "libaio", "io_uring", "mmap", "sync")
BLOCKS = (4 * KIB, 64 * KIB, MIB, 16 * MIB)
JOBS = (1, 4, 16)
ORDERS = ("randread", "read")

# A block consists of units of this size, each with its checksum, so that reads of any size can check it.
CHECKED_BYTES = 4 * KIB
# A job reads so many blocks, but no more bytes than that: enough to leave what was read ahead, short enough for CI.
BLOCKS_OF_A_JOB, BYTES_OF_A_JOB = 256, 32 * MIB


@dataclass(frozen=True)
class Kind:
    """Files of one open mode."""
    name: str
    count: int
    size: int


KINDS = (Kind("small", 16, 512 * KIB),   # through the page cache
         Kind("whole", 2, 32 * MIB),     # passed through, where the kernel can
         Kind("large", 1, 160 * MIB))    # by direct reads; more than the cache holds


def fio(folder, kind, *options):
    """(exit status, jobs of its report, what it complained of)"""
    done = subprocess.run(
        ["fio", "--name=job", "--filename=" + ":".join(f"{folder}/{kind.name}{number}" for number in range(kind.count)),
         f"--size={kind.count * kind.size}", "--verify=crc32c", f"--verify_interval={CHECKED_BYTES}",
         "--verify_state_save=0", "--output-format=json", *options],
        check=False, timeout=SECONDS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    text = done.stdout[done.stdout.find("{"):]
    return done.returncode, json.loads(text)["jobs"] if text.startswith("{") else [], done.stderr.strip()


def write_files(folder):
    for kind in KINDS:
        status, _, complaint = fio(folder, kind, "--rw=write", f"--bs={CHECKED_BYTES}", "--do_verify=0", "--ioengine=psync")
        assert status == 0, complaint


def what_is_wrong(folder, kind, engine, is_direct, block, jobs, order):
    """Empty if fio read all it was to read and found nothing."""
    block = min(block, kind.size)
    of_a_job = max(block, min(block * BLOCKS_OF_A_JOB, BYTES_OF_A_JOB, kind.count * kind.size))
    # Without verify_fatal fio 3.33 exits with 0 although it found a bad block, if blocks are larger than units.
    status, done, complaint = fio(
        folder, kind, f"--rw={order}", f"--bs={block}", f"--io_size={of_a_job}", f"--numjobs={jobs}", f"--ioengine={engine}",
        f"--direct={int(is_direct)}", "--iodepth=8", "--verify_fatal=1", "--readonly", "--randrepeat=0")
    read = sum(job["read"]["io_bytes"] for job in done)
    if status == 0 and not complaint and len(done) == jobs and read >= jobs * of_a_job:
        return ""
    return f"{kind.name}, {order}, {block} bytes, {jobs} jobs: status {status}, {read} bytes read: {complaint[:500]}"


PATTERNS = list(itertools.product(BLOCKS, JOBS, ORDERS))


def patterns_of(transport, engine, is_direct, kind):
    """All patterns, or one, such that each is used once with each transport, on both by other kinds of files."""
    if FIO_IS_FULL:
        return PATTERNS
    turn = (ENGINES.index(engine) * 2 + is_direct) * len(KINDS) + KINDS.index(kind)
    return [PATTERNS[(turn * 7 + (transport == "uring")) % len(PATTERNS)]]  # 7 has no factor in common with their number


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target(bucket=BUCKET)
    write_files(target.root / BUCKET)
    return target


@pytest.fixture(scope="module", params=["dev", "uring"])
def mounted(request, shared_site, server):
    made = mount_with(request.param, lambda: shared_site.mount(
        server, BUCKET, cache={"size": "128MiB"}, mount={"transport": request.param}))
    made.transport = request.param
    return made


@pytest.mark.parametrize("is_direct", [False, True], ids=["cached", "direct"])
@pytest.mark.parametrize("engine", ENGINES)
def test_fio_finds_every_block_as_it_was_written(mounted, engine, is_direct):
    wrong = [why for kind in KINDS for pattern in patterns_of(mounted.transport, engine, is_direct, kind)
             if (why := what_is_wrong(mounted.point, kind, engine, is_direct, *pattern))]
    assert not wrong, "\n".join(wrong)
    assert_nothing_held(mounted)


def test_the_files_were_opened_in_every_mode(mounted):
    """The control of the test above."""
    for mode in ("cached", "direct") + (() if can_pass_through() else ("passthrough",)):
        assert total(mounted.stats(), "fuse_opens_total", f'mode="{mode}"') > 0, mode


FLIPPED = 7 * CHECKED_BYTES  # the unit with the wrong byte


@pytest.fixture(scope="module")
def mounted_flawed(shared_site):
    """The server's copy of one byte in the first file of each kind is wrong."""
    target = shared_site.target()
    folder = target.root / BUCKET
    folder.mkdir()
    write_files(folder)
    for kind in KINDS:
        with open(folder / f"{kind.name}0", "r+b") as file:
            file.seek(FLIPPED + CHECKED_BYTES // 2)
            byte = file.read(1)
            file.seek(-1, 1)
            file.write(bytes([byte[0] ^ 1]))
    return shared_site.mount(target, BUCKET, cache={"size": "128MiB"})


@pytest.mark.parametrize("engine", ENGINES)
def test_fio_finds_a_byte_that_was_flipped(mounted_flawed, engine):
    """The control."""
    for kind in KINDS:
        wrong = what_is_wrong(mounted_flawed.point, kind, engine, False, MIB, 1, "read")
        assert f"verify failed at file {mounted_flawed.point}/{kind.name}0 offset {FLIPPED}," in wrong, wrong
