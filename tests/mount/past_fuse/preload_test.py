# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of it read past FUSE, under libs3rdmafs_preload.so: the bytes and the offsets are those
that the kernel gives."""

import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from harness import content
from harness.mount import COMMAND_SECONDS, total
from harness.processes import bytes_read, eventually, past_fuse
from harness.units import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_admin]

BUCKET = "preload"
SIZE = 40 * MIB + 4321
CACHE = {"size": "256MiB", "resident_size": "128MiB", "passthrough_max": "16MiB"}


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site):
    mode = {"rdma": "require", "http": "off"}[request.param]
    target = shared_site.target()
    for number in range(2):
        content.write(target.root / BUCKET / f"file{number}", number, SIZE)
    made = shared_site.mount(target, BUCKET, rdma={"mode": mode}, cache=CACHE)
    made.source = target.root / BUCKET
    return made


@pytest.fixture
def run(tmp_path):
    """Runs a program under the library; its standard output, and how many bytes went past FUSE and through it."""
    report = tmp_path / "report"

    def runner(*command, **keywords):
        report.unlink(missing_ok=True)
        ended = subprocess.run(
            command, check=False, capture_output=True, timeout=COMMAND_SECONDS, env=past_fuse(report), **keywords)
        assert ended.returncode == 0, ended
        runner.report = report.read_text() if report.exists() else ""
        runner.past, runner.through = bytes_read(report)
        return ended.stdout

    return runner


def python(run, script, *arguments):
    return run(sys.executable, "-c", script, *map(str, arguments))


def check(got, number, offset=0, length=SIZE):
    assert len(got) == length
    wrong = content.difference(got, number, offset, length)
    assert not wrong, wrong


PROGRAMS = {
    "cat": ("cat",),
    "dd": ("dd", "status=none", "bs=1M", "if={}"),
    "dd of odd blocks": ("dd", "status=none", "bs=777777", "if={}"),
    "head": ("head", "-c", str(SIZE)),
    "tail": ("tail", "-c", f"+1"),
    "python": (sys.executable, "-c", "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb', buffering=0).read())"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_reads_the_file_past_fuse(mounted, run, name):
    path = str(mounted / "file1")
    command = [word.format(path) for word in PROGRAMS[name]]
    check(run(*command, *([] if path in command or f"if={path}" in command else [path])), 1)
    # The first small reads of a file do not fetch a part.
    assert run.past + run.through == SIZE and run.through <= 4 * 8192, run.report


def test_other_files_are_read_as_ever(mounted, run, tmp_path):
    other = tmp_path / "file"
    other.write_bytes(b"x" * SIZE)
    assert run("cat", str(other)) == b"x" * SIZE
    assert run.past == 0


def test_small_reads_become_parts(mounted, run):
    script = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
while piece := os.read(fd, 4096):
    sys.stdout.buffer.write(piece)
"""
    check(python(run, script, mounted / "file0"), 0)
    assert run.past > SIZE * 0.9, run.report


SENDFILE = """
import os, shutil, socket, sys, threading
path, folder = sys.argv[1:]
fd = os.open(path, os.O_RDONLY)
size = os.fstat(fd).st_size
with open(folder + "/by offsets", "wb") as to:  # the file's own offset stays
    at = 0
    while n := os.sendfile(to.fileno(), fd, at, 7777777):
        at += n
assert at == size and os.lseek(fd, 0, os.SEEK_CUR) == 0
assert os.sendfile(os.open("/dev/null", os.O_WRONLY), fd, size, 1) == 0
with open(folder + "/by the file's offset", "wb") as to:
    os.lseek(fd, 12345, os.SEEK_SET)
    while n := os.sendfile(to.fileno(), fd, None, 3333333):
        pass
assert os.lseek(fd, 0, os.SEEK_CUR) == size
shutil.copyfile(path, folder + "/by shutil")
ours, theirs = socket.socketpair()
received = bytearray()
def receive():
    while piece := theirs.recv(1 << 20):
        received.extend(piece)
receiver = threading.Thread(target=receive)
receiver.start()
with open(path, "rb") as file:
    ours.sendfile(file)
ours.close()
receiver.join()
open(folder + "/by a socket", "wb").write(received)
full_read, full = os.pipe2(os.O_NONBLOCK)
sent = os.sendfile(full, fd, 0, size)
assert 0 < sent < size
try:
    while os.sendfile(full, fd, 0, size):
        pass
except BlockingIOError:
    pass
for to, error in ((-1, "EBADF"), (os.open(folder + "/appended", os.O_WRONLY | os.O_CREAT | os.O_APPEND), "EINVAL")):
    try:
        os.sendfile(to, fd, 0, 1)
        print("no error")
    except OSError as raised:
        import errno
        assert errno.errorcode[raised.errno] == error, raised
"""


