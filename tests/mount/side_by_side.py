#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the mount tests, several files at a time.

    side_by_side.py OUT [PYTEST ARGUMENT...]

Each file is a pytest process with a temporary folder, servers, ports and mounts of its own; its report is
OUT/FILE.xml. Its output is printed when it has ended, so that the files' outputs do not mix. Exit status: 0 if every
pytest succeeded, else 1.

Most tests wait for the network and for timers, so four files at a time keep two processors busy; three in CI, where later
suites are prepared meanwhile (tools/test.sh). Files in STRENUOUS compute: one of them at a time, so that the deadlines of
the other tests hold. Their lane takes ordinary files once they have ended. Files in ALONE run last, one after the other.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

# No two files have one name.
PATHS = {path.name: path for path in FOLDER.rglob("*_test.py")}

STRENUOUS = {"write_test.py", "fio_test.py", "training_test.py"}

ALONE = {
    "stress_test.py",        # sixteen processes that compute all the time; every one must get somewhere in its time
    "overwrite_test.py",     # counts what eight readers see within seconds
    "csi_pods_test.py",      # starts and kills programs all the time; one that another test's work delays is one too many
    "bench_test.py",         # measures, and expects that the kernel's settings stay as they are
    "request_size_test.py",  # changes a setting of the kernel that every new mount takes
}

# The longest first, so that no long file begins last.
LONGEST_FIRST = ("write_test.py", "s3_clients_test.py", "credentials_test.py", "servers_test.py", "fio_test.py", "behaviour_test.py",
                 "crash_test.py", "passthrough_test.py", "outage_test.py", "warm_test.py", "endpoints_test.py", "buckets_test.py",
                 "metadata_test.py", "rgw_test.py", "csi_test.py", "mount_test.py", "programs_test.py", "outside_test.py",
                 "names_test.py", "doctor_test.py")

# Of ordinary files, beside the one that begins with the strenuous files.
LANES = 2 if os.environ.get("CI") == "true" else 3
FILE_SECONDS = 1800  # for what has no bound of its own; the longest file takes a quarter of it

_printing = threading.Lock()
_running = set()  # the processes to end if this one is told to end
_ending = threading.Event()  # nothing more may begin
_starting = threading.Lock()  # held from the look at _ending until the process is in _running


def order(files):
    rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
    return sorted(files, key=lambda name: (rank.get(name, len(rank)), name))


def lanes_of(files):
    """The queues of each lane, in their order, and the files that run alone after that.

    The lanes share the queue of ordinary files.
    """
    together = order(set(files) - ALONE)
    strenuous = [name for name in together if name in STRENUOUS]
    ordinary = [name for name in together if name not in STRENUOUS]
    return [[strenuous, ordinary], *[[ordinary]] * LANES], order(set(files) & ALONE)


def run_file(name, out, arguments):
    """Runs one file; returns whether it succeeded."""
    began, temporary = time.monotonic(), out / name.removesuffix(".py")
    command = ["timeout", "--kill-after=60", str(FILE_SECONDS), sys.executable, "-B", "-m",
               "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={temporary}",
               f"--junit-xml={out / name}.xml", str(PATHS[name]), *arguments]
    output = out / f"{name}.output"  # a file: a pipe would wait for all that inherited it
    with open(output, "wb") as file:
        with _starting:
            if _ending.is_set():
                return False
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
            _running.add(process)
    process.wait()
    _running.discard(process)
    with _printing:
        print(f"-- {name}: {time.monotonic() - began:.0f} s", flush=True)
        sys.stdout.buffer.write(output.read_bytes())
        sys.stdout.buffer.flush()
        if process.returncode != 0:
            print(f"  FAILED {name}: pytest ended with status {process.returncode}", flush=True)
    if process.returncode == 0:
        shutil.rmtree(temporary, ignore_errors=True)  # gigabytes, all files together
    return process.returncode == 0


def work_off(queues, out, arguments, results):
    for queue in queues:
        while True:
            try:
                name = queue.pop(0)  # atomic: lanes may share the queue
            except IndexError:
                break
            results[name] = run_file(name, out, arguments)


def told_to_end(*_):
    sys.exit(1)


def main():
    signal.signal(signal.SIGTERM, told_to_end)
    out, arguments = Path(sys.argv[1]), sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    files = list(PATHS)
    together, alone = lanes_of(files)
    results = {}
    threads = [threading.Thread(target=work_off, args=(lane, out, arguments, results)) for lane in together]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
        work_off([alone], out, arguments, results)
    finally:
        with _starting:
            _ending.set()
        for process in list(_running):
            process.terminate()
    missing = sorted(set(files) - set(results))
    if missing:
        print(f"  FAILED not run: {', '.join(missing)}")
    return 0 if all(results.values()) and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
