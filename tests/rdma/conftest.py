# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that run in a guest of tools/vm/run.sh, where there is a device rxe0."""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "mount")]  # peer/ and the mount suite's harness/

from harness.settings import BUILD  # noqa: E402
from harness.site import Site, no_leaks  # noqa: E402
from harness.target import Target  # noqa: E402

DEVICE = "rxe0"
# Where the guest's RDMA device is, see tools/vm/guest.sh.
Target.address = f"10.9.0.{os.environ.get('HOST', '1')}"


def pytest_collection_modifyitems(items):
    if not Path("/sys/class/infiniband", DEVICE).exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"no {DEVICE} here: tools/test.sh rdma runs these in a guest"))


@pytest.fixture(autouse=True)
def nothing_left_by_the_test(tmp_path):
    yield from no_leaks("LEAK_MARK_OF_TEST", tmp_path)


@pytest.fixture
def site(tmp_path):
    """A place for one test's servers and mounts."""
    made = Site(tmp_path, BUILD / "src/daemon/s3rdmafs", BUILD / "tools/target/s3rdma-target")
    yield made
    made.end()


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory):
    """A place for servers and mounts that all tests of a file use."""
    made = Site(tmp_path_factory.mktemp("site"), BUILD / "src/daemon/s3rdmafs",
                BUILD / "tools/target/s3rdma-target")
    yield made
    made.end()
