# SPDX-License-Identifier: Apache-2.0
"""libs3rdmafs by ctypes, as a program in Python would use it."""

import ctypes
import os

from harness.settings import BUILD

FROM_MEMORY, FROM_MOUNT = 1, 2


class Range(ctypes.Structure):
    _fields_ = [("buffer", ctypes.c_void_p), ("length", ctypes.c_size_t), ("offset", ctypes.c_int64),
                ("result", ctypes.c_ssize_t), ("source", ctypes.c_int)]


class MappingOf(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("length", ctypes.c_size_t), ("source", ctypes.c_int),
                ("owner", ctypes.c_void_p)]


def load(path=BUILD / "src" / "client" / "libs3rdmafs.so.1"):
    library = ctypes.CDLL(str(path))
    library.s3rdmafs_pread.restype = ctypes.c_ssize_t
    library.s3rdmafs_pread.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64,
                                       ctypes.POINTER(ctypes.c_int)]
    library.s3rdmafs_map.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_size_t, ctypes.POINTER(MappingOf)]
    library.s3rdmafs_prefetch.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_size_t]
    library.s3rdmafs_pread_many.argtypes = [ctypes.c_void_p, ctypes.POINTER(Range), ctypes.c_size_t]
    library.s3rdmafs_close.argtypes = library.s3rdmafs_fd.argtypes = [ctypes.c_void_p]
    library.s3rdmafs_size.argtypes = library.s3rdmafs_reason.argtypes = [ctypes.c_void_p]
    library.s3rdmafs_size.restype = ctypes.c_uint64
    library.s3rdmafs_reason.restype = ctypes.c_char_p
    return library


LIBRARY = load()


def checked(result):
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


class File:
    """A file that is attached."""

    def __init__(self, path):
        self._file = ctypes.c_void_p()
        checked(LIBRARY.s3rdmafs_open(os.fsencode(path), ctypes.byref(self._file)))

    @property
    def reason(self):
        told = LIBRARY.s3rdmafs_reason(self._file)
        return None if told is None else told.decode()

    @property
    def size(self):
        return LIBRARY.s3rdmafs_size(self._file)

    @property
    def fd(self):
        return LIBRARY.s3rdmafs_fd(self._file)

    def read(self, length, offset):
        """(bytes, source)"""
        buffer, source = ctypes.create_string_buffer(max(length, 1)), ctypes.c_int()
        n = checked(LIBRARY.s3rdmafs_pread(self._file, buffer, length, offset, ctypes.byref(source)))
        return buffer.raw[:n], source.value

    def read_into(self, address, length, offset):
        return checked(LIBRARY.s3rdmafs_pread(self._file, address, length, offset, None))

    def read_many(self, ranges):
        """[(length, offset)] -> [(bytes, source)]"""
        buffers = [ctypes.create_string_buffer(max(length, 1)) for length, _ in ranges]
        wanted = (Range * len(ranges))(*[
            Range(ctypes.addressof(buffer), length, offset, 0, 0)
            for buffer, (length, offset) in zip(buffers, ranges, strict=True)])
        checked(LIBRARY.s3rdmafs_pread_many(self._file, wanted, len(ranges)))
        return [(buffer.raw[:one.result], one.source) for buffer, one in zip(buffers, wanted, strict=True)]

    def prefetch(self, offset, length):
        LIBRARY.s3rdmafs_prefetch(self._file, offset, length)

    def map(self, offset, length):
        mapping = MappingOf()
        checked(LIBRARY.s3rdmafs_map(self._file, offset, length, ctypes.byref(mapping)))
        return mapping

    def close(self):
        LIBRARY.s3rdmafs_close(self._file)
        self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def bytes_of(mapping):
    return ctypes.string_at(mapping.bytes, mapping.length)


def unmap(mapping):
    LIBRARY.s3rdmafs_unmap(ctypes.byref(mapping))
