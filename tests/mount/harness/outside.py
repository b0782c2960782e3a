# SPDX-License-Identifier: Apache-2.0
"""Random system calls on a folder of a staged mount whose objects another client puts and removes, against a model.

    python3 -m harness.outside FOLDER PREFIX SEED COUNT TTL ENDPOINT BUCKET ACCESS_KEY SECRET_KEY

The folder exists, is empty, and is this process's alone; its objects have the keys PREFIX/name. Exit status: 0 the model allows
all results; 1 one it does not: the calls before it are printed, and SEED repeats them.

The model is s3rdmafs-semantics(7). One process does one thing after another, its own change of the bucket included, so it
knows at each moment which version each name has. A `File` is one inode: it has the content that all its descriptors must see, and
the version that its next store replaces. Where the manual leaves a choice, such as a stat(2) that is as old as metadata.ttl, the
model allows each, and goes on from the one that came.

The target's ETags are of the bytes, so no store may meet a version with the bytes of its base that is another: `part` sees to it.
"""

import itertools
import os
import random
import sys
import time

from .random_calls import brief, outcome, play
from .s3_http import Bucket

NAMES = ("a", "b", "c")
DESCRIPTORS_MAX = 6
SIZE_MAX = 60_000
LENGTHS = (1, 100, 4096, 20_000)
OPEN_FLAGS = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR)
CREATION_FLAGS = (0, 0, 0, os.O_CREAT, os.O_CREAT, os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_TRUNC, os.O_TRUNC)
# An open does not ask again what was asked 2 ms ago (s3rdmafs-semantics(7)).
CONFIRMED_SECONDS = 0.003
# The kernel counts the time for which it keeps a name in ticks, of 10 ms at most: rounded up, and compared by whole ones.
TICKS_SECONDS = 0.05


class Wrong(Exception):
    """A result that the model does not allow."""


class Version(bytes):
    """Bytes with an identity: what the server has after one store."""


class Former:
    """The meaning of a name before a change by another client: stat(2) may tell it until metadata.ttl ends.

    The ttl counts from when the mount asked, which was before the change ended. The kernel counts what is left of it from when
    it gets the answer, which is before the call of the program ends. So both are late by the time of one call at most, which is
    measured: beside a dozen compilers some take 3 s.
    """

    def __init__(self, content, ttl):
        self.content, self.ends_at, self.delay_seconds = content, time.monotonic() + ttl + TICKS_SECONDS, 0

    def may_show_from(self, began_at):
        """Whether a call that begins then may find it."""
        return began_at < self.ends_at + self.delay_seconds


class File:
    """One inode, while descriptors have it open."""

    numbers = itertools.count(1)

    def __init__(self, name, content, base):
        self.name, self.content, self.base = name, bytearray(content), base  # base None: no version
        self.ino = None
        self.number = next(File.numbers)
        self.is_dirty = base is None
        self.has_failed = False      # a store has: its error sticks
        self.is_removed = False      # nothing of it is stored
        self.has_lost_base = False   # what is not in the cache cannot be read
        self.may_be_removed = False  # its name was, but then stood for another version

    def __str__(self):
        return f"{self.name}, file {self.number}"

    @property
    def may_store(self):
        return self.is_dirty and not self.has_failed and not self.is_removed


