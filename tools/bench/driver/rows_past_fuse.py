# SPDX-License-Identifier: Apache-2.0
"""The rows of programs that read past FUSE (s3rdmafs run): what is left is memory, and the part of it that has to come first."""

from .data import Files
from .work import FETCHED, MIB, OPS, RATE, Claim, Side, Work


def works(scale):
    read_1m = "sequential --block 1048576 {files}"
    four = "sequential --readers 4 --block 1048576 {files}"
    checked = "sequential --block 1048576 --verify {files}"
    random = "random --block 4096 --reads 200000 --verify {first}"
    mapped = "sequential --how library --block 1048576 {files}"
    whole = "files --readers 2 --block 1048576 {folder}"
    all_small = "files --readers 8 --block 131072 --verify {folder}"
    scattered = f"random --block 4096 --readers 16 --verify --reads {scale.random_reads} {{first}}"
    all_files = "sequential --readers 1 --share 1073741824 --block 1048576 {files}"
    eight = "sequential --readers 8 --block 1048576 {files}"
    parts = "sequential --part 8388608 --parallel 8 {first}"
    # tmpfs reads real bytes: the holes of a sparse file are one page, which the processor's cache has.
    return [
        Work("past-sequential", "past FUSE: cold sequential, 1 reader, 1 MiB reads", "none",
             Files(1, scale.sequential, real=False),
             {"s3rdmafs": Side("ours", read_1m, past_fuse=True),
              "tmpfs": Side("tmpfs", read_1m, Files(1, scale.sequential, real=True))},
             (Claim(RATE, "tmpfs", at_least=0.8),)),
        Work("past-sequential-4", "past FUSE: cold sequential, 4 readers on 4 files", "none",
             Files(4, scale.sequential // 4, real=False),
             {"s3rdmafs": Side("ours", four, past_fuse=True),
              "tmpfs": Side("tmpfs", four, Files(4, scale.sequential // 4, real=True))},
             (Claim(RATE, "tmpfs", at_least=0.8),)),
        Work("past-mapped", "past FUSE: cold sequential, mapped by the library, every byte touched", "none",
             Files(1, scale.sequential, real=False),
             {"s3rdmafs": Side("ours", mapped),
              "tmpfs": Side("tmpfs", mapped.replace("library", "mmap"), Files(1, scale.sequential, real=True))},
             (Claim(RATE, "tmpfs", at_least=0.9),)),
        Work("past-eight", "past FUSE: cold sequential, 8 processes on 8 files of one mount", "none",
             Files(8, scale.sequential // 8, real=False),
             {"s3rdmafs": Side("ours", eight, past_fuse=True), "one process": Side("ours", all_files, past_fuse=True)},
             (Claim(RATE, "one process", at_least=0.95),)),
        Work("past-whole-files", f"past FUSE: {scale.whole_files} cold files of 32 MiB, open + read + close, 2 readers", "none",
             Files(scale.whole_files, 32 * MIB, real=False),
             {"s3rdmafs": Side("ours", whole, past_fuse=True), "null": Side("null-direct", whole)},
             (Claim(RATE, "null", at_least=1.5),)),
        # Files below 1 MiB stay with FUSE (libs3rdmafs(3)); by FUSE alone is the row "small-files".
        Work("past-small-files", f"under s3rdmafs run: {scale.small_files} files of 100 KB in random order, 8 readers, cold", "copy",
             Files(scale.small_files, 100_000, real=True),
             {"s3rdmafs": Side("ours-copy", all_small, past_fuse=True),
              "raw client": Side("raw-shm", "objects --parallel 8 {folder}")},
             (Claim(OPS, "raw client", at_least=0.8),), metrics=(OPS,)),
        Work("past-random-cold", "past FUSE: 4 KiB random reads of a cold object, 16 readers", "copy",
             Files(1, scale.random_object, real=True),
             {"s3rdmafs": Side("ours-copy", scattered, past_fuse=True),
              "raw client": Side("raw-shm", f"random --part 65536 --parallel 16 --reads {scale.random_reads} {{first}}")},
             (Claim(OPS, "raw client", at_least=0.9),), metrics=(OPS, FETCHED)),
        Work("past-copies", "past FUSE: cold sequential, 1 reader, real copies", "copy", Files(1, scale.rivals, real=True),
             {"s3rdmafs": Side("ours-copy", checked, past_fuse=True), "FUSE": Side("ours-copy", checked)},
             (Claim(RATE, "FUSE", at_least=1.5),)),
        Work("past-http", "past FUSE: the same over plain HTTP", "copy", Files(1, scale.rivals, real=True),
             {"s3rdmafs": Side("ours-http", checked, past_fuse=True), "raw client": Side("raw-http", parts)},
             (Claim(RATE, "raw client", at_least=0.95),)),
        Work("past-random", "past FUSE: 4 KiB random reads, cached, 1 thread", "copy", Files(1, 256 * MIB, real=True),
             {"s3rdmafs": Side("ours-copy", random, past_fuse=True), "tmpfs": Side("tmpfs", random)},
             (Claim(OPS, "tmpfs", at_least=2),), cold=False, metrics=(OPS,)),
    ]
