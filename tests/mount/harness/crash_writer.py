#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes, overwrites and renames files until the mount is gone, and notes what the mount has acknowledged.

    crash_writer.py FOLDER NUMBER NOTES MODE

Each line of NOTES is written after a call has returned: "begun NAME GENERATION", "written NAME GENERATION OFFSET
LENGTH", "closed NAME GENERATION", "renaming OLD NEW", "renamed OLD NEW". The content of a file follows from its name and
its generation (content_of). MODE is write.mode: staged files are also written in any order, and renamed while they are
open.
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


CHUNK = 1 << 20


class Writer:
    def __init__(self, folder, number, notes, mode):
        self.folder, self.number, self.notes, self.is_staged = folder, int(number), notes, mode == "staged"
        self.choose = random.Random(self.number)

    def note(self, *words):
        self.notes.write(" ".join(str(word) for word in words) + "\n")

    def fill(self, file, name, step):
        data = content_of(name, step)
        offsets = list(range(0, len(data), CHUNK))
        if self.is_staged and self.choose.random() < 0.5:
            self.choose.shuffle(offsets)
        for offset in offsets:
            chunk = memoryview(data)[offset:offset + CHUNK]
            while chunk:
                written = os.pwrite(file, chunk, offset)
                self.note("written", name, step, offset, written)
                chunk, offset = chunk[written:], offset + written

    def rename(self, name, step):
        new = f"moved{self.number}-{step}"
        self.note("renaming", name, new)
        os.rename(f"{self.folder}/{name}", f"{self.folder}/{new}")
        self.note("renamed", name, new)

    def step(self, step):
        name = f"kept{self.number}" if step % 3 == 0 else f"new{self.number}-{step}"
        renames_open = self.is_staged and step % 6 == 1
        self.note("begun", name, step)
        file = os.open(f"{self.folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            self.fill(file, name, step)
            if self.choose.random() < 0.3:
                os.fsync(file)
            if renames_open:
                self.rename(name, step)
        finally:
            os.close(file)
        self.note("closed", name, step)
        if step % 3 == 1 and not renames_open:
            self.rename(name, step)


def main(folder, number, notes, mode):
    with open(notes, "w", buffering=1) as noted:
        writer = Writer(folder, number, noted, mode)
        for step in range(1_000_000):
            writer.step(step)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError:
        pass  # the mount was killed
