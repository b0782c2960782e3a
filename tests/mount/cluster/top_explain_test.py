# SPDX-License-Identifier: Apache-2.0
"""A person looks at a mount: `s3rdmafs top` in a terminal of its own, and `s3rdmafs explain` of planted causes."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import unicodedata
from contextlib import contextmanager

import pytest
from harness import content
from harness.mount import COMMAND_SECONDS
from harness.processes import eventually, past_fuse
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

BUCKET = "watched"
NAME = "shards/文件 with spaces.bin"
SIZE = 24 * MIB
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# Reads from `pipe` in pieces of argv[2] bytes for as long as standard input is open.
READER = """
import os, select, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
piece, size = int(sys.argv[2]), os.fstat(fd).st_size
buffer = __import__("mmap").mmap(-1, piece)
at = 0
while not select.select([0], [], [], 0)[0]:
    os.preadv(fd, [buffer], at)
    at = (at + piece) % size
"""


@pytest.fixture(scope="module")
def target(shared_site):
    made = shared_site.target(bucket=BUCKET)
    content.write(made.root / BUCKET / NAME, 1, SIZE)
    return made


@pytest.fixture(scope="module")
def mounted(shared_site, target):
    return shared_site.mount(target, BUCKET, cache={"passthrough_max": "0", "size": "128MiB"})


@contextmanager
def reader(path, piece):
    process = subprocess.Popen([sys.executable, "-c", READER, path, str(piece)], stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        process.stdin.close()
        assert process.wait(COMMAND_SECONDS) == 0


def cells(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Screen:
    """`s3rdmafs top` on a terminal of `columns` x `rows`."""

    def __init__(self, mount, columns, rows):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen([mount.program, "top", mount.point, "--interval", "0.2"], stdin=slave, stdout=slave,
                                        stderr=slave, start_new_session=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        os.set_blocking(self.master, False)
        self.text = ""

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        try:
            self.text += os.read(self.master, MIB).decode()
        except BlockingIOError:
            pass
        return self.text

    def frame(self):
        """The lines of the last frame that is complete; none before the first."""
        frames = [each for each in self.read().split("\x1b[H")[1:] if each.endswith("\x1b[J")]
        # The terminal makes "\r\n" of each line feed once more.
        return [SEQUENCE.sub("", line).strip("\r") for line in frames[-1].split("\n")] if frames else []

    def shows(self, text):
        eventually(lambda: any(text in line for line in self.frame()), COMMAND_SECONDS, f"{text} on the screen")

    def end(self, key):
        os.write(self.master, key)
        status = self.process.wait(COMMAND_SECONDS)
        assert termios.tcgetattr(self.slave) == self.before
        assert self.read().endswith("\x1b[?25h\x1b[?1049l")
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(COMMAND_SECONDS)
        os.close(self.master)
        os.close(self.slave)


def check_frame(lines, columns, rows):
    assert len(lines) == rows, lines
    assert [line for line in lines if cells(line) > columns] == []


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 50)])
def test_top_fills_its_terminal_and_shows_who_reads_what(mounted, columns, rows):
    with Screen(mounted, columns, rows) as screen:
        with reader(mounted / NAME, MIB) as process:
            screen.shows(f" {process.pid}")
            screen.shows("shards/文件 with spaces.bin" if columns == 200 else "shards/文件")
            lines = screen.frame()
        check_frame(lines, columns, rows)
        assert lines[0].startswith("s3rdmafs /")
        if columns == 200:  # the path of a test's mount point fills a narrow line
            assert f"bucket {BUCKET} of http" in lines[0]
        assert screen.end(b"q") == 0


def test_top_follows_the_size_of_its_terminal_and_ends_by_ctrl_c(mounted):
    with Screen(mounted, 80, 24) as screen:
        screen.shows("q quit")
        screen.resize(120, 40)
        os.kill(screen.process.pid, signal.SIGWINCH)
        eventually(lambda: len(screen.frame()) == 40, COMMAND_SECONDS, "a frame of the new size")
        check_frame(screen.frame(), 120, 40)
        assert screen.end(b"\x03") == 0


def run(mount, *arguments):
    return subprocess.run([mount.program, *arguments], check=False, timeout=COMMAND_SECONDS, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def test_top_prints_a_frame_for_a_script(mounted):
    result = run(mounted, "top", mounted.point, "--once", "--interval", "0.1", "--columns", "100", "--rows", "30")
    assert result.returncode == 0, result.stderr
    check_frame(result.stdout.splitlines(), 100, 30)
    assert "\x1b" not in result.stdout


READ_ON = """
import os, select, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
while not select.select([0], [], [], 0)[0]:
    if not os.read(fd, 1 << 20):
        os.lseek(fd, 0, os.SEEK_SET)
"""


@pytest.mark.needs_admin
def test_top_shows_reads_past_fuse(site, target):
    watched = site.mount(target, BUCKET, cache={"size": "128MiB", "resident_size": "64MiB", "passthrough_max": "16MiB"})
    process = subprocess.Popen([sys.executable, "-c", READ_ON, watched / NAME], stdin=subprocess.PIPE, env=past_fuse())

    def frame():
        printed = run(watched, "top", watched.point, "--once", "--interval", "0.5", "--columns", "120", "--rows", "30")
        assert printed.returncode == 0, printed.stderr
        line = next((line for line in printed.stdout.splitlines() if f" {process.pid} " in line and "shards/" in line), "")
        return printed.stdout if "  memory " in line and "past FUSE" in printed.stdout else ""
    try:
        eventually(frame, COMMAND_SECONDS, "the file is read by way of memory, by that process")
    finally:
        process.stdin.close()
        process.wait(COMMAND_SECONDS)


def test_top_without_a_terminal_says_what_to_do(mounted):
    result = run(mounted, "top", mounted.point)
    assert result.returncode == 32
    assert "--once" in result.stderr


def explain(mount, *arguments):
    result = run(mount, "explain", mount.point, *arguments, "--seconds", "1", "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def names(explanation):
    return [cause["name"] for cause in explanation["causes"]]


def test_explain_names_small_reads_and_the_file_that_they_are_of(mounted):
    with reader(mounted / NAME, 4096) as process:
        eventually(lambda: "small_reads" in names(explain(mounted)), COMMAND_SECONDS, "small reads are named")
        told = explain(mounted, mounted / NAME)["file"]
    assert f" {process.pid}; each read asks the daemon" in told[0], told
    with reader(mounted / NAME, MIB):
        assert "small_reads" not in names(explain(mounted)), "the control"


def test_explain_names_a_mount_without_rdma(site, target):
    other = site.mount(target, BUCKET, rdma={"mode": "off"}, cache={"size": "64MiB", "passthrough_max": "0"})
    assert content.difference((other / NAME).read_bytes(), 1, 0, SIZE) == ""
    explanation = explain(other)
    assert names(explanation) == ["by_http"], explanation
    assert "rdma.mode is off" in explanation["causes"][0]["evidence"]


def test_explain_of_something_that_is_not_mounted_is_an_error(mounted, tmp_path):
    result = run(mounted, "explain", tmp_path)
    assert result.returncode == 32
    assert "no s3rdmafs mounted on" in result.stderr
