# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the mount suite. A fixture ends all that it has started, also after a failure. After each test, no
process and no mount of that test may be left."""

import os
import shutil
import signal

import pytest
from harness.mount import can_mount, can_pass_through
from harness.settings import BUILD
from harness.site import Site, no_leaks


def told_to_end(*_):
    raise KeyboardInterrupt  # so that fixtures end what they started, and the report is written


def forget_how_to_end():
    """A handler of Python's runs between two of its instructions: a worker that SIGTERM meets just before it waits would
    wait for ever, and its pool with it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def pytest_configure(config):
    signal.signal(signal.SIGTERM, told_to_end)
    os.register_at_fork(after_in_child=forget_how_to_end)
    config.addinivalue_line("markers", "needs_fuse: mounts something")
    config.addinivalue_line("markers", "needs_passthrough: the kernel reads files of the daemon")
    config.addinivalue_line("markers", "needs_admin: the daemon has memory for whole objects, on a tmpfs of its own")
    config.addinivalue_line("markers", "needs_root: enters name spaces of its own")
    config.addinivalue_line("markers", "needs(program, ...): runs programs of other authors")


def pytest_runtest_setup(item):
    if item.get_closest_marker("needs_fuse") and (why := can_mount()):
        pytest.skip(why)
    if item.get_closest_marker("needs_passthrough") and (why := can_pass_through()):
        pytest.skip(why)
    if item.get_closest_marker("needs_admin") and os.geteuid() != 0:
        pytest.skip("needs root: memory for whole objects needs CAP_SYS_ADMIN")
    if item.get_closest_marker("needs_root") and os.geteuid() != 0:
        pytest.skip("needs root: it makes a mount name space")
    for marker in item.iter_markers("needs"):
        for program in marker.args:
            if not shutil.which(program):
                pytest.skip(f"{program} is not installed (tools/setup.sh installs it)")


@pytest.fixture(scope="session")
def s3rdmafs():
    return BUILD / "src/daemon/s3rdmafs"


@pytest.fixture(scope="session")
def s3rdma_target():
    return BUILD / "tools/target/s3rdma-target"


@pytest.fixture(scope="session", autouse=True)
def nothing_left_by_the_session(tmp_path_factory):
    yield from no_leaks("LEAK_MARK_OF_SESSION", tmp_path_factory.getbasetemp())


@pytest.fixture(autouse=True)
def nothing_left_by_the_test(tmp_path):
    yield from no_leaks("LEAK_MARK_OF_TEST", tmp_path)


@pytest.fixture
def site(tmp_path, s3rdmafs, s3rdma_target):
    """A place for one test's servers and mounts."""
    made = Site(tmp_path, s3rdmafs, s3rdma_target)
    yield made
    made.end()


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory, s3rdmafs, s3rdma_target):
    """A place for servers and mounts that all tests of a file use."""
    made = Site(tmp_path_factory.mktemp("site"), s3rdmafs, s3rdma_target)
    yield made
    made.end()
