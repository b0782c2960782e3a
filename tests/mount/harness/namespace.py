# SPDX-License-Identifier: Apache-2.0
"""A mount name space of the test's own: no other process sees its mounts, and it ends with the test."""

import shutil
import subprocess
from pathlib import Path

from .processes import stop

SECONDS = 60


def leaving_other_mounts(*command, kept="/no-folder"):
    """A command that runs another in the mount name space that it is in, which was just made, once that is rid of its copies of
    other tests' buckets: they would keep the daemons of those alive.

    Copies that are shared with the machine go when it unmounts them; to unmount one here would unmount it there.
    @param kept  copies below this folder stay
    """
    leave = """awk -v kept="$1" '/ - fuse/ && !/ shared:/ && index($5, kept) != 1 {print $5}' /proc/self/mountinfo |
               xargs --no-run-if-empty umount --lazy; shift; exec "$@\""""
    return ["sh", "-c", leave, "sh", str(kept), *map(str, command)]


class Namespace:
    """Runs programs inside a private mount name space (needs root)."""

    def __init__(self):
        # The holder says when it is inside, then waits for the end of its input.
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", *leaving_other_mounts("sh", "-c", "echo inside; read end")],
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
