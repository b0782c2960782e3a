# SPDX-License-Identifier: Apache-2.0
"""A mounted bucket: the mount file, the daemon that serves it, and its metrics."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from .processes import eventually, find_by_command_line, is_alive, kill, mounts_below, unmount_lazily

# Long enough for any mount on a loaded machine of two cores; a mount that takes it has hung.
COMMAND_SECONDS = 60

# Threads, fabric and memory of a daemon end after its mount; longer means that one hangs.
DAEMON_ENDS_SECONDS = 20

# Bytes of objects that came, by path="rdma" and path="http".
GET_BYTES = "get_bytes_total"


def mount_file(path, server, bucket_name, /, **sections):
    """Writes a mount file for a bucket of `server`; `sections` are added to or replace the defaults; a
    list of them is an array of tables.

    @param server  has endpoint, access_key and secret_key
    """
    tables = {
        "bucket": {"name": bucket_name},
        "endpoint": {"url": server.endpoint, "region": "us-east-1"},
        "credentials": {"access_key_id": server.access_key, "secret_access_key": server.secret_key},
        "cache": {"size": "128MiB"},
    }
    for section, keys in sections.items():
        if isinstance(keys, list):
            tables[section] = keys
        else:
            tables.setdefault(section, {}).update(keys)
    # TOML's basic strings, integers and booleans are written as JSON writes them.
    lines = []
    for section, value in tables.items():
        several = isinstance(value, list)  # an array of tables
        for keys in value if several else [value]:
            lines += [f"[[{section}]]" if several else f"[{section}]",
                      *(f"{key} = {json.dumps(value)}" for key, value in keys.items()), ""]
    path.write_text("\n".join(lines))
    path.chmod(0o600)  # it holds a secret
    return path


def can_mount():
    """Empty, or why nothing can be mounted here."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse cannot be opened: {error.strerror}"
    if os.geteuid() != 0 and not shutil.which("fusermount3"):
        return "not root, and there is no fusermount3"
    return ""


def can_pass_through():
    """Empty, or why the kernel cannot read files of the daemon."""
    if os.geteuid() != 0:
        return "not root: passthrough needs CAP_SYS_ADMIN"
    if tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2]) < (6, 9):
        return "passthrough is in Linux 6.9"
    return ""


class Mount:
    """A mount by `s3rdmafs mount`, made on construction. Raises MountFailed if the command says no."""

    def __init__(self, program, file, point, *options):
        self.program, self.file, self.point = program, file, point
        point.mkdir(parents=True, exist_ok=True)
        ending = set(find_by_command_line(file, point))  # of a mount that was there before
        result = run_mount(program, file, point, *options)
        if result.returncode != 0:
            raise MountFailed(result)
        daemons = [pid for pid in find_by_command_line(file, point) if pid not in ending]
        if len(daemons) != 1:
            raise AssertionError(f"{len(daemons)} daemons for one mount: {daemons}")
        self.pid = daemons[0]

    def __truediv__(self, name):
        return self.point / name

    def stats(self):
        """{name or name{labels}: value} of `s3rdmafs stats`."""
        text = subprocess.run([self.program, "stats", self.point], check=True, timeout=COMMAND_SECONDS,
                              stdout=subprocess.PIPE, text=True).stdout
        return parse_prometheus(text)

    def cpu_seconds(self):
        """User and system time the daemon has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_bytes(self):
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE).group(1)) * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def is_mounted(self):
        return str(self.point) in mounts_below(self.point)

    def unmount(self, *command):
        """By the command given, or `s3rdmafs umount`; returns when the daemon has ended."""
        command = [*(command or (self.program, "umount")), self.point]
        try:
            result = subprocess.run(command, check=False, timeout=COMMAND_SECONDS, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
        except subprocess.TimeoutExpired as hung:
            raise AssertionError(f"{command} has not ended after {COMMAND_SECONDS} s: {hung.output}; {self.users()}") from hung
        assert result.returncode == 0, f"{command}: {result.stdout}; {self.users()}"
        eventually(lambda: not is_alive(self.pid), DAEMON_ENDS_SECONDS, "the daemon ends after umount")
        assert not self.is_mounted()

    def users(self):
        """For a message: who keeps the mount or its daemon."""
        found = subprocess.run(["fuser", "--verbose", "--mount", self.point], check=False, timeout=COMMAND_SECONDS,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) if self.is_mounted() else None
        return f"is mounted: {self.is_mounted()}, daemon alive: {is_alive(self.pid)}, {found and found.stdout}"

    def kill(self):
        """Ends the daemon as a crash would; nothing is mounted afterwards."""
        kill(self.pid)
        eventually(lambda: not is_alive(self.pid), 20, "the daemon is dead")
        unmount_lazily(str(self.point))

    def destroy(self):
        """Whatever state it is in: nothing mounted, no daemon."""
        if self.is_mounted():
            try:
                self.unmount()
            except (AssertionError, subprocess.SubprocessError):
                unmount_lazily(str(self.point))
                kill(self.pid)
                raise
        else:  # a daemon unmounts first, and ends when its last requests have
            try:
                eventually(lambda: not is_alive(self.pid), DAEMON_ENDS_SECONDS, "the daemon ends once nothing is mounted")
            except AssertionError:
                kill(self.pid)
                raise


class MountFailed(Exception):
    def __init__(self, result):
        super().__init__(f"exit status {result.returncode}: {result.stderr}")
        self.status, self.message = result.returncode, result.stderr


def run_mount(program, file, point, *options, **keywords):
    """`s3rdmafs mount`, as a user types it."""
    return subprocess.run([program, "mount", file, point, *options], check=False,
                          timeout=COMMAND_SECONDS, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)


def parse_prometheus(text):
    values = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            values[name] = float(value)
    return values


def total(stats, name, label=""):
    """Sum over the series of a metric whose labels contain `label`."""
    return sum(value for series, value in stats.items()
               if series.split("{")[0] == f"s3rdmafs_{name}" and label in series)


# Gauges of the cache that are above zero only while a read is under way.
HELD = ("cache_pins", "cache_fills_in_flight", "cache_reads_waiting")


def assert_nothing_held(mounted):
    """The cache's accounting comes back to zero once all reads have ended (read-ahead may still be filling)."""
    def held():
        stats = mounted.stats()
        for name in HELD:
            assert f"s3rdmafs_{name}" in stats, f"no gauge {name}: this check would prove nothing"
        return {name: total(stats, name) for name in HELD if total(stats, name) != 0}
    eventually(lambda: not held(), 20, f"every gauge of {HELD} is zero; the last ones: {held()}")
