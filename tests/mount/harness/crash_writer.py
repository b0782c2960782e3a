#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes, overwrites and renames files until the mount is gone, and notes what the mount has acknowledged.

    crash_writer.py FOLDER NUMBER NOTES

Each line of NOTES is written after a call has returned: "begun NAME GENERATION", "closed NAME GENERATION",
"renaming OLD NEW", "renamed OLD NEW". The content of a file follows from its name and its generation (content_of).
"""

import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import content  # noqa: E402

SIZES = (1, 5000, 300_000, 9 << 20, 20 << 20)  # of one request, and of several parts


def content_of(name, generation):
    number = sum(name.encode()) * 1000 + generation
    return content.expected(number, 0, SIZES[number % len(SIZES)] + generation % 7)


def write(path, data, sync):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view[:1 << 20]):]
        if sync:
            os.fsync(file)
    finally:
        os.close(file)


def main(folder, number, notes):
    choose = random.Random(int(number))
    with open(notes, "w", buffering=1) as noted:
        for step in range(1_000_000):
            name = f"kept{number}" if step % 3 == 0 else f"new{number}-{step}"
            noted.write(f"begun {name} {step}\n")
            write(f"{folder}/{name}", content_of(name, step), sync=choose.random() < 0.3)
            noted.write(f"closed {name} {step}\n")
            if step % 3 == 1:
                noted.write(f"renaming {name} moved{number}-{step}\n")
                os.rename(f"{folder}/{name}", f"{folder}/moved{number}-{step}")
                noted.write(f"renamed {name} moved{number}-{step}\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError:
        pass  # the mount was killed
