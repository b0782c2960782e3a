# SPDX-License-Identifier: Apache-2.0
"""These tests run in a machine that tests/systemd/run.sh has booted, and nowhere else: they stop and start its units."""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "mount")]  # the mount suite's harness/


def pytest_collection_modifyitems(items):
    if not Path("/run/vm/systemd").exists():
        for item in items:
            item.add_marker(pytest.mark.skip(reason="not in the virtual machine: tools/test.sh systemd runs these there"))


@pytest.fixture
def open_file():
    """Opens files that are closed after the test, whatever has become of their mounts."""
    descriptors = []

    def opened(path):
        descriptors.append(os.open(path, os.O_RDONLY))
        return descriptors[-1]
    yield opened
    for descriptor in descriptors:
        os.close(descriptor)
