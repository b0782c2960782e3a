# SPDX-License-Identifier: Apache-2.0
"""The commands of an administrator on the machine: systemctl, journalctl, s3rdmafs."""

import re
import subprocess
from pathlib import Path

from harness.mount import GET_BYTES, parse_prometheus, total
from harness.processes import eventually
from layout import FILE_BYTES, USER, USER_ID

# An emulated machine takes some seconds for what takes a moment elsewhere.
SECONDS = 120


def run(*command, check=True):
    result = subprocess.run(command, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if check:
        assert result.returncode == 0, f"{command}: status {result.returncode}: {result.stdout}"
    return result


class Manager:
    """One systemd: the machine's, or a user's."""

    def __init__(self, *prefix, journal):
        self._prefix, self._journal = prefix, journal

    def run(self, *command, check=True):
        return run(*self._prefix, *command, check=check)

    def systemctl(self, verb, *arguments, check=True):
        options = ["--user"] if self._prefix else []
        return self.run("systemctl", *options, "--no-pager", verb, *arguments, check=check)

    def show(self, unit, name):
        return self.systemctl("show", "--property", name, "--value", unit).stdout.strip()

    def wait_for(self, unit, state):
        eventually(lambda: self.show(unit, "ActiveState") == state, SECONDS, f"{unit} is {state}")

    def journal(self, unit):
        """The lines that journalctl shows for the unit: its own and systemd's."""
        return run("journalctl", "--boot", "--output=cat", *self._journal(unit)).stdout

    def assert_journal(self, unit, *patterns):
        """The journal has lines with each of these regular expressions; they may be on their way."""
        for pattern in patterns:
            try:
                eventually(lambda: re.search(pattern, self.journal(unit)), 20, pattern)
            except AssertionError:
                raise AssertionError(f"{pattern!r} is not in the journal of {unit}:\n{self.journal(unit)}") from None

    def assert_serves_by_rdma(self, point):
        """Every byte of the file is right, and came by RDMA."""
        self.run("cmp", f"{point}/file", "/srv/s3/data/file")
        stats = parse_prometheus(self.run("s3rdmafs", "stats", point).stdout)
        assert total(stats, GET_BYTES, 'path="rdma"') >= FILE_BYTES
        assert total(stats, GET_BYTES, 'path="http"') == 0


system = Manager(journal=lambda unit: ["--unit", unit])
user = Manager("runuser", "--user", USER, "--", "env", f"XDG_RUNTIME_DIR=/run/user/{USER_ID}",
               journal=lambda unit: [f"_SYSTEMD_USER_UNIT={unit}", "+", f"USER_UNIT={unit}"])


def mounts_on(point):
    """The types of what is mounted there."""
    lines = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    return [words[2] for words in lines if words[1] == str(point)]


def daemons_of(file):
    """Processes that serve this mount file."""
    return run("pgrep", "--full", f"s3rdma.* {file}", check=False).stdout.split()