class Outside:
    """A folder of the mount, the bucket, and the model of both."""

    def __init__(self, folder, prefix, seed, ttl, bucket):
        self.folder, self.prefix, self.ttl, self.bucket = folder, prefix, ttl, bucket
        self.random = random.Random(seed)
        self.stored = dict.fromkeys(NAMES)     # what the server has
        self.staged = dict.fromkeys(NAMES)     # the file that was opened to write last
        self.former = {name: [] for name in NAMES}  # of Former
        self.descriptors = []                  # (fd, File, flags, whether its close stores)
        self.calls = []
        self.began_at = time.monotonic()       # the step

    # Meanings of names

    def key(self, name):
        return f"{self.prefix}/{name}"

    def path(self, name):
        return f"{self.folder}/{name}"

    def newer(self, name):
        """The file that the name stands for in place of what the server has."""
        file = self.staged[name]
        return file if file and file.may_store else None

    def shown(self, name):
        """The bytes that the name stands for; None: it is absent."""
        newer = self.newer(name)
        return newer.content if newer else self.stored[name]

    def may_show(self, name):
        """Older answers that a stat of this step may give."""
        self.former[name] = [former for former in self.former[name] if former.may_show_from(self.began_at)]
        return [former.content for former in self.former[name]]

    def goes(self, name):
        """The name is about to mean something else, without this mount's doing."""
        self.former[name] += [Former(content, self.ttl) for content in (self.shown(name), self.stored[name])]

    def open_files(self):
        return list({id(file): file for _, file, *_ in self.descriptors}.values())

    def files_of(self, name):
        return [file for file in self.open_files() if file.name == name and not file.is_removed]

    # Judging

    def note(self, text):
        self.calls.append(text)

    def check(self, text, found, allowed):
        self.note(f"{text}: {brief(found)}")
        if found not in allowed:
            raise Wrong(f"{text}: {brief(found)}, allowed {[brief(each) for each in allowed]}")
        return found

    def check_stored(self, name):
        found = self.bucket.get(self.key(name))
        if found != self.stored[name]:
            raise Wrong(f"the server has {brief(found)} as {name}, expected {brief(self.stored[name])}")

    def on_store(self, text, file, call):
        """A call that stores the file, if the server lacks something of it."""
        name = file.name
        self.part(file)
        found = outcome(call)
        if file.has_failed:
            return self.check(text, found, ["ESTALE"])
        if not file.may_store:
            return self.check(text, found, [None])
        is_conflict = self.stored[name] is not file.base
        self.check(text, found, [None] if not is_conflict else ["ESTALE", None] if file.may_be_removed else ["ESTALE"])
        file.is_removed = found is None and is_conflict
        if found == "ESTALE":
            self.goes(name)
            file.has_failed = True
        elif not file.is_removed:
            self.on_stored(file)
        self.check_stored(name)
        return found

    def on_stored(self, file):
        self.former[file.name] = []
        self.stored[file.name] = file.base = Version(file.content)
        file.is_dirty = False
        for other in self.files_of(file.name):
            other.has_lost_base = other.has_lost_base or other is not file and other.base is not None

    # Another client

    def part(self, file):
        """Lets no two versions have one ETag: the one that this file's store would take for its base goes."""
        stored = self.stored[file.name]
        if file.may_store and file.base is not None and stored == file.base and stored is not file.base:
            self.change(file.name)

    def change(self, name=None):
        name = name or self.random.choice(NAMES)
        new = Version(self.random.randbytes(self.random.randrange(1, SIZE_MAX))) if self.random.random() < 0.75 else None
        self.goes(name)
        if new is None:
            self.bucket.remove(self.key(name))
        else:
            self.bucket.put(self.key(name), new)
        self.note(f"another client stores {name}: {brief(new)}")
        for file in self.files_of(name):
            file.has_lost_base = file.has_lost_base or file.base is not None
        self.stored[name] = new
        time.sleep(CONFIRMED_SECONDS)

    # Calls by path

    def file_for(self, name, fd):
        """The file that an open gave."""
        ino = os.fstat(fd).st_ino
        newer, stored = self.newer(name), self.stored[name]
        known = [file for file in self.files_of(name)
                 if file is newer or file.base is stored and not file.is_dirty and not file.has_failed]
        for file in known:
            if file.ino == ino:
                return file
        is_choice = newer and stored is not None and stored in self.may_show(name)  # which the kernel still knows
        if known and not is_choice:
            raise Wrong(f"open of {name} is inode {ino}, expected {[file.ino for file in known]}")
        file = File(name, stored, stored)
        file.ino = ino
        return file

    def open(self):
        if len(self.descriptors) == DESCRIPTORS_MAX:
            return self.close()
        name = self.random.choice(NAMES)
        flags = self.random.choice(OPEN_FLAGS) | self.random.choice(CREATION_FLAGS)
        if flags & os.O_ACCMODE == os.O_RDONLY:
            flags &= ~os.O_TRUNC  # not specified by POSIX
        is_there, newer = self.shown(name) is not None, self.newer(name)
        if newer and newer.base == b"":
            flags &= ~os.O_TRUNC  # see returns_to_base
        fd = outcome(lambda: os.open(self.path(name), flags, 0o644))
        found = "open" if isinstance(fd, int) else fd
        text = f"open {name} {flags:#o}"
        if flags & os.O_EXCL:
            was_there = any(content is not None for content in self.may_show(name))
            self.check(text, found, ["EEXIST"] if is_there else ["open", "EEXIST"] if was_there else ["open"])
        else:
            self.check(text, found, ["open"] if is_there or flags & os.O_CREAT else ["ENOENT"])
        if found != "open":
            return None
        if is_there:
            file = self.file_for(name, fd)
        else:
            file = File(name, b"", None)
            file.ino = os.fstat(fd).st_ino
            self.former[name] = []
        stores = flags & os.O_ACCMODE != os.O_RDONLY or not is_there
        self.descriptors.append((fd, file, flags, stores))
        if stores:
            self.staged[name] = file
        if flags & os.O_TRUNC:
            self.changed(file, bytearray())
            if is_there:  # whether an empty file was truncated is not told; a store settles it
                return self.on_store(f"fsync after {text}", file, lambda: os.fsync(fd))
        return None

    def changed(self, file, content):
        if not file.may_store:
            self.goes(file.name)  # its name may have been another file's
        file.content, file.is_dirty = content, True

    def truncate(self):
        name, size = self.random.choice(NAMES), self.random.randrange(SIZE_MAX)
        newer, stored = self.newer(name), self.stored[name]
        if self.shown(name) is not None and size == len(self.shown(name)) or newer and returns_to_base(newer, size):
            return
        found = outcome(lambda: os.truncate(self.path(name), size))
        self.check(f"truncate {name} {size}", found, [None] if self.shown(name) is not None else ["ENOENT"])
        if found is not None:
            return
        file = newer or next((file for file in self.files_of(name) if file.base is stored and not file.has_failed), None)
        file = file or File(name, stored, stored)
        is_open = any(file is each and stores for _, each, _, stores in self.descriptors)
        self.changed(file, resized(file.content, size))
        self.staged[name] = file
        if is_open or newer:  # stored by the close of those who write it
            return
        self.on_stored(file)
        self.check_stored(name)

    def stat(self):
        name = self.random.choice(NAMES)
        sizes = [len(content) if content is not None else "ENOENT" for content in (self.shown(name), *self.may_show(name))]
        self.check(f"stat {name}", outcome(lambda: os.lstat(self.path(name)).st_size), sizes)

    def listdir(self):
        found = set(os.listdir(self.folder))
        self.note(f"listdir: {sorted(found)}")
        for name in NAMES:
            newer, stored = self.newer(name), self.stored[name]
            is_there = stored is not None or newer is not None
            # A staged file whose object another client has removed is shown by its name alone.
            may_differ = newer is not None and newer.base is not None and stored is None
            may_differ = may_differ or any((content is not None) != is_there for content in self.may_show(name))
            if (name in found) != is_there and not may_differ:
                raise Wrong(f"listdir: {sorted(found)}, {name} is there: {is_there}")

    def replaced(self, name):
        """This mount has removed what the name stood for, or given it to another file."""
        for file in self.files_of(name):
            if file is self.newer(name) or file.base is self.stored[name] and file.base is not None:
                file.is_removed = True
            else:
                file.may_be_removed = True
        self.staged[name] = None

    def unlink(self):
        name = self.random.choice(NAMES)
        allowed = [None]
        if self.shown(name) is None:
            allowed = ["ENOENT", *([None] if any(content is not None for content in self.may_show(name)) else [])]
        if self.check(f"unlink {name}", outcome(lambda: os.unlink(self.path(name))), allowed) is None:
            self.replaced(name)
            self.stored[name] = None
            self.former[name] = []
        self.check_stored(name)

    def rename(self):
        old, new = self.random.sample(NAMES, 2)
        newer = self.newer(old)
        if newer:
            self.part(newer)
        text, found = f"rename {old} {new}", outcome(lambda: os.rename(self.path(old), self.path(new)))
        if newer and newer.base is not self.stored[old]:
            # Its store fails; the kernel tries again, with the version of the other client.
            self.goes(old)
            newer.has_failed = True
            self.check(text, found, ["ESTALE", "ENOENT"] if self.stored[old] is None else ["ESTALE", None])
        elif newer:
            self.check(text, found, [None])
            self.on_stored(newer)
        else:
            self.check(text, found, [None] if self.stored[old] is not None else ["ENOENT"])
        if found is None:
            self.replaced(new)
            for file in self.files_of(old):
                if file.base is self.stored[old] and not file.has_failed:
                    file.name = new
            # One whose base was replaced by another client keeps its name, and its next store fails.
            if self.staged[old] and self.staged[old].name == new:
                self.staged[new], self.staged[old] = self.staged[old], None
            self.stored[new], self.stored[old] = self.stored[old], None
            # The kernel gives the new name what it knew of the old one.
            self.former[old], self.former[new] = [], [former for former in self.former[old] if former.content is not None]
        self.check_stored(old)
        self.check_stored(new)

    # Calls by descriptor

    def chosen(self, writes=None):
        """A descriptor that reads, or writes, or any."""
        useless = {None: None, True: os.O_RDONLY, False: os.O_WRONLY}[writes]
        fitting = [each for each in self.descriptors if each[2] & os.O_ACCMODE != useless]
        return self.random.choice(fitting) if fitting else (None, None, None, None)

    def close(self):
        if not self.descriptors:
            return
        entry = self.random.choice(self.descriptors)
        fd, file, _, stores = entry
        is_shared = sum(file is each for _, each, *_ in self.descriptors) > 1
        is_left = not file.content and is_shared
        if is_left and not file.has_failed:
            # The close of an empty file that has another descriptor stores nothing.
            self.on_store(f"fsync of {file}, which is empty,", file, lambda: os.fsync(fd))
        self.descriptors.remove(entry)
        if stores and not is_left:
            self.on_store(f"close of {file}", file, lambda: os.close(fd))
        else:
            found = outcome(lambda: os.close(fd))
            self.check(f"close of {file}, which stores nothing", found, [None, "ESTALE"] if file.has_failed and stores else [None])
        if not is_shared and self.staged[file.name] is file:
            self.staged[file.name] = None

    def fsync(self):
        fd, file, *_ = self.chosen()
        if file:
            self.on_store(f"fsync of {file}", file, lambda: os.fsync(fd))

    def fstat(self):
        fd, file, *_ = self.chosen()
        if file:
            found = outcome(lambda: (lambda status: (status.st_size, status.st_ino))(os.fstat(fd)))
            self.check(f"fstat of {file}", found, [(len(file.content), file.ino)])

    def pwrite(self):
        fd, file, *_ = self.chosen(writes=True)
        if not file:
            return
        data, offset = self.random.randbytes(self.random.choice(LENGTHS)), self.random.randrange(SIZE_MAX)
        found = outcome(lambda: os.pwrite(fd, data, offset))
        self.check(f"pwrite {len(data)} at {offset} of {file}", found, ["ESTALE"] if file.has_failed else [len(data)])
        if not file.has_failed:
            content = resized(file.content, max(len(file.content), offset + len(data)))
            content[offset:offset + len(data)] = data
            self.changed(file, content)

    def ftruncate(self):
        fd, file, *_ = self.chosen(writes=True)
        size = self.random.randrange(SIZE_MAX)
        if file and size != len(file.content) and not returns_to_base(file, size):
            found = outcome(lambda: os.ftruncate(fd, size))
            # It asks the server first, unless something waits to be stored.
            is_asked = file.has_lost_base and not file.is_dirty and not file.is_removed
            self.check(f"ftruncate {size} of {file}", found, ["ESTALE"] if file.has_failed else ["ESTALE", None] if is_asked else [None])
            if found is None:
                self.changed(file, resized(file.content, size))

    def pread(self):
        fd, file, *_ = self.chosen(writes=False)
        if not file:
            return
        length, offset = self.random.choice((1, 5000, 2 * SIZE_MAX)), self.random.choice((0, self.random.randrange(SIZE_MAX)))
        found, expected = outcome(lambda: os.pread(fd, length, offset)), bytes(file.content[offset:offset + length])
        if file.has_lost_base and (found == "ESTALE" or found and expected.startswith(found)):
            self.note(f"pread {length} at {offset} of {file}: {brief(found)}")
        else:
            self.check(f"pread {length} at {offset} of {file}", found, [expected])

    WEIGHTS = {"change": 8, "open": 18, "close": 10, "pwrite": 14, "pread": 16, "ftruncate": 4, "fsync": 5, "fstat": 5,
               "truncate": 4, "stat": 8, "unlink": 3, "rename": 3, "listdir": 3}

    def step(self):
        self.began_at = time.monotonic()
        getattr(self, self.random.choices(list(self.WEIGHTS), self.WEIGHTS.values())[0])()
        took_seconds = time.monotonic() - self.began_at
        for former in itertools.chain(*self.former.values()):
            former.delay_seconds = max(former.delay_seconds, took_seconds)

    def end(self):
        while self.descriptors:
            self.close()
        for name in NAMES:
            self.check_stored(name)


def returns_to_base(file, size):
    """Whether nothing may be left to store, which depends on how the file came by its bytes; such calls are left out."""
    return resized(file.content, size) == file.base


def resized(content, size):
    return content[:size] + bytes(max(0, size - len(content)))


def main(folder, prefix, seed, count, ttl, *bucket):
    outside = Outside(folder, prefix, int(seed), float(ttl), Bucket(*bucket))
    return play(outside, seed, int(count), Wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
