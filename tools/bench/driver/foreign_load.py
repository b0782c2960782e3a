# SPDX-License-Identifier: Apache-2.0
"""How busy others keep the processors while a measurement runs: a figure taken beside them says little."""

import contextlib
import os
import time
from pathlib import Path

# A measurement beside more than this is pointed out in the report.
CORES_WORTH_SAYING = 0.2

_TICKS = os.sysconf("SC_CLK_TCK")


def _busy_seconds():
    """All processors together, a host that takes time away (steal) included (proc(5), /proc/stat)."""
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
    return (user + nice + system + irq + softirq + steal) / _TICKS


def _children(pid):
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the thread has ended, or the kernel does not tell
            yield from (task / "children").read_text().split()


def _seconds_below(pid):
    """Of a process and all its living and ended descendants."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    seconds = sum(map(int, fields[11:15])) / _TICKS  # utime, stime, and those of ended children
    for child in _children(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # just ended
            seconds += _seconds_below(child)
    return seconds


class ForeignLoad:
    """From construction on: processor time of the machine less that of this program and all it started."""

    def __init__(self):
        self._began, self._busy, self._own = time.monotonic(), _busy_seconds(), _seconds_below(os.getpid())

    def cores_used(self):
        used = (_busy_seconds() - self._busy) - (_seconds_below(os.getpid()) - self._own)
        return max(0.0, used / max(time.monotonic() - self._began, 1 / _TICKS))
