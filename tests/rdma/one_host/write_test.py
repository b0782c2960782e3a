# SPDX-License-Identifier: Apache-2.0
"""Writing through a mount over real verbs: the server reads every byte out of the mount's memory."""

import multiprocessing
import os

import pytest
from harness import content
from harness.mount import total
from harness.processes import eventually
from harness.s3_clients import Awscli
from harness.units import MIB
from harness.writing import PART, assert_copied, kill_in_mid_write

BUCKET = "written"
WRITERS = 8
WRITE_BYTES = "upload_bytes_total"
# Emulated processors take 200 files and one of 2 GiB too, in a quarter of an hour and 10 GiB of memory:
#   S3RDMAFS_RC_WRITES=full tools/vm/run.sh --mem 12288 --timeout 1800 -- tests/rdma/guest.sh one_host -k writers
IS_FULL = os.environ.get("S3RDMAFS_RC_WRITES") == "full"
FILES = 200 if IS_FULL else 40


def size_of(number):
    """From 0 bytes up; most small, a few of several parts."""
    if number == FILES - 1:
        return 2048 * MIB if IS_FULL else 3 * PART + 77
    return (0, 1, 4095, 70_000, MIB + 3, 511, PART, PART + 1, 300_000, 64 * 1024)[number % 10]


def write_files(folder, first):
    for number in range(first, FILES, WRITERS):
        with open(folder / f"file{number:03}", "wb", buffering=0) as file:
            for offset in range(0, size_of(number), MIB):
                file.write(content.expected(number, offset, min(MIB, size_of(number) - offset)))


def bytes_by(mounted, path):
    return total(mounted.stats(), WRITE_BYTES, f'path="{path}"')


@pytest.fixture
def server(site):
    return site.target("--rc", "rxe0", "--shm-socket", "off", bucket=BUCKET)


def mount_rc(site, server, deadline):
    return site.mount(server, BUCKET, rdma={"mode": "prefer", "fabric": "rc", "threshold": "0"},
                      retry={"deadline": deadline}, write={"mode": "sequential", "buffer_size": "64MiB"})


def test_a_server_killed_in_mid_write_gives_an_error_at_close_and_no_half_object(site, server):
    mounted = mount_rc(site, server, "4s")
    kill_in_mid_write(server, mounted, BUCKET, "rdma")


def test_files_of_eight_writers_are_what_another_client_reads(site, server, tmp_path):
    mounted = mount_rc(site, server, "120s")
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_files, args=(mounted.point, first)) for first in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(1200)
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    eventually(lambda: len(os.listdir(server.root / BUCKET)) >= FILES, 20, "every file is there")
    sent = sum(map(size_of, range(FILES)))
    assert bytes_by(mounted, "rdma") > 0.99 * sent, mounted.stats()
    assert bytes_by(mounted, "rdma") + bytes_by(mounted, "http") == sent

    copy = tmp_path / "copy"
    Awscli(server, BUCKET, tmp_path / "aws").run("s3", "cp", "--recursive", "--only-show-errors",
                                                 f"s3://{BUCKET}/", copy)
    assert_copied(copy, FILES, size_of)
