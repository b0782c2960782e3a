# SPDX-License-Identifier: Apache-2.0
"""The parts of a row of the table: contestants, their loads and files, and the ratios asked of the result."""

from dataclasses import dataclass

from samples import TrainingSet

from .data import Files, Tree

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

# The figures that are compared, by their written names. Of the first two, more is better.
RATE, OPS = "GB/s", "ops/s"
SECONDS, DAEMON_CPU, LATENCY = "s", "daemon CPU s/GB", "p50 us"
FETCHED, SENT = "bytes fetched per byte read", "bytes sent per byte changed"
PER_INODE = "resident bytes per inode"
EPOCHS = ("samples/s, epoch 1", "samples/s, epoch 2")


@dataclass(frozen=True)
class Side:
    """One contestant and what it is to do: words for read_load, for raw_get where it is a "raw", or "train" and words
    for train.py, or "tree" and words for tree_load.py.

    {files} stands for the paths of the run's files, {first} for the first of them, {folder} for their folder, {source}
    for the work's folder outside of the bucket.
    """
    on: str
    load: str
    files: Files | Tree | TrainingSet | None = None  # of its own where the work's would take it too long
    past_fuse: bool = False  # under "s3rdmafs run"
    traced: bool = False     # its first run is recorded; in later ones the trace is replayed beside the load
    source: Files | None = None  # of its own in place of the work's, as `files`


@dataclass(frozen=True)
class Claim:
    """`ours` against `against` (None: a figure by itself), by `metric`; with no bound it only has to be measured."""
    metric: str
    against: str | None
    at_least: float | None = None
    at_most: float | None = None
    ours: str = "s3rdmafs"

    def holds(self, ratio):
        return (self.at_least is None or ratio >= self.at_least) and (self.at_most is None or ratio <= self.at_most)


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    dma: str      # "none", "copy" or "" where no server takes part
    files: Files | Tree | TrainingSet
    sides: dict   # label -> Side
    claims: tuple
    cold: bool = True    # each run has new names; otherwise the first run is what makes it warm
    fresh: bool = False  # all runs share the names, and each has a mount of its own, which knows none of them
    writes: bool = False  # what a run has stored is removed at the server after it
    small: bool = False  # its objects are smaller than a huge page, which each would take and clear
    source: Files | None = None  # outside of the bucket, for works that copy into it
    metrics: tuple = (RATE, DAEMON_CPU)

    @property
    def shares_names(self):
        return self.fresh or not self.cold
