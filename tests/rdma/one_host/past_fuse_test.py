# SPDX-License-Identifier: Apache-2.0
"""Programs read past FUSE on a kernel that has no passthrough, from memory that a real device has written."""

import os
import subprocess

import pytest
from harness import content
from harness.mount import COMMAND_SECONDS, GET_BYTES, can_pass_through, total
from harness.processes import bytes_read
from harness.settings import BUILD
from harness.units import MIB

BUCKET = "bucket"
FILE_BYTES = 24 * MIB + 4321
CACHE = {"size": "192MiB", "resident_size": "128MiB", "passthrough_max": "16MiB"}


@pytest.fixture
def mounted(site):
    server = site.target("--rc", "rxe0")
    content.write(server.root / BUCKET / "file", 1, FILE_BYTES)
    return site.mount(server, BUCKET, rdma={"mode": "require", "fabric": "rc", "threshold": "0"}, cache=CACHE)


def cat(mounted, *before):
    return subprocess.run([*before, "cat", mounted / "file"], check=True, stdout=subprocess.PIPE,
                          timeout=COMMAND_SECONDS).stdout


def check(got):
    assert len(got) == FILE_BYTES
    why = content.difference(got, 1, 0, FILE_BYTES)
    assert not why, why


def test_a_program_reads_past_fuse(mounted, tmp_path):
    report = tmp_path / "report"
    check(cat(mounted, BUILD / "src/daemon/s3rdmafs", "run", "--report", report, "--"))
    # The first small reads of a file do not fetch a part.
    assert bytes_read(report)[0] > FILE_BYTES - MIB, report.read_text()
    stats = mounted.stats()
    assert total(stats, GET_BYTES, 'path="rdma"') >= FILE_BYTES
    assert total(stats, GET_BYTES, 'path="http"') == 0


def test_whole_objects_are_fetched_only_for_a_kernel_that_reads_them(mounted):
    check(cat(mounted))
    warmed = subprocess.run([mounted.program, "warm", mounted.point, "file"], check=False, capture_output=True, text=True,
                            timeout=COMMAND_SECONDS)
    if can_pass_through():
        assert "needs Linux 6.9" in warmed.stderr, warmed
    else:
        assert warmed.returncode == 0, warmed


def test_a_mount_that_writes_gives_its_memory_to_blocks(site, tmp_path):
    server = site.target("--rc", "rxe0")
    content.write(server.root / BUCKET / "file", 1, FILE_BYTES)
    mounted = site.mount(server, BUCKET, write={"mode": "sequential"}, rdma={"mode": "require", "fabric": "rc"},
                         cache=CACHE)
    report = tmp_path / "report"
    check(cat(mounted, BUILD / "src/daemon/s3rdmafs", "run", "--report", report, "--"))
    assert bytes_read(report)[0] == 0
    with pytest.raises(OSError, match="No data available"):
        os.getxattr(mounted / "file", "s3.attach_socket")
    if can_pass_through():
        assert total(mounted.stats(), "cache_size_bytes") >= 192 * MIB
