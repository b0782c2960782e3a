# SPDX-License-Identifier: Apache-2.0
"""The objects: files in a huge-page tmpfs, which the target serves and native reads go to.

Cold means: a name that has never been asked for. Each run gets a folder of its own, whose files are hard links to a few
files per size, so that a hundred cold gigabytes cost the memory of one. Where no bytes are moved (--dma none),
files are holes and cost none at all.
"""

import os
import shutil
from dataclasses import dataclass

import samples

from .processes import COMMAND_SECONDS, run

BUCKET = "bench"


@dataclass(frozen=True)
class Files:
    """The files of one run. Real ones hold content that readers check; others are holes."""
    count: int
    size: int
    real: bool


@dataclass(frozen=True)
class Tree:
    """A folder of folders with so many files each, all of them holes."""
    folders: int
    files: int
    size: int

    @property
    def count(self):
        return self.folders * self.files


# Files of one size are links to at most so many different ones, lest the server read all of them from the
# processor's cache; no more, as each takes a huge page at least.
DIFFERENT_FILES = 128
DIFFERENT_BYTES = 256 << 20


class Data:
    def __init__(self, folder, read_load):
        self.root = folder / "root"      # of the target: each folder in it is a bucket
        self.bucket = self.root / BUCKET
        self._base = folder / "base"     # outside of the bucket: the real files, by size
        self._read_load = read_load
        self.bucket.mkdir(parents=True)
        self._base.mkdir()

    def make(self, folder, files):
        """Fills bucket folder `folder` ("a/b") with f00000, f00001, ..."""
        where = self.bucket / folder
        where.mkdir(parents=True)
        if isinstance(files, samples.TrainingSet):
            self._link_samples(where, files)
        elif isinstance(files, Tree):
            self._link_tree(where, files)
        elif files.real:
            self._link(where, files)
        else:
            for number in range(files.count):
                with open(where / f"f{number:05}", "wb") as file:
                    os.truncate(file.fileno(), files.size)

    def _link(self, where, files):
        different = min(files.count, DIFFERENT_FILES, max(1, DIFFERENT_BYTES // files.size))
        bases = [self._base / f"{files.size}.{number}" for number in range(different)]
        if not bases[0].exists():
            run(self._read_load, "make", "--size", files.size, bases[0], seconds=10 * COMMAND_SECONDS)
        for base in bases:
            if not base.exists():
                shutil.copyfile(bases[0], base)
        for number in range(files.count):
            os.link(bases[number % different], where / f"f{number:05}")

    def _link_tree(self, where, tree):
        base = self._base / f"hole.{tree.size}"
        with open(base, "wb") as file:
            os.truncate(file.fileno(), tree.size)
        for folder in range(tree.folders):
            within = f"{where}/d{folder:05}"
            os.mkdir(within)
            for number in range(tree.files):
                os.link(base, f"{within}/f{number:05}")

    def source(self, files):
        """A folder of such files outside of the bucket, the same for each who asks."""
        where = self._base / f"source.{files.count}.{files.size}"
        if not where.exists():
            where.mkdir()
            self._link(where, files)
        return where

    def remove(self, folder):
        """A bucket folder and all that was stored in it. The mounts are not told."""
        shutil.rmtree(self.bucket / folder, ignore_errors=True)

    def _link_samples(self, where, training_set):
        for number in range(training_set.files):
            base = self._base / f"sample.{samples.number_in_file(number)}"
            if not base.exists():
                samples.write_file(base, samples.number_in_file(number))
            os.link(base, where / samples.FILE_NAME.format(number))
        for shard in range(training_set.shards):
            base = self._base / f"shard.{shard}"
            if not base.exists():
                samples.write_shard(base, shard)
            os.link(base, where / samples.SHARD_NAME.format(shard))
