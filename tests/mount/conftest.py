# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the mount suite. What a fixture starts it ends, also after a failure; and after each test
no process, no mount of it may be left."""

import os
import shutil
import uuid

import pytest
from harness.mount import Mount, can_mount, mount_file
from harness.processes import kill, marked, mounts_below, unmount_lazily
from harness.settings import BUILD
from harness.target import Target


def pytest_configure(config):
    config.addinivalue_line("markers", "needs_fuse: mounts something")
    config.addinivalue_line("markers", "needs_root: enters name spaces of its own")
    config.addinivalue_line("markers", "needs(program, ...): runs programs that others wrote")


def pytest_runtest_setup(item):
    if item.get_closest_marker("needs_fuse") and (why := can_mount()):
        pytest.skip(why)
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


def no_leaks(variable, folder):
    value = uuid.uuid4().hex
    os.environ[variable] = value
    yield
    del os.environ[variable]
    mounts, processes = mounts_below(folder), marked(f"{variable}={value}")
    for point in mounts:
        unmount_lazily(point)
    for pid in processes:
        kill(pid)
    assert not mounts and not processes, f"left behind: mounts {mounts}, processes {processes}"


class Site:
    """Starts targets and mounts in one folder, and ends them in reverse."""

    def __init__(self, folder, s3rdmafs, s3rdma_target):
        self.folder, self.s3rdmafs, self.s3rdma_target = folder, s3rdmafs, s3rdma_target
        self._endings = []
        self._count = 0

    def _number(self):
        self._count += 1
        return self._count

    def target(self, *options):
        number = self._number()
        started = Target(self.s3rdma_target, self.folder / f"root{number}",
                         self.folder / f"target{number}.log", *options)
        self._endings.append(started.stop)
        return started

    def mount_file(self, server, bucket_name, /, **sections):
        return mount_file(self.folder / f"mount{self._number()}.toml", server, bucket_name, **sections)

    def mount(self, server, bucket_name, /, **sections):
        """Mounts a bucket of `server` with these sections of the mount file on top of the defaults."""
        mounted = Mount(self.s3rdmafs, self.mount_file(server, bucket_name, **sections),
                        self.folder / f"mnt{self._number()}")
        self._endings.append(mounted.destroy)
        return mounted

    def end(self):
        failures = []
        while self._endings:
            try:
                self._endings.pop()()
            except Exception as failure:  # the rest must still be ended
                failures.append(failure)
        if failures:
            raise failures[0]


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
