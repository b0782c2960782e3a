# SPDX-License-Identifier: Apache-2.0
"""A program under the library duplicates, replaces, inherits and hands on its descriptors while it reads: every byte
is that of the file that the kernel has at that number."""

import subprocess
import sys
from pathlib import Path

import pytest
from harness import content
from harness.mount import COMMAND_SECONDS
from harness.processes import bytes_read, past_fuse
from harness.units import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_admin]

BUCKET = "descriptors"
SIZE = 24 * MIB + 4321
FILES = 3
SEEDS = range(4)

# {descriptor: (number of its file, offsets)}: the offsets are a list of one, the same object for descriptors that share it.
PROGRAM = """
import json, os, random, subprocess, sys
from harness import content
SIZE, FILES, folder, seed, depth, known = *map(int, sys.argv[1:3]), sys.argv[3], *map(int, sys.argv[4:6]), sys.argv[6:]
draw = random.Random(seed * 10 + depth)
offsets = {}
fds = {}
for fd, number, shared, offset in (map(int, one.split(":")) for one in known):
    fds[fd] = number, offsets.setdefault(shared, [offset])

def check(got, number, offset, length):
    wrong = content.difference(got, number, offset, max(0, min(length, SIZE - offset)))
    assert not wrong, wrong

def open_one():
    number = draw.randrange(FILES)
    fds[os.open(f"{folder}/file{number}", os.O_RDONLY)] = number, [0]

def pread(fd):
    length, offset = draw.randrange(1, draw.choice((100, 3 << 20))), draw.randrange(SIZE)
    check(os.pread(fd, length, offset), fds[fd][0], offset, length)

def read(fd):
    number, offset = fds[fd]
    length = draw.randrange(1, draw.choice((100, 3 << 20)))
    got = os.read(fd, length)
    check(got, number, offset[0], length)
    offset[0] += len(got)

def seek(fd):
    fds[fd][1][0] = os.lseek(fd, draw.randrange(SIZE), os.SEEK_SET)

def duplicate(fd):
    fds[os.dup(fd)] = fds[fd]

def replace(fd):
    other = draw.choice(list(fds))
    os.dup2(fd, other)
    fds[other] = fds[fd]

def close(fd):
    os.close(fd)
    del fds[fd]

def fork(fd):
    child = os.fork()
    if child == 0:
        try:
            for _ in range(5):
                draw.choice((pread, read, duplicate))(draw.choice(list(fds)))
            with open(f"/proc/self/fdinfo/{fd}") as told:
                assert int(told.readline().split()[1]) == fds[fd][1][0], "the child's reads moved the offset that both have"
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for fd, (_, offset) in fds.items():
        offset[0] = os.lseek(fd, 0, os.SEEK_CUR)

def execute(fd):
    if depth == 2:
        return
    shared = {id(offset): place for place, (_, offset) in enumerate(fds.values())}
    subprocess.run([sys.executable, "-c", os.environ["PROGRAM"], *sys.argv[1:5], str(depth + 1),
                    *(f"{fd}:{number}:{shared[id(offset)]}:{offset[0]}" for fd, (number, offset) in fds.items())],
                   pass_fds=list(fds), check=True)
    for fd, (_, offset) in fds.items():
        offset[0] = os.lseek(fd, 0, os.SEEK_CUR)

acts = [pread] * 8 + [read] * 8 + [seek] * 2 + [duplicate, replace, close, fork, execute]
for _ in range(150 if depth == 0 else 25):
    while len(fds) < 2:
        open_one()
    if len(fds) < 12 and draw.random() < 0.1:
        open_one()
    draw.choice(acts)(draw.choice(list(fds)))
"""


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site):
    mode = {"rdma": "require", "http": "off"}[request.param]
    target = shared_site.target()
    for number in range(FILES):
        content.write(target.root / BUCKET / f"file{number}", number, SIZE)
    return shared_site.mount(target, BUCKET, rdma={"mode": mode},
                             cache={"size": "256MiB", "resident_size": "128MiB", "passthrough_max": "16MiB"})


def run(folder, seed, environment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(SIZE), str(FILES), folder, str(seed), "0"], check=False, timeout=COMMAND_SECONDS,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**environment, "PROGRAM": PROGRAM, "PYTHONPATH": str(Path(content.__file__).parent.parent)})


@pytest.mark.parametrize("seed", SEEDS)
def test_every_byte_is_of_the_file_that_the_descriptor_has(mounted, tmp_path, seed):
    report = tmp_path / "report"
    ended = run(mounted.point, seed, past_fuse(report))
    assert ended.returncode == 0, ended.stdout
    assert bytes_read(report)[0] > 8 * MIB, report.read_text()


def test_a_byte_that_is_wrong_ends_it(tmp_path):
    """The control."""
    for number in range(FILES):
        content.write(tmp_path / f"file{number}", FILES - number, SIZE)
    assert "AssertionError" in run(tmp_path, 0, past_fuse()).stdout
