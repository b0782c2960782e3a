# SPDX-License-Identifier: Apache-2.0
"""The same random system calls on two folders, which must give the same results, errno included.

    python3 -m harness.syscalls FOLDER REFERENCE SEED COUNT

Both folders exist and are empty. Exit status: 0 all results are the same; 1 one differs: the calls before it are printed,
and SEED repeats them. Links, modes and times are left out: a mount does not keep them.

Few names and few descriptors, so that calls meet: a file is written by one descriptor, truncated by its path, renamed over
another that is open, removed and read on.
"""

import itertools
import os
import random
import stat
import sys

from .random_calls import brief, outcome, play

NAMES = ("a", "b", "c", "d", "e")
FOLDERS = ("", "x/", "y/", "x/z/")
DESCRIPTORS_MAX = 8
SIZE_MAX = 200_000  # a few pages; now and then a whole part of an upload, see `offset`
PART = 8 << 20
OPEN_FLAGS = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR)
CREATION_FLAGS = (0, 0, os.O_CREAT, os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_TRUNC, os.O_TRUNC)


class Twins:
    """One folder and the reference, in the same state as far as anyone can tell."""

    def __init__(self, tops, seed):
        self.tops, self.random = tops, random.Random(seed)
        self.descriptors = []  # pairs
        self.calls = []

    def path(self):
        return self.random.choice(FOLDERS) + self.random.choice(NAMES)

    def offset(self):
        return self.random.randrange(SIZE_MAX) + (PART - 1000 if self.random.random() < 0.01 else 0)

    def both(self, text, *calls):
        self.calls.append(text)
        found, expected = (outcome(call) for call in calls)
        if found != expected:
            raise AssertionError(f"{text}: {brief(found)}, expected {brief(expected)}")
        return expected

    def by_path(self, text, call):
        return self.both(text, *(lambda top=top: call(top) for top in self.tops))

    def by_descriptor(self, text, call):
        if not self.descriptors:
            return None
        pair = self.random.choice(self.descriptors)
        number = self.descriptors.index(pair)
        return self.both(f"{text} of descriptor {number}", *(lambda fd=fd: call(fd) for fd in pair))

    # The calls

    def open(self):
        if len(self.descriptors) == DESCRIPTORS_MAX:
            return self.close()
        path = self.path()
        flags = self.random.choice(OPEN_FLAGS) | self.random.choice(CREATION_FLAGS)
        if flags & os.O_ACCMODE == os.O_RDONLY:
            flags &= ~os.O_TRUNC  # not specified by POSIX
        flags |= os.O_APPEND if self.random.random() < 0.2 else 0
        opened = []

        def call(top):
            opened.append(os.open(f"{top}/{path}", flags, 0o644))
            return "open"
        self.by_path(f"open {path} {flags:#o}", call)
        if opened:
            self.descriptors.append(tuple(opened))

    def close(self):
        if self.descriptors:
            pair = self.descriptors.pop(self.random.randrange(len(self.descriptors)))
            self.both("close", *(lambda fd=fd: os.close(fd) for fd in pair))

    def write(self):
        data = self.random.randbytes(self.random.choice((1, 100, 4096, 70_000)))
        self.by_descriptor(f"write {len(data)}", lambda fd: os.write(fd, data))

    def pwrite(self):
        data, offset = self.random.randbytes(self.random.choice((1, 100, 4096, 70_000))), self.offset()
        self.by_descriptor(f"pwrite {len(data)} at {offset}", lambda fd: os.pwrite(fd, data, offset))

    def read(self):
        length = self.random.choice((1, 5000, SIZE_MAX))
        self.by_descriptor(f"read {length}", lambda fd: os.read(fd, length))

    def pread(self):
        length, offset = self.random.choice((1, 5000, SIZE_MAX)), self.offset()
        self.by_descriptor(f"pread {length} at {offset}", lambda fd: os.pread(fd, length, offset))

    def seek(self):
        whence, offset = self.random.choice((os.SEEK_SET, os.SEEK_CUR, os.SEEK_END)), self.random.randrange(-100, SIZE_MAX)
        # File systems differ in what they say of a folder's offsets.
        self.by_descriptor(f"lseek {offset} {whence}",
                           lambda fd: stat.S_ISDIR(os.fstat(fd).st_mode) or os.lseek(fd, offset, whence))

    def ftruncate(self):
        size = self.offset()
        self.by_descriptor(f"ftruncate {size}", lambda fd: os.ftruncate(fd, size))

    def fsync(self):
        self.by_descriptor("fsync", os.fsync)

    def fstat(self):
        self.by_descriptor("fstat", lambda fd: described(os.fstat(fd)))

    def copy(self):
        """Of a whole file to another one, or to its own end."""
        if not self.descriptors:
            return
        source, target = self.random.choice(self.descriptors), self.random.choice(self.descriptors)
        offsets = self.random.choice(((0, 0), (0, 0), (self.offset(), self.offset())))
        length = self.random.choice((SIZE_MAX * 50, 5000))
        if source is target and offsets == (0, 0):
            return  # an overlap
        text = f"copy {length} of descriptor {self.descriptors.index(source)} to {self.descriptors.index(target)} at {offsets}"
        self.both(text, *(lambda pair=pair: os.copy_file_range(*pair, length, *offsets) for pair in zip(source, target, strict=True)))

    def truncate(self):
        path, size = self.path(), self.random.choice((0, self.offset()))
        self.by_path(f"truncate {path} {size}", lambda top: os.truncate(f"{top}/{path}", size))

    def stat(self):
        path = self.path()
        self.by_path(f"stat {path}", lambda top: described(os.lstat(f"{top}/{path}")))

    def unlink(self):
        path = self.path()
        self.by_path(f"unlink {path}", lambda top: os.unlink(f"{top}/{path}"))

    def rename(self):
        old, new = self.path(), self.path()
        self.by_path(f"rename {old} {new}", lambda top: os.rename(f"{top}/{old}", f"{top}/{new}"))

    def mkdir(self):
        path = self.random.choice((*FOLDERS[1:], self.path()))
        self.by_path(f"mkdir {path}", lambda top: os.mkdir(f"{top}/{path}"))

    def rmdir(self):
        path = self.random.choice((*FOLDERS[1:], self.path()))
        self.by_path(f"rmdir {path}", lambda top: os.rmdir(f"{top}/{path}"))

    def listdir(self):
        path = self.random.choice(FOLDERS)
        self.by_path(f"listdir {path}", lambda top: sorted(os.listdir(f"{top}/{path}")))

    def content(self):
        path = self.path()

        def call(top):
            with open(f"{top}/{path}", "rb") as file:
                return file.read()
        self.by_path(f"content of {path}", call)

    WEIGHTS = {"open": 14, "close": 8, "write": 8, "pwrite": 10, "read": 6, "pread": 8, "seek": 3, "ftruncate": 3, "fsync": 2,
               "fstat": 5, "copy": 4, "truncate": 3, "stat": 8, "unlink": 4, "rename": 4, "mkdir": 4, "rmdir": 1, "listdir": 3,
                "content": 5}

    def step(self):
        getattr(self, self.random.choices(list(self.WEIGHTS), self.WEIGHTS.values())[0])()

    def end(self):
        while self.descriptors:
            self.close()
        for folder, name in itertools.product(FOLDERS, NAMES):
            self.by_path(f"at the end {folder}{name}", lambda top, path=folder + name: described(os.lstat(f"{top}/{path}")))


def described(status):
    """The fields that both file systems set alike: a folder's size is its file system's."""
    kind = stat.S_IFMT(status.st_mode)
    return kind, stat.S_IMODE(status.st_mode) if kind == stat.S_IFREG else 0, 0 if kind == stat.S_IFDIR else status.st_size


def main(folder, reference, seed, count):
    os.umask(0o022)
    return play(Twins((folder, reference), int(seed)), seed, int(count), AssertionError)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
