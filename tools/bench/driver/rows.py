# SPDX-License-Identifier: Apache-2.0
"""The table: every work, who does it, and what is asked of the result. One place, in the order it is shown."""

from dataclasses import dataclass, replace

from samples import TrainingSet

from . import rows_late, rows_names, rows_past_fuse, rows_writes
from .contestants import TRAINING_CACHE
from .data import Files
from .work import (DAEMON_CPU, EPOCHS, FETCHED, GIB, KIB, LATENCY, MIB, OPS, RATE, Claim, Side, Work)


@dataclass(frozen=True)
class Scale:
    """How much is read; --quick makes it smaller, not different."""
    runs: int
    cache: int
    sequential: int
    rivals: int
    small_files: int
    rival_files: int
    whole_files: int
    random_object: int
    random_reads: int
    resident: int
    rival_training: int
    late: rows_late.Scale
    names: rows_names.Scale
    writes: rows_writes.Scale


FULL = Scale(runs=5, cache=GIB, sequential=4 * GIB, rivals=GIB, small_files=20_000, rival_files=1000,
             whole_files=200, random_object=4 * GIB, random_reads=40_000, resident=512 * MIB, rival_training=GIB // 4,
             late=rows_late.FULL, names=rows_names.FULL, writes=rows_writes.FULL)
QUICK = Scale(runs=3, cache=512 * MIB, sequential=GIB, rivals=256 * MIB, small_files=2000, rival_files=200,
              whole_files=24, random_object=GIB, random_reads=8000, resident=256 * MIB, rival_training=GIB // 4,
              late=rows_late.QUICK, names=rows_names.QUICK, writes=rows_writes.QUICK)
# For the rows that tour.py names, on a machine of 12 GiB: large enough that no run is shorter than a tenth of a second.
TOUR = replace(QUICK, sequential=2 * GIB, rivals=GIB // 2, small_files=5000, rival_files=1000, random_object=2 * GIB,
               resident=GIB // 4, names=replace(rows_names.QUICK, storm=5000),
               writes=replace(rows_writes.QUICK, small_files=2000, rival_files=2000, stream=4 * GIB))