def test_files_are_sent_past_fuse(mounted, run, tmp_path):
    assert python(run, SENDFILE, mounted / "file1", tmp_path) == b""
    for name, begin in (("by offsets", 0), ("by the file's offset", 12345), ("by shutil", 0), ("by a socket", 0)):
        check((tmp_path / name).read_bytes(), 1, begin, SIZE - begin)
    assert run.through < 0.1 * SIZE and run.past > 3.9 * SIZE, run.report


OFFSETS = """
import os, subprocess, sys
path = sys.argv[1]
fd = os.open(path, os.O_RDONLY)
size = os.fstat(fd).st_size
told = []
def tell(what):
    told.append((what, os.lseek(fd, 0, os.SEEK_CUR)))
assert len(os.read(fd, 1000000)) == 1000000
tell("a read")
copy = os.dup(fd)
assert len(os.read(copy, 2000000)) == 2000000
tell("a read of a duplicate")
child = os.fork()
if child == 0:
    assert len(os.read(fd, 3000000)) == 3000000
    os._exit(0)
os.waitpid(child, 0)
tell("a read of a child")
os.set_inheritable(fd, True)
subprocess.run([sys.executable, "-c", f"import os; assert len(os.read({fd}, 500000)) == 500000"], pass_fds=[fd], check=True)
tell("a read of another program")
assert len(os.pread(fd, 1000, 5)) == 1000 and os.preadv(fd, [bytearray(10), bytearray(20)], 7) == 30
tell("reads at a place")
assert os.readv(fd, [bytearray(100000), bytearray(300000)]) == 400000
tell("a read of pieces")
os.lseek(fd, size - 100, os.SEEK_SET)
assert len(os.read(fd, 1000)) == 100
tell("a read over the end")
assert os.read(fd, 1000) == b""
tell("a read at the end")
os.lseek(fd, size + 5000, os.SEEK_SET)
assert os.read(fd, 1000) == b"" and os.pread(fd, 10, size) == b"" and os.pread(fd, 10, size + 1) == b""
tell("a read past the end")
print(told)
"""


def test_the_offset_is_the_kernels(mounted, run):
    under = python(run, OFFSETS, mounted / "file0")
    assert run.past > 0, run.report
    plain = subprocess.run([sys.executable, "-c", OFFSETS, mounted.source / "file0"], check=True, capture_output=True,
                           timeout=COMMAND_SECONDS)
    assert under == plain.stdout


def test_threads_that_share_a_descriptor_read_each_byte_once(mounted, run):
    script = """
import os, sys, threading
fd = os.open(sys.argv[1], os.O_RDONLY)
pieces, lock = [], threading.Lock()
def reader():
    while piece := os.read(fd, 65536 + 1):
        with lock:
            pieces.append(piece)
threads = [threading.Thread(target=reader) for _ in range(8)]
for one in threads: one.start()
for one in threads: one.join()
assert os.lseek(fd, 0, os.SEEK_CUR) == os.fstat(fd).st_size
source = open(sys.argv[2], "rb").read()
whole = sorted(source[at:at + 65537] for at in range(0, len(source), 65537))
print(sorted(pieces) == whole)
"""
    assert python(run, script, mounted / "file1", mounted.source / "file1") == b"True\n"
    assert run.past > 0


def test_a_descriptor_that_is_replaced_is_of_the_other_file(mounted, run, tmp_path):
    """However it is closed: also by a system call that the library does not see."""
    other = tmp_path / "other"
    other.write_bytes(b"other" * MIB)
    script = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
path, other = sys.argv[1:]
for close in (os.close, lambda fd: libc.syscall(3, fd), lambda fd: os.dup2(os.open(other, os.O_RDONLY), fd)):
    fd = os.open(path, os.O_RDONLY)
    assert os.read(fd, 1 << 20) != b"" and len(os.pread(fd, 10, 0)) == 10
    close(fd)
    try:
        os.fstat(fd)
    except OSError:
        reader, writer = os.pipe()  # takes the number
        os.write(writer, b"piped")
        taken = os.open(other, os.O_RDONLY) if reader != fd else reader
        assert os.read(taken, 5) in (b"piped", b"other"), taken
    else:
        assert os.pread(fd, 5, 0) == b"other"
        assert os.read(fd, 5) == b"other"
print("right")
"""
    assert python(run, script, mounted / "file0", other) == b"right\n"


def test_a_program_that_closes_all_other_descriptors_reads_on(mounted, run, tmp_path):
    """As one that becomes a daemon: the library's own descriptors are closed too, and their numbers are of other files."""
    other = tmp_path / "other"
    other.write_bytes(b"other" * MIB)
    script = """
import os, socket, sys
path, other = sys.argv[1:]
fd = os.open(path, os.O_RDONLY)
read = [os.read(fd, 1 << 20)]
os.closerange(fd + 1, 4096)
taken = [os.open(other, os.O_RDONLY) for _ in range(20)]
pairs = [socket.socketpair() for _ in range(20)]
while piece := os.read(fd, 1 << 20):
    read.append(piece)
for one in taken:
    assert os.read(one, 5) == b"other"
for left, right in pairs:
    left.sendall(b"x")
    right.setblocking(False)
    assert right.recv(1000) == b"x"
sys.stdout.buffer.write(b"".join(read))
"""
    check(python(run, script, mounted / "file0", other), 0)


