# SPDX-License-Identifier: Apache-2.0
"""Memory that a run takes without asking the host for it.

A virtual machine that reports free pages gives them back to its host after two seconds or less, and the first touch of one
then costs up to 2.5 s/GB, where a page that was used a moment ago costs 0.05: a run that allocates measures the hypervisor.
So what a run will need is touched before it, stays mapped meanwhile, and is let go right before the run, for every
contestant alike. fresh_page() tells what that is worth on this machine.
"""

import contextlib
import mmap
import os
import statistics
import threading
import time
from dataclasses import dataclass

MIB = 1 << 20
PROBE_BYTES = 1024 * MIB  # a kernel may let some hundred MiB wait before it reports any
PIECE_BYTES = 128 * MIB   # 6 ms where it costs least: long enough for a clock
FIRST_BYTES = 256 * MIB
LOOK_S = 0.01  # between two looks, of a microsecond each
REST_S = 3  # within which free pages are the host's, some or all, where it takes them (measured: 0.5 to 3)


@dataclass(frozen=True)
class FreshPage:
    """Seconds for the first touch of a GB of a tmpfs with huge pages."""
    cold: float    # where it costs most, of memory that was free before this run or for REST_S: the host has taken a part
    warmed: float  # of memory that was used a moment ago

    def __str__(self):
        return (f"up to {self.cold:.2g} s/GB where memory was free for a while, {self.warmed:.2g} s/GB where it was used a moment ago,"
                " as each run's is here")


def _touch(memory, begin, end):
    memory[begin:end:mmap.PAGESIZE] = bytes((end - begin) // mmap.PAGESIZE)


def _touch_new_file(folder):
    """Seconds per GB of each piece."""
    seconds = []
    path = folder / "fresh-pages"
    with open(path, "w+b") as file:
        path.unlink()
        file.truncate(PROBE_BYTES)
        with mmap.mmap(file.fileno(), PROBE_BYTES) as memory:
            for begin in range(0, PROBE_BYTES, PIECE_BYTES):
                began = time.monotonic()
                _touch(memory, begin, begin + PIECE_BYTES)
                seconds.append((time.monotonic() - began) / (PIECE_BYTES / 1e9))
    return seconds


def fresh_page(folder):
    """Takes REST_S and a little more. `folder` is on the file system that is asked."""
    unknown = _touch_new_file(folder)
    time.sleep(REST_S)
    cold = max(unknown + _touch_new_file(folder))
    return FreshPage(cold, statistics.median(_touch_new_file(folder)))


class Use:
    """Looks how much memory the machine has taken into use at most since the construction, until it is closed."""

    def __init__(self):
        self._before = self._least = _free_bytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def close(self):
        self._done.set()
        self._thread.join()
        self._least = min(self._least, _free_bytes())

    @property
    def bytes_most(self):
        return self._before - self._least

    def _look(self):
        while not self._done.wait(LOOK_S):
            self._least = min(self._least, _free_bytes())


class Reserve:
    """Touched memory for the next run: as much as runs of the round before took, and a tenth more."""

    def __init__(self):
        self._held, self._size_bytes, self._taken_bytes = None, 0, 0

    def next_round(self, is_first):
        """Before the first round of a work, which does not count, little is known."""
        wanted = FIRST_BYTES if is_first else self._taken_bytes * 11 // 10
        self._taken_bytes = 0
        self._size_bytes = min(wanted, _available_bytes() // 2) // MIB * MIB
        self._free()
        self.take()

    def take(self):
        """After a run, when what it stored is removed: its memory is then the next run's."""
        if self._held is None and self._size_bytes:
            self._held = mmap.mmap(-1, self._size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            with contextlib.suppress(OSError):  # a kernel without huge pages
                self._held.madvise(mmap.MADV_HUGEPAGE)
            _touch(self._held, 0, self._size_bytes)

    @contextlib.contextmanager
    def let_go(self):
        """Around a run."""
        self.take()  # where the run before failed
        self._free()
        with contextlib.closing(Use()) as use:
            yield
        self._taken_bytes = max(self._taken_bytes, use.bytes_most)

    def _free(self):
        if self._held is not None:
            self._held.close()
        self._held = None


def _free_bytes():
    return os.sysconf("SC_AVPHYS_PAGES") * mmap.PAGESIZE


def _available_bytes():
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0
