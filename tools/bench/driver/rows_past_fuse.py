# SPDX-License-Identifier: Apache-2.0
"""The rows of programs that read past FUSE (s3rdmafs run): what is left is memory, and the part of it that has to come first."""

from .data import Files
from .work import MIB, OPS, RATE, Claim, Side, Work


def works(scale):
    read_1m = "sequential --block 1048576 {files}"
    four = "sequential --readers 4 --block 1048576 {files}"
    checked = "sequential --block 1048576 --verify {files}"
    random = "random --block 4096 --reads 200000 --verify {first}"
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
