# SPDX-License-Identifier: Apache-2.0
"""Suites of the mount run again with the library in front of libc: what they ask of a mount holds past FUSE too.

`read_test.py`, and what fio reads by pread(2) and read(2); the others take a minute each. S3RDMAFS_PRELOAD_SUITES names
others, such as "overwrite_test.py outage_test.py".
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness.processes import bytes_read, past_fuse
from harness.settings import BUILD

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_admin]

MOUNT_TESTS = Path(__file__).resolve().parent.parent
SUITES = os.environ.get("S3RDMAFS_PRELOAD_SUITES", "read_test.py fio_test.py").split()
NEEDS = {"fio_test.py": pytest.mark.needs("fio")}
TESTS_OF = {"fio_test.py": ["-k", "dev and sync"]}  # psync too; the other engines make system calls of their own
SUITE_SECONDS = 600


@pytest.mark.parametrize("suite", [pytest.param(suite, marks=NEEDS.get(suite, ())) for suite in SUITES])
def test_a_suite_passes_under_the_library(suite, tmp_path):
    report = tmp_path / "report"
    ended = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'base'}",
         MOUNT_TESTS / suite, *TESTS_OF.get(suite, [])],
        check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SUITE_SECONDS,
        env={**past_fuse(report), "S3RDMAFS_BUILD": str(BUILD)})
    print(ended.stdout)
    assert ended.returncode == 0
    past, _ = bytes_read(report)
    assert past > 0, "some reads did not go through the mount"
