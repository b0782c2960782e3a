# SPDX-License-Identifier: Apache-2.0
"""A mount name space of the test's own: no other process sees its mounts, and it ends with the test."""

import shutil
import subprocess
from pathlib import Path

from .processes import stop

SECONDS = 60


class Namespace:
    """Runs programs inside a private mount name space (needs root)."""

    def __init__(self):
        # A new name space has a copy of each mount. The copies of other tests' buckets would keep their daemons alive.
        leave_others = "awk '$3 ~ /^fuse/ {print $2}' /proc/self/mounts | xargs --no-run-if-empty umount --lazy"
        # The holder says when it is inside, then waits for the end of its input.
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", f"{leave_others}; echo inside; read end"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._holder.stdout.readline() == b"inside\n", "unshare --mount works"

    def command(self, *arguments):
        return ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", "--wd=/", *map(str, arguments)]

    def run(self, *arguments, **keywords):
        """Like subprocess.run; output as text."""
        return subprocess.run(self.command(*arguments), check=False, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, **keywords)

    def must(self, *arguments):
        result = self.run(*arguments)
        assert result.returncode == 0, f"{arguments}: {result.stdout}{result.stderr}"
        return result.stdout

    def mounts(self):
        return [line.split()[1] for line in self.must("cat", "/proc/self/mounts").splitlines()]

    def add_to_sbin(self, program, name, scratch):
        """Makes `program` /sbin/NAME, the only place where mount(8) looks for its helpers."""
        sbin = Path("/sbin").resolve()
        original = scratch / "sbin"
        original.mkdir()
        self.must("mount", "--bind", sbin, original)
        self.must(shutil.which("mount"), "-t", "tmpfs", "tmpfs", sbin)
        self.must("sh", "-c", f"ln -s '{original}'/* '{sbin}'/ && ln -sf '{program}' '{sbin}/{name}'")

    def hide_device(self, name, scratch):
        """Leaves only the devices that every program needs, without /dev/NAME."""
        devices = scratch / "dev"
        devices.mkdir()
        self.must("mount", "-t", "tmpfs", "-o", "dev", "tmpfs", devices)
        for kept in {"null", "zero", "random", "urandom"} - {name}:
            self.must("cp", "-a", f"/dev/{kept}", devices / kept)
        self.must("mount", "--bind", devices, "/dev")

    def end(self):
        self._holder.stdin.close()
        stop(self._holder)
        self._holder.stdout.close()
