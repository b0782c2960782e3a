# SPDX-License-Identifier: Apache-2.0
"""Objects that are replaced again and again, and readers that tell a mix of two versions from one.

Every 512 bytes name their object, its version and their place (content.py), and each version has a size of its own.
"""

import collections
import ctypes
import errno
import mmap
import multiprocessing
import os
import random
import struct
import subprocess
import threading
import time

from harness import content

# Lives of handles: many that are opened just while their object is replaced, and some that outlive that for long.
HANDLE_SECONDS = (0.05, 0.5, 3.0)
# Between two reads of a handle, so that eight readers on two processors leave some to the writers.
PAUSE_SECONDS = 0.005
LENGTHS = (512, 4096, 65_536, 300_032, 1 << 20)
# For readers and replacements to end when their time is up: more than the mount's retry.deadline.
GRACE_SECONDS = 60
NEVER = 0  # versions begin with 1


def number_of(index, version):
    """The file number, as content.py takes it."""
    return index << 32 | version


def size_of(base, version):
    """Of `base`, whole units, and what tells versions apart: pages, and a last unit that still has its header."""
    return base + version % 7 * 4096 + (1 + version % 29) * 16


class Wrong(Exception):
    """A reader saw bytes that no reader may ever see."""


class Objects:
    """The objects' names, sizes, and how far each has come; shared by the readers, which are processes."""

    def __init__(self, sizes):
        self.names, self.bases = list(sizes), list(sizes.values())
        self.versions = multiprocessing.Array(ctypes.c_uint64, len(sizes), lock=False)  # of the last replacement begun
        self.settled = multiprocessing.Array(ctypes.c_uint64, len(sizes), lock=False)   # no open may give an older one
        self._finished = [0.0] * len(sizes)
        self._being_replaced = [threading.Lock() for _ in sizes]

    def replace(self, index, put, name_seconds):
        """Has `put(name, bytes)` make the next version. A mount may take `name_seconds` to see it."""
        with self._being_replaced[index]:
            if time.monotonic() - self._finished[index] > name_seconds:
                self.settled[index] = self.versions[index]
            version = self.versions[index] + 1
            body = content.expected(number_of(index, version), 0, size_of(self.bases[index], version))
            self.versions[index] = version
            put(self.names[index], body)
            self._finished[index] = time.monotonic()


def put_by_s3(target, bucket, scratch):
    """A put for Objects.replace: one PutObject, by curl."""
    def put(name, body):
        file = scratch / f"put-{threading.get_ident()}"
        file.write_bytes(body)
        subprocess.run(
            ["curl", "--silent", "--show-error", "--fail", "--header", "Expect:", "--aws-sigv4", "aws:amz:us-east-1:s3",
             "--user", f"{target.access_key}:{target.secret_key}", "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
             "--upload-file", file, f"{target.endpoint}/{bucket}/{name}"], check=True, timeout=60)
    return put


def put_by_mount(point):
    """The same by a mount that writes."""
    def put(name, body):
        with open(point / name, "wb") as file:
            file.write(body)
    return put


class Replacing:
    """While entered, a thread for each put replaces objects, chosen at random, one after the other."""

    def __init__(self, objects, puts, name_seconds):
        self._objects, self._name_seconds = objects, name_seconds
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(put, seed), daemon=True) for seed, put in enumerate(puts)]
        self.failures = []

    def _run(self, put, seed):
        choice = random.Random(seed)
        while not self._end.wait(PAUSE_SECONDS):
            try:
                self._objects.replace(choice.randrange(len(self._objects.names)), put, self._name_seconds)
            except Exception as failure:  # said by the test
                self.failures.append(failure)
                return

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join(GRACE_SECONDS)
            if thread.is_alive():
                self.failures.append(AssertionError("a replacement hangs"))