def works(scale):
    sequential = Files(1, scale.sequential, real=False)
    # Half of it where each run takes as much page cache, which has to be touched before it (memory.py).
    buffered = Files(1, scale.sequential // 2, real=False)
    real = Files(1, scale.rivals, real=True)
    resident = Files(1, scale.resident, real=True)
    small = Files(scale.small_files, 100_000, real=True)
    few_small = Files(scale.rival_files, 100_000, real=True)
    read_1m = "sequential --block 1048576 {files}"
    checked_1m = "sequential --block 1048576 --verify {files}"
    mapped = "sequential --how mmap --block 1048576 {files}"
    raw_parts = "sequential --part 8388608 --parallel 8 {first}"
    all_small = "files --readers 8 --block 131072 --verify {folder}"
    return [
        Work("sequential-direct", "cold sequential, 1 reader, 1 MiB reads, direct", "none", sequential,
             {"s3rdmafs": Side("ours", read_1m), "null": Side("null-direct", read_1m)},
             (Claim(RATE, "null", at_least=0.90), Claim(DAEMON_CPU, "null", at_most=1.25))),
        Work("sequential-buffered", "cold sequential, 1 reader, 1 MiB reads, through the page cache", "none",
             buffered,
             {"s3rdmafs": Side("ours-buffered", read_1m), "null": Side("null-buffered", read_1m)},
             (Claim(RATE, "null", at_least=0.90), Claim(DAEMON_CPU, "null", at_most=1.25))),
        Work("sequential-mmap", "cold sequential, 1 reader, mmap", "none", buffered,
             {"s3rdmafs": Side("ours-buffered", mapped), "null": Side("null-buffered", mapped)},
             (Claim(RATE, "null", at_least=0.90), Claim(DAEMON_CPU, "null", at_most=1.25))),
        Work("sequential-4", "cold sequential, 4 readers on 4 files, direct", "none",
             Files(4, scale.sequential // 2, real=False),
             {"s3rdmafs": Side("ours", "sequential --readers 4 --block 1048576 {files}"),
              "null": Side("null-direct", "sequential --readers 4 --block 1048576 {files}")},
             (Claim(RATE, "null", at_least=0.90), Claim(DAEMON_CPU, "null", at_most=1.25))),
        Work("real-copies", "cold sequential, 1 reader, 1 MiB reads, real copies", "copy", real,
             {"s3rdmafs": Side("ours-copy", checked_1m), "s3fs": Side("s3fs", checked_1m),
              "rclone": Side("rclone", checked_1m)},
             (Claim(RATE, "s3fs", at_least=4), Claim(RATE, "rclone", at_least=4))),
        Work("http", "the same over plain HTTP", "copy", real,
             {"s3rdmafs": Side("ours-http", checked_1m), "s3fs": Side("s3fs", checked_1m),
              "rclone": Side("rclone", checked_1m), "raw client": Side("raw-http", raw_parts)},
             (Claim(RATE, "s3fs", at_least=1.5), Claim(RATE, "rclone", at_least=1.5),
              Claim(RATE, "raw client", at_least=0.8))),
        Work("resident-read", "resident object, 1 MiB reads", "copy", resident,
             {"s3rdmafs": Side("ours-copy", checked_1m), "tmpfs": Side("tmpfs", checked_1m)},
             (Claim(RATE, "tmpfs", at_least=0.90),), cold=False),
        Work("resident-mmap", "resident object, scan of a mapping", "copy", resident,
             {"s3rdmafs": Side("ours-copy", mapped + " --verify"), "tmpfs": Side("tmpfs", mapped + " --verify")},
             (Claim(RATE, "tmpfs", at_least=0.90),), cold=False),
        Work("resident-random", "resident object, 4 KiB random reads", "copy", resident,
             {name: Side(on, "random --block 4096 --reads 200000 --verify {first}")
              for name, on in (("s3rdmafs", "ours-copy"), ("tmpfs", "tmpfs"))},
             (Claim(OPS, "tmpfs", at_least=0.90),), cold=False, metrics=(OPS,)),
        Work("whole-files", f"{scale.whole_files} cold files of 32 MiB, open + read + close, 2 readers", "none",
             Files(scale.whole_files, 32 * MIB, real=False),
             {"s3rdmafs": Side("ours", "files --readers 2 --block 1048576 {folder}"),
              "null": Side("null-direct", "files --readers 2 --block 1048576 {folder}")},
             (Claim(RATE, "null", at_least=1.5),)),
        Work("random-cold", "4 KiB random reads of a cold object, 16 readers", "copy",
             Files(1, scale.random_object, real=True),
             {"s3rdmafs": Side("ours-copy", f"random --block 4096 --readers 16 --verify"
                               f" --reads {scale.random_reads} {{first}}"),
              "raw client": Side("raw-shm", f"random --part 65536 --parallel 16"
                                 f" --reads {scale.random_reads} {{first}}")},
             (Claim(OPS, "raw client", at_least=0.8), Claim(FETCHED, None, at_most=16)),
             metrics=(OPS, FETCHED)),
        Work("small-files", f"{scale.small_files} files of 100 KB in random order, 8 readers, cold", "copy", small,
             {"s3rdmafs": Side("ours-copy", all_small),
              "raw client": Side("raw-shm", "objects --parallel 8 {folder}"),
              "s3fs": Side("s3fs", all_small, few_small), "rclone": Side("rclone", all_small, few_small)},
             (Claim(OPS, "raw client", at_least=0.7), Claim(OPS, "s3fs", at_least=3),
              Claim(OPS, "rclone", at_least=3)), metrics=(OPS,)),
        Work("safetensors", "one file by 8 processes through mmap, each its slice of every tensor, cold", "none",
             buffered,
             # Buffered, as files of that name are by default.
             {"s3rdmafs": Side("ours-buffered",
                               "sequential --how mmap --readers 8 --share 4194304 --block 1048576 {files}"),
              "sequential": Side("ours-buffered", read_1m)},
             (Claim(RATE, "sequential", at_least=0.7),)),
        Work("safetensors-set", "a set of 4 shards by 8 processes through mmap, each its slice of every tensor, cold", "none",
             Files(4, scale.sequential // 8, real=False),
             {"s3rdmafs": Side("ours-buffered",
                               "sequential --how mmap --readers 8 --share 4194304 --block 1048576 {files}"),
              "sequential": Side("ours-buffered", "sequential --readers 1 --share 4194304 --block 1048576 {files}")},
             (Claim(RATE, "sequential", at_least=0.9), Claim(FETCHED, None, at_most=1.05)), metrics=(RATE, FETCHED)),
        Work("hit-latency", "a hit: one cached 4 KiB block", "copy", Files(1, 64 * MIB, real=True),
             {name: Side(on, "again --block 4096 --reads 20000 {first}")
              for name, on in (("s3rdmafs", "ours-copy"), ("null", "null-direct"))},
             (Claim(LATENCY, "null", at_most=1.15),), cold=False, metrics=(LATENCY,)),
        *rows_late.works(scale.late),
        *rows_past_fuse.works(scale),
        *training(scale),
        *rows_names.works(scale.names),
        *rows_writes.works(scale.writes),
    ]


def training(scale):
    """PyTorch's DataLoader. The local folder is the server's own, on a huge-page tmpfs."""
    def side(on, files, past_fuse=False):
        return Side(on, f"train --files {files.files} --shards {files.shards} {{folder}}", files, past_fuse)
    outside, inside = TrainingSet.of(2 * TRAINING_CACHE["size"]), TrainingSet.of(scale.cache // 2)
    rivals = TrainingSet.of(scale.rival_training)
    return [
        Work("training", f"PyTorch DataLoader, {outside.count} samples, twice the cache, 4 workers, shuffled, 2 epochs",
             "copy", outside,
             {"s3rdmafs": side("ours-training", outside), "past FUSE": side("ours-training", outside, past_fuse=True),
              "local folder": side("tmpfs", outside),
              "s3fs": side("s3fs", rivals), "rclone": side("rclone", rivals)},
             (*(Claim(epoch, other) for epoch in EPOCHS for other in ("local folder", "s3fs", "rclone")),
              Claim(EPOCHS[0], "local folder", at_least=0.85, ours="past FUSE")),
             metrics=EPOCHS),
        Work("training-resident", f"the same, {inside.count} samples, half the cache", "copy", inside,
             {"s3rdmafs": side("ours-copy", inside), "past FUSE": side("ours-copy", inside, past_fuse=True),
              "local folder": side("tmpfs", inside)},
             (Claim(EPOCHS[0], "local folder"), Claim(EPOCHS[1], "local folder", at_least=0.90),
              Claim(EPOCHS[1], "local folder", at_least=0.98, ours="past FUSE")), metrics=EPOCHS),
    ]
