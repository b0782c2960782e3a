#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that writes checkpoints: a shard each, and .metadata by rank 0 when all shards are there.

    rank.py FOLDER RANK RANKS STEP

As checkpoint libraries do: each file is written under another name and renamed into place.
"""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import content  # noqa: E402

SHARD_BYTES = 3_000_000
WAIT_SECONDS = 120


def shard_of(step, rank):
    return content.expected(step * 100 + rank, 0, SHARD_BYTES + rank)


def put(path, data):
    with open(f"{path}.tmp{os.getpid()}", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(file.name, path)


def main(folder, rank, ranks, step):
    rank, ranks, step = int(rank), int(ranks), int(step)
    os.makedirs(folder, exist_ok=True)
    put(f"{folder}/shard{rank}", shard_of(step, rank))
    if rank != 0:
        return
    deadline = time.monotonic() + WAIT_SECONDS
    wanted = {f"shard{number}" for number in range(ranks)}
    while not wanted <= set(os.listdir(folder)):
        if time.monotonic() > deadline:
            sys.exit(2)
        time.sleep(0.02)
    put(f"{folder}/.metadata", f"{ranks}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
