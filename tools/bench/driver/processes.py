# SPDX-License-Identifier: Apache-2.0
"""Processes and mounts of one run, each ended by the holder of the ExitStack it was entered on."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

# The longest that any contestant may take to start, to end, or to answer one command.
COMMAND_SECONDS = 60


class Failure(Exception):
    """Something that cannot be measured here; its text says why."""


def raise_on_signals():
    """Makes SIGTERM and SIGHUP unwind like Ctrl-C, so that everything that was started is ended."""
    def unwind(number, _frame):
        for again in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(again, signal.SIG_IGN)  # the end is under way and must not be cut short
        raise KeyboardInterrupt(signal.Signals(number).name)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, unwind)


def run(*command, seconds=COMMAND_SECONDS, **keywords):
    """Runs a command to its end and returns what it printed. Raises Failure with what it complained about."""
    try:
        done = subprocess.run([str(word) for word in command], check=False, timeout=seconds, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              **keywords)
    except FileNotFoundError:
        raise Failure(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Failure(f"{Path(command[0]).name} took longer than {seconds} s") from None
    if done.returncode != 0:
        raise Failure(f"{Path(command[0]).name}: {done.stderr.strip() or done.stdout.strip()}"
                      f" (status {done.returncode})")
    return done.stdout


def start(stack, command, log, environment=None):
    """A child in the background whose output goes to `log`; terminated when `stack` unwinds."""
    try:
        with open(log, "ab") as out:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=out, env=environment, start_new_session=True)
    except FileNotFoundError:
        raise Failure(f"{command[0]} is not installed") from None
    stack.callback(stop, process)
    return process


def stop(process):
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
    if process.poll() is None:
        process.kill()
    process.wait(10)


def wait_until(condition, process, what, log):
    """Until `condition()`; Failure with the log's end where the process has ended or time is up."""
    end = time.monotonic() + COMMAND_SECONDS
    while not condition():
        if process.poll() is not None or time.monotonic() > end:
            tail = " / ".join(Path(log).read_text(errors="replace").splitlines()[-3:])
            raise Failure(f"{what}: {tail or 'it says nothing'}")
        time.sleep(0.02)


def is_mounted(point):
    return any(line.split()[1].encode().decode("unicode_escape") == str(point)
               for line in Path("/proc/self/mounts").read_text().splitlines())


def unmount(point):
    """At the end of a run all readers have ended; a mount that is busy all the same goes lazily."""
    if not is_mounted(point):
        return
    with contextlib.suppress(Failure):
        run("umount", point)
    if is_mounted(point):
        run("umount", "--lazy", point)


def start_mount(stack, command, point, log, environment=None):
    """A child that mounts `point`; returns when it is mounted. Unmounted before the child is ended."""
    point.mkdir(parents=True, exist_ok=True)
    process = start(stack, command, log, environment)
    stack.callback(unmount, point)
    wait_until(lambda: is_mounted(point), process, f"{Path(command[0]).name} does not mount", log)
    os.stat(point)  # mounted is not yet answering
    return process


def cpu_seconds(pid):
    """Processor time of all threads of a process so far, to the nanosecond (proc(5), schedstat)."""
    total = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):
            total += int((thread / "schedstat").read_text().split()[0])
    return total / 1e9


def resident_bytes(pid):
    return _status_bytes(pid, "VmRSS")


def resident_bytes_max(pid):
    """The most memory a process ever had resident, as the kernel keeps it (VmHWM): no sample can miss it."""
    return _status_bytes(pid, "VmHWM")


def _status_bytes(pid, name):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise Failure(f"the kernel does not tell {name}")
