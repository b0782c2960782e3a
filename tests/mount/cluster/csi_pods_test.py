# SPDX-License-Identifier: Apache-2.0
"""Pods that come and go at random while the CSI driver is killed: nothing is left, no reader is disturbed. And a driver with
a mount name space of its own, as a container has one: its mounts reach the node, and the pods."""

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from harness import content
from harness.csi import PROGRAMS, SIZE, Node, assert_nothing_left, digest, volume_of, why_not
from harness.namespace import leaving_other_mounts
from harness.processes import eventually, unmount_lazily
from harness.settings import CSI_PODS

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_root, pytest.mark.needs(*PROGRAMS),
              pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is here")]
grpc = pytest.importorskip("grpc", reason="python3-grpcio is not installed")
Code = grpc.StatusCode


class Readers:
    """Pods that read: each opens a file of its volume, keeps it open, and reads it again and again."""

    def __init__(self):
        self._files, self.rounds = {}, 0

    def add(self, pod, path, seed):
        self._files[pod] = (open(path / "data", "rb", buffering=0), seed)

    def look(self, random):
        """One of them reads some bytes, which must be right."""
        if self._files:
            file, seed = random.choice(list(self._files.values()))
            offset = random.randrange(SIZE - 4096)
            assert os.pread(file.fileno(), 4096, offset) == content.expected(seed, offset, 4096)
            self.rounds += 1

    def remove(self, pod):
        if pod in self._files:
            self._files.pop(pod)[0].close()

    def end(self):
        for pod in list(self._files):
            self.remove(pod)


def until_it_works(call, *arguments):
    """kubelet repeats a call that failed because the driver was gone, or busy."""
    end = time.monotonic() + 60
    while True:
        try:
            return call(*arguments)
        except grpc.RpcError as error:
            # A channel that the test has closed says CANCELLED.
            assert error.code() in (Code.UNAVAILABLE, Code.ABORTED, Code.CANCELLED, Code.DEADLINE_EXCEEDED), error.details()
            assert time.monotonic() < end, error.details()
            time.sleep(0.05)
        except ValueError:  # "Cannot invoke RPC on closed channel!"
            time.sleep(0.05)


def test_pods_that_come_and_go_with_the_driver_killed_meanwhile_leave_nothing(node, csi_server):
    random, readers = Random(14), Readers()
    volumes = [volume_of(node, csi_server, "first", name="pv-1"), volume_of(node, csi_server, "second", name="pv-2"),
               volume_of(node, csi_server, "first", name="pv-3", metadata__ttl="1s")]
    for volume in volumes:
        volume.stage()
    waiting, here, kills = [f"pod{number}" for number in range(CSI_PODS)], {}, 0
    try:
        with ThreadPoolExecutor(1) as kubelet:
            while waiting or here:
                if waiting and (not here or random.random() < 0.55):
                    pod, which = waiting.pop(), random.randrange(3)
                    call = kubelet.submit(until_it_works, volumes[which].publish, pod)
                else:
                    pod = random.choice(list(here))
                    which = here.pop(pod)
                    readers.remove(pod)
                    call = kubelet.submit(until_it_works, volumes[which].unpublish, pod)
                    which = None
                if random.random() < 0.3:
                    time.sleep(random.random() * 0.1)
                    node.restart()
                    kills += 1
                path = call.result(120)
                if which is not None:
                    here[pod] = which
                    readers.add(pod, path, seed=1 if which == 1 else 0)
                for _ in range(5):
                    readers.look(random)
                # A mount that is being made has a second process for a moment.
                eventually(lambda: len(node.daemons()) <= 3, 30, "each mount has one daemon")
    finally:
        readers.end()
    assert kills > CSI_PODS / 5 and readers.rounds > CSI_PODS, "the control: drivers died, pods read"
    for volume in volumes:
        volume.unstage()
    assert_nothing_left(node)


@pytest.fixture
def contained(tmp_path, csi_modules, s3rdmafs):
    """A node whose driver is in a mount name space of its own, with folders that are shared both ways: mountPropagation Bidirectional."""
    shared = tmp_path / "shared"
    (shared / "node").mkdir(parents=True)
    for command in (("--bind", shared, shared), ("--make-private", shared), ("--make-shared", shared)):
        subprocess.run(["mount", *command], check=True)
    try:
        made = Node(shared / "node", *csi_modules, s3rdmafs, before=("unshare", "--mount", "--propagation", "unchanged",
                                                                           *leaving_other_mounts(kept=shared)))
        yield made
        made.destroy()
    finally:
        unmount_lazily(shared)


def read_by_pod(path, propagation):
    """The output of a program whose mount name space is that of a container that starts now."""
    program = leaving_other_mounts("sha256sum", path / "data", kept=path)
    return subprocess.run(["unshare", "--mount", "--propagation", propagation, *program], check=True, timeout=60,
                          stdout=subprocess.PIPE, text=True).stdout.split()[0]


def test_mounts_of_a_driver_in_a_container_reach_the_node_and_its_pods(contained, csi_server):
    volume, wanted = volume_of(contained, csi_server), digest(csi_server.root / "first/data")
    assert os.readlink(f"/proc/{contained.process.pid}/ns/mnt") != os.readlink("/proc/self/ns/mnt"), "the control"
    volume.stage()
    path = volume.publish("a")
    assert digest(path / "data") == wanted and read_by_pod(path, "slave") == read_by_pod(path, "private") == wanted
    contained.restart()  # a new container, with a new name space
    assert digest(path / "data") == wanted and read_by_pod(volume.publish("b"), "private") == wanted
    assert len(contained.daemons()) == 1
    for pod in ("a", "b"):
        volume.unpublish(pod)
    volume.unstage()
    assert_nothing_left(contained)
