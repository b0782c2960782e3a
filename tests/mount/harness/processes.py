# SPDX-License-Identifier: Apache-2.0
"""Processes that a test starts, and the proof that none is left: each inherits a mark in its environment."""

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from harness.settings import BUILD


def eventually(condition, seconds, what):
    """Asks until `condition()` is true and returns its value; fails after `seconds`."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"after {seconds} s still not: {what}")
        time.sleep(0.02)
    return value


class ReservedPort:
    """A TCP port that the kernel gives to no other program until the end of this object.

    Nothing listens on it: connections are refused. A server that sets SO_REUSEADDR can bind it meanwhile, again
    after each restart.
    """

    def __init__(self, address="127.0.0.1"):
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((address, 0))
        self.number = self._socket.getsockname()[1]

    def end(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def is_listening(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_alive(pid):
    """A zombie is not alive: its parent has only not looked yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _proc_file(pid, name):
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def find_by_command_line(*parts):
    """Living processes that have all these arguments in their command line."""
    wanted = {str(part).encode() for part in parts}
    return [pid for pid in pids()
            if wanted <= set(_proc_file(pid, "cmdline").split(b"\0")) and is_alive(pid)]


def marked(mark):
    """{pid: command line} of the living processes, this one aside, that carry NAME=VALUE."""
    return {pid: _proc_file(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
            for pid in pids()
            if pid != os.getpid() and mark.encode() in _proc_file(pid, "environ").split(b"\0")
            and is_alive(pid)}


def kill(pid, how=signal.SIGKILL):
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        pass


def stop(process, seconds=10):
    """Ends a child politely, then not; always reaps it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait(seconds)


def mounts_below(folder):
    """Mount points at or below a folder, deepest first."""
    found = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        point = line.split()[1].encode().decode("unicode_escape")
        if point == str(folder) or point.startswith(f"{folder}/"):
            found.append(point)
    return sorted(found, key=len, reverse=True)


def unmount_lazily(point):
    subprocess.run(["umount", "--lazy", point], check=False, timeout=20,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def past_fuse(report=None):
    """The environment of a program with libs3rdmafs_preload.so in front of libc; at its end it appends to `report`."""
    told = {} if report is None else {"S3RDMAFS_RUN_REPORT": str(report)}
    return {**os.environ, "LD_PRELOAD": str(BUILD / "src/client/preload/libs3rdmafs_preload.so"), **told}


def bytes_read(report):
    """How many bytes that report tells of: past FUSE, and through it."""
    told = report.read_text() if report.exists() else ""
    return tuple(sum(map(int, re.findall(rf"{way} (\d+) bytes", told))) for way in ("past FUSE", "through it"))
