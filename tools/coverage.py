#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which share of its lines each folder of src ran, by gcov's counters in a build folder.

    coverage.py BUILD [FILE-PREFIX]

With a prefix, such as src/fuse, it prints each file below it instead, with the numbers of the lines that did not run.
Exit status: 0, or 1 if a folder is below its floor.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Percent of lines. The edges of the daemon, where the kernel and the command line are, once had no unit tests at all.
FLOORS = {"src/fuse": 85, "src/daemon": 60}


def lines_of(notes):
    """{(file, line): times it ran} of one object file."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", notes.name], cwd=notes.parent, check=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    counts = {}
    for report in done.stdout.splitlines():
        parsed = json.loads(report)
        for file in parsed["files"]:
            path = os.path.normpath(os.path.join(parsed["current_working_directory"], file["file"]))
            if path.startswith(f"{ROOT}/src/") or path.startswith(f"{ROOT}/include/"):
                for line in file["lines"]:
                    where = (os.path.relpath(path, ROOT), line["line_number"])
                    counts[where] = counts.get(where, 0) + line["count"]
    return counts


def all_lines(build):
    """The same of all object files of the layers and of their tests, which compile what is inline."""
    notes = [path for part in ("src", "tests/unit", "tests/property") for path in sorted((build / part).rglob("*.gcno"))]
    counts = defaultdict(int)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for one in pool.map(lines_of, notes):
            for where, times in one.items():
                counts[where] += times
    return counts


def folder_of(path):
    parts = path.split("/")
    return "/".join(parts[:3] if parts[0] == "include" else parts[:2])


def shares(counts, key):
    """[(name, lines that ran, lines)]"""
    ran, there = defaultdict(int), defaultdict(int)
    for (path, _), times in counts.items():
        there[key(path)] += 1
        ran[key(path)] += times > 0
    return [(name, ran[name], there[name]) for name in sorted(there)]


def main(arguments):
    counts = all_lines(Path(arguments[0]).resolve())
    if not counts:
        print("no counters: was it built with -Db_coverage=true?", file=sys.stderr)
        return 1
    if len(arguments) > 1:
        counts = {where: times for where, times in counts.items() if where[0].startswith(arguments[1])}
        for name, ran, there in shares(counts, lambda path: path):
            missed = sorted(line for (path, line), times in counts.items() if path == name and times == 0)
            print(f"{100 * ran / there:5.1f} %  {name}  {' '.join(map(str, missed))}")
        return 0
    low = False
    for name, ran, there in shares(counts, folder_of):
        share, floor = 100 * ran / there, FLOORS.get(name, 0)
        low = low or share < floor
        print(f"{share:5.1f} %  {ran:5} of {there:5} lines  {name}" + (f", less than {floor} %" if share < floor else ""))
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