def test_children_that_close_all_descriptors_do_not_disturb_their_parent(mounted, run):
    """subprocess has them in their parent's memory (vfork) until they run another program."""
    script = """
import os, subprocess, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
while piece := os.read(fd, 1 << 20):
    sys.stdout.buffer.write(piece)
    subprocess.run(["true"], check=True, close_fds=True)
descriptors = len(os.listdir("/proc/self/fd"))
assert descriptors < 20, descriptors
"""
    check(python(run, script, mounted / "file1"), 1)
    assert run.past == SIZE, run.report


def test_whether_a_file_is_a_terminal_is_not_asked_of_the_mount(mounted, run):
    """Python asks for each file that it opens."""
    script = """
import os, sys, threading
fd = os.open(sys.argv[1], os.O_RDONLY)
print("open", flush=True)
sys.stdin.read(1)
answered = threading.Event()
def ask():
    print(os.isatty(fd), os.isatty(0), flush=True)
    answered.set()
threading.Thread(target=ask, daemon=True).start()
answered.wait(float(sys.argv[2]))
"""

    def answer(seconds, **keywords):
        """While the daemon is stopped."""
        with subprocess.Popen([sys.executable, "-c", script, mounted / "file0", str(seconds)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, **keywords) as program:
            assert program.stdout.readline() == "open\n"
            os.kill(mounted.pid, signal.SIGSTOP)
            try:
                program.stdin.write("x")
                program.stdin.flush()
                return program.stdout.readline()
            finally:
                os.kill(mounted.pid, signal.SIGCONT)

    assert answer(COMMAND_SECONDS, env=past_fuse()) == "False False\n"
    assert answer(0.5) == "", "the control: the kernel asks the mount"


def test_a_forked_process_tells_what_it_has_read_itself(mounted, run):
    """Workers of a loader end by _exit(2)."""
    script = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
while os.read(fd, 1 << 20): pass
child = os.fork()
if child == 0:
    os.pread(fd, 1 << 20, 0)
    os._exit(0)
os.waitpid(child, 0)
"""
    python(run, script, mounted / "file0")
    assert run.past == SIZE + MIB, run.report


KILLS = int(os.environ.get("S3RDMAFS_KILLS", "20"))
HELD = "attach_held_bytes"


def test_programs_that_are_killed_while_they_read_hold_nothing_and_disturb_no_reader(mounted):
    draw = random.Random(7)
    under = past_fuse()
    many = [str(mounted / f"file{number}") for number in range(2)] * 50
    most = 0
    with concurrent.futures.ThreadPoolExecutor(1) as other:
        for _ in range(KILLS):
            reader = other.submit(subprocess.run, ["cat", many[1]], env=under, check=True, stdout=subprocess.PIPE,
                                  timeout=COMMAND_SECONDS)
            with subprocess.Popen(["cat", *many], env=under, stdout=subprocess.DEVNULL) as victim:
                time.sleep(draw.uniform(0, 0.05))
                most = max(most, total(mounted.stats(), HELD))
                victim.kill()
            assert victim.returncode == -signal.SIGKILL, "it would read for long"
            check(reader.result().stdout, 1)
    assert most > 128 * MIB // 4, "more than one process may hold: a program held parts when it was killed"
    eventually(lambda: total(mounted.stats(), HELD) == 0, 10, "nothing is held")
    assert total(mounted.stats(), "cache_object_bytes") <= 128 * MIB


def test_errors_are_those_of_the_kernel(mounted, run):
    script = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.read(fd, 1 << 20)
told = []
for call in (lambda: os.pread(fd, 10, -1), lambda: os.read(-1, 10), lambda: os.read(99999, 10), lambda: os.write(fd, b"x"),
             lambda: os.pread(fd, 10, 2**63 - 1)):
    try:
        told.append(call())
    except OSError as error:
        told.append(error.errno)
os.close(fd)
try:
    os.read(fd, 10)
except OSError as error:
    told.append(error.errno)
print(told)
"""
    plain = subprocess.run([sys.executable, "-c", script, mounted.source / "file0"], check=True, capture_output=True,
                           timeout=COMMAND_SECONDS)
    assert python(run, script, mounted / "file0") == plain.stdout


def test_when_the_daemon_refuses_the_mount_serves(site, run):
    target = site.target()
    content.write(target.root / BUCKET / "file0", 0, SIZE)
    mount = site.mount(target, BUCKET, write={"mode": "staged"})
    check(run("cat", str(mount / "file0")), 0)
    assert run.past == 0
    assert "that can be read past FUSE" in run.report
    assert total(mount.stats(), "attach_opens_total") == 0
