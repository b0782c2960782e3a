# SPDX-License-Identifier: Apache-2.0
"""A training set: samples of 100 to 400 KB, some in files of their own and some packed into shards, as data sets come.

The content of a sample follows from its number, so a reader can tell whether it is right, every byte of it.
"""

import os
import random
import struct
from dataclasses import dataclass

SIZE_MIN, SIZE_STEPS = 100_000, 300_001
SIZE_MEAN = SIZE_MIN + SIZE_STEPS // 2
SHARD_SAMPLES = 256  # 64 MB: may be fetched whole when it is opened (cache.passthrough_max), if there is room
SHARD_NAME, FILE_NAME = "shard{:03}.bin", "{:06}.bin"

# Samples in files are alike in number % so many: they are links to so few files, as on a tmpfs with huge pages each
# takes 2 MiB.
DIFFERENT_FILES = 512

_NUMBER = struct.Struct("<Q")
_NOISE = random.Random(20230701).randbytes(4 << 20)


def size_of(number):
    return SIZE_MIN + number * 7919 % SIZE_STEPS


def content(number):
    """The number, and noise from a place that depends on it."""
    begin = number * 4099 % (len(_NOISE) - SIZE_MIN - SIZE_STEPS)
    return _NUMBER.pack(number) + _NOISE[begin:begin + size_of(number) - _NUMBER.size]


def number_in_file(index):
    return index % DIFFERENT_FILES


def number_in_shard(shard, place):
    return DIFFERENT_FILES + shard * SHARD_SAMPLES + place


def write_file(path, number):
    path.write_bytes(content(number))


def write_shard(path, shard):
    with open(path, "wb") as file:
        for place in range(SHARD_SAMPLES):
            file.write(content(number_in_shard(shard, place)))


@dataclass(frozen=True)
class TrainingSet:
    """So many samples in files, and so many shards, below one folder."""
    files: int
    shards: int

    @classmethod
    def of(cls, size_bytes):
        """About so large, half of it in shards."""
        return cls(files=size_bytes // 2 // SIZE_MEAN, shards=max(1, size_bytes // 2 // (SHARD_SAMPLES * SIZE_MEAN)))

    @property
    def count(self):
        """Of samples."""
        return self.files + self.shards * SHARD_SAMPLES


class Reader:
    """Reads samples as a data loader's worker does: a file is opened for one sample, a shard for all."""

    def __init__(self, folder, training_set):
        self._folder, self._set, self._shards = folder, training_set, {}

    def read(self, index):
        """The bytes of a sample. Raises ValueError where one of them is wrong."""
        if index < self._set.files:
            number = number_in_file(index)
            with open(self._folder / FILE_NAME.format(index), "rb", buffering=0) as file:
                got = file.read()
        else:
            shard, place = divmod(index - self._set.files, SHARD_SAMPLES)
            number = number_in_shard(shard, place)
            file, offsets = self._shard(shard)
            got = os.pread(file, size_of(number), offsets[place])
        if got != content(number):
            raise ValueError(f"sample {index} in {self._folder}: {len(got)} bytes that are not its own")
        return got

    def _shard(self, shard):
        if shard not in self._shards:
            offsets, offset = [], 0
            for place in range(SHARD_SAMPLES):
                offsets.append(offset)
                offset += size_of(number_in_shard(shard, place))
            self._shards[shard] = os.open(self._folder / SHARD_NAME.format(shard), os.O_RDONLY), offsets
        return self._shards[shard]
