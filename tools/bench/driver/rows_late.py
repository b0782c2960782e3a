# SPDX-License-Identifier: Apache-2.0
"""The rows of servers that take their time: what is fetched ahead decides, not how fast this machine is."""

from dataclasses import dataclass

from .data import Files
from .work import GIB, MIB, OPS, RATE, Claim, Side, Work


@dataclass(frozen=True)
class Scale:
    stream: int
    files: int
    shards: int


FULL = Scale(stream=GIB, files=2000, shards=16)
QUICK = Scale(stream=GIB, files=200, shards=8)

SMALL = 100_000  # bytes
UNKNOWN_FILES = 200  # where each waits for its server, all take the same 21 ms


def works(scale):
    stream = "sequential --block 1048576 {files}"
    shards = "files --readers 1 --block 1048576 {folder}"
    scattered = "files --readers 1 --block 131072 --verify {folder}"
    return [
        Work("late-stream", f"cold sequential, {scale.stream // MIB} MiB, 1 reader, answers 20 and 50 ms late", "copy",
             Files(1, scale.stream, real=True),
             {"s3rdmafs": Side("ours-late20", stream), "50 ms": Side("ours-late50", stream),
              "at once": Side("ours-copy", stream)},
             (Claim(RATE, "at once", at_least=0.9), Claim(RATE, "at once", at_least=0.75, ours="50 ms"))),
        Work("late-files", f"{scale.files} files of 100 KB, 1 reader, answers 20 ms late, in the order of the names", "copy",
             Files(scale.files, SMALL, real=True),
             {"s3rdmafs": Side("ours-late20", scattered + " --in-order"),
              "random": Side("ours-late20", scattered, Files(UNKNOWN_FILES, SMALL, real=True))},
             (Claim(OPS, "random", at_least=8),), metrics=(OPS,)),
        Work("late-known", f"{scale.files} files of 100 KB, 1 reader, answers 20 ms late, in a random order that a trace tells", "copy",
             Files(scale.files, SMALL, real=True),
             {"s3rdmafs": Side("ours-late20", scattered, traced=True),
              "not known": Side("ours-late20", f"{scattered} --files {UNKNOWN_FILES}")},
             (Claim(OPS, "not known", at_least=8),), fresh=True, metrics=(OPS,)),
        Work("late-shards", f"{scale.shards} files of 32 MiB, 1 reader, answers 50 ms late, in the order of the names", "copy",
             Files(scale.shards, 32 * MIB, real=False),
             {"s3rdmafs": Side("ours-late50", shards + " --in-order"), "random": Side("ours-late50", shards)},
             (Claim(RATE, "random"),)),
    ]