class Handle:
    """An open file and its way to be read. ESTALE, where it is met, is raised as such."""

    def __init__(self, path, how, choice):
        self.file = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.file).st_size
        self._how, self._choice, self._next = how, choice, 0
        if how == "mmap":
            self._memory = mmap.mmap(self.file, self.size, prot=mmap.PROT_READ)
            self._sink = os.memfd_create("sink")

    def place(self):
        """(offset, length) of what this reader wants next; offsets are those of units."""
        length = self._choice.choice(LENGTHS)
        if self._how != "read":
            offset = self._choice.randrange(self.size) // content.UNIT_BYTES * content.UNIT_BYTES
        else:
            offset, self._next = self._next, self._next + length
            if self._next >= self.size:
                self._next = 0
        return offset, min(length, self.size - offset)

    def read(self, offset, length):
        return self._copy_mapped(offset, length) if self._how == "mmap" else self._read_all(offset, length)

    def _read_all(self, offset, length):
        """read(2) may be short: before an error, for one."""
        got = b""
        if self._how == "read":
            os.lseek(self.file, offset, os.SEEK_SET)
        while len(got) < length:
            left = length - len(got)
            piece = os.read(self.file, left) if self._how == "read" else os.pread(self.file, left, offset + len(got))
            if not piece:
                raise Wrong(f"it ends at {offset + len(got)} of {self.size}")
            got += piece
        return got

    def _copy_mapped(self, offset, length):
        """Lets the kernel touch the pages: where a program would get SIGBUS, write(2) says EFAULT."""
        done = 0
        with memoryview(self._memory) as view:
            while done < length:
                try:
                    done += os.pwrite(self._sink, view[offset + done:offset + length], done)
                except OSError as error:
                    if error.errno != errno.EFAULT:
                        raise
                    os.pread(self.file, 1, offset + done)  # the reason, which a signal does not carry
                    raise Wrong(f"SIGBUS at {offset + done}, where read(2) sees nothing wrong") from None
        return os.pread(self._sink, length, 0)

    def close(self):
        if self._how == "mmap":
            self._memory.close()
            os.close(self._sink)
        os.close(self.file)


def _check(objects, index, version, got, offset, length):
    """The version these bytes are of. Raises Wrong unless all of them are, and it is `version` if that is known."""
    number, _ = struct.unpack_from("<QQ", got)
    if version == NEVER:
        version = number & 0xFFFFFFFF
    if wrong := content.difference(got, number_of(index, version), offset, length):
        found = f"object {number >> 32} version {number & 0xFFFFFFFF}"
        raise Wrong(f"{objects.names[index]} version {version}, but {found}: {wrong}")
    return version


def read_one_handle(path, objects, index, how, choice, counts, by_name=False):
    """From open to close. With `by_name` each read opens the name again, as a cache that ignores the ETag would."""
    settled = objects.settled[index]
    handle = Handle(path, how, choice)
    version = NEVER
    end = time.monotonic() + choice.uniform(0, choice.choice(HANDLE_SECONDS))
    try:
        while time.monotonic() < end:
            offset, length = handle.place()
            version = _check(objects, index, version, handle.read(offset, length), offset, length)
            if version < settled:
                raise Wrong(f"{objects.names[index]}: version {version} was opened when {settled} had long been there")
            if handle.size != size_of(objects.bases[index], version):
                raise Wrong(f"{objects.names[index]}: version {version} has {handle.size} bytes")
            counts["bytes"] += length
            if by_name:
                old, handle = handle, Handle(path, how, choice)
                old.close()
            time.sleep(PAUSE_SECONDS)
    finally:
        counts["handles"] += 1
        counts["handles that outlived their version"] += NEVER < version < objects.versions[index]
        handle.close()


def _read(pipe, folder, objects, how, seed, seconds, by_name):
    """One reader: sends (counts, what was wrong)."""
    counts, wrong, choice = collections.Counter(), [], random.Random(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not wrong:
        index = choice.randrange(len(objects.names))
        before = counts["handles"]
        try:
            read_one_handle(folder / objects.names[index], objects, index, how, choice, counts, by_name)
        except Wrong as failure:
            wrong.append(f"{how}: {failure}")
        except OSError as error:
            if error.errno != errno.ESTALE:
                wrong.append(f"{how}: {objects.names[index]}: {error}")
            else:
                counts["ESTALE of a read" if counts["handles"] > before else "ESTALE of an open"] += 1
    pipe.send((counts, wrong))


def read_all(folder, objects, ways, seconds, replacing, by_name=False):
    """A process for each of `ways` reads for so long, while `replacing`; the sum of their counts, and what was wrong."""
    context = multiprocessing.get_context("fork")
    began, readers = time.monotonic(), []
    for seed, how in enumerate(ways):
        near, far = context.Pipe(duplex=False)
        reader = context.Process(target=_read, args=(far, folder, objects, how, seed, seconds, by_name))
        reader.start()
        far.close()
        readers.append((how, reader, near))
    with replacing:  # not before: a reader would inherit what its threads have open at that moment
        for _, _, pipe in readers:
            pipe.poll(max(0, began + seconds - time.monotonic()) + GRACE_SECONDS)
    counts, wrong = collections.Counter(), []
    for how, reader, pipe in readers:
        try:
            one, why = pipe.recv() if pipe.poll() else (collections.Counter(), [f"{how}: it hangs"])
        except EOFError:
            one, why = collections.Counter(), [f"{how}: it died"]
        counts += one
        wrong += why
        reader.kill()  # to no avail, until the mount has ended, where it is the mount that hangs
        reader.join(5)
    return counts, wrong
