# SPDX-License-Identifier: Apache-2.0
"""The tests' settings, by environment variables.

Taken out of the environment when read: the programs under test take S3RDMAFS_* for keys of the mount file.
"""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# The build folder to test.
BUILD = Path(os.environ.pop("S3RDMAFS_BUILD", ROOT / "build")).resolve()

# How long each stress test runs.
STRESS_SECONDS = float(os.environ.pop("S3RDMAFS_STRESS_SECONDS", "10"))

# How long files are read while they are replaced.
OVERWRITE_SECONDS = float(os.environ.pop("S3RDMAFS_OVERWRITE_SECONDS", "20"))

# Whether fio goes through all combinations instead of some.
FIO_IS_FULL = os.environ.pop("S3RDMAFS_FIO", "") == "full"

# The server that s3rdma-target behaves as where a test does not choose one: a name of `harness/servers.py`.
BEHAVE_AS = os.environ.pop("S3RDMAFS_BEHAVE_AS", "")

# Whether each server that s3rdma-target behaves as is written to, or only those that differ in what a write asks.
ALL_SERVERS = os.environ.pop("S3RDMAFS_SERVERS", "") == "all"

# Whether each mount that stages has a tmpfs of its own for it, which the kernel writes by itself.
STAGE_ON_TMPFS = os.environ.pop("S3RDMAFS_STAGE_ON_TMPFS", "") == "1"

# How many pods come and go at random in the test of the CSI driver.
CSI_PODS = int(os.environ.pop("S3RDMAFS_CSI_PODS", "50"))
