# SPDX-License-Identifier: Apache-2.0
"""The driver and its pods in real containers, as the chart describes them: what the driver mounts in its container reaches the
pods that run and those that start, through its own death, and ends with its container.

The image has this machine's programs; S3RDMAFS_CSI_ARCHIVE names one that packaging/kubernetes/image.sh has made.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from chart_test import VALUES, driver_of, rendered
from harness.csi import DRIVER, PROGRAMS, SIZE, Node, assert_nothing_left, digest, volume_of, why_not
from harness.processes import bytes_read, eventually, find_by_command_line, kill, mounts_below, unmount_lazily
from harness.settings import BUILD
from podman import Podman

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_root, pytest.mark.needs(*PROGRAMS, "podman", "buildah", "crun", "busybox"),
              pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is here")]

# The names that podman has for propagations of Kubernetes.
PROPAGATIONS = {"Bidirectional": "rshared", None: "rprivate"}
READ_ON = "while sha256sum /data/data; do sleep 0.1; done"


class ContainedNode(Node):
    """Its driver is the container that the chart describes with `daemons: pod`."""

    def __init__(self, folder, messages, services, podman, image):
        self.podman, self.image, self.has_container = podman, image, False
        self.daemonset = rendered(daemons="pod", kubeletFolder=str(folder / "kubelet"), stateFolder=str(folder / "run"),
                                  keepFolder=str(folder / "keep"), logLevel="debug")["DaemonSet"]
        super().__init__(folder, messages, services, None)
        self.state, self.keep = folder / "run/node", folder / "keep/node"

    def start(self):
        self.socket = self.pods / "plugins" / VALUES["driverName"] / "csi.sock"
        if not self.has_container:
            driver = driver_of(self.daemonset)
            sources = {each["name"]: each["hostPath"]["path"] for each in self.daemonset["spec"]["template"]["spec"]["volumes"]}
            for source in sources.values():
                os.makedirs(source, exist_ok=True)
            mounts = [(sources[each["name"]], each["mountPath"], PROPAGATIONS[each.get("mountPropagation")]) for each in driver["volumeMounts"]]
            self.podman.start("driver", self.image, driver["command"], "--privileged", "--network", "host", "--env", "NODE_NAME=node-1",
                              mounts=mounts)
            self.has_container = True
        self.connect()

    def drivers(self):
        return find_by_command_line("s3rdmafs-csi", f"--state={self.folder}/run/node")

    def kill(self):
        """The driver alone; the container's shell starts it again."""
        (found,) = self.drivers()
        self.channel.close()
        kill(found)

    def end(self):
        self.channel.close()
        self.podman.remove("driver")
        self.has_container = False


@pytest.fixture(scope="module")
def podman():
    made = Podman()
    yield made
    made.end()


@pytest.fixture(scope="module")
def image(podman, s3rdmafs):
    if archive := os.environ.get("S3RDMAFS_CSI_ARCHIVE"):
        return podman.load(archive)
    return podman.image_of("localhost/s3rdmafs-csi", ["s3rdmafs-csi"], {
        "/usr/bin/s3rdmafs": s3rdmafs, "/usr/bin/s3rdmafs-csi": DRIVER,
        "/usr/bin/cat": shutil.which("cat"),  # of coreutils: busybox is a static program, which takes no library
        "/usr/client/preload/libs3rdmafs_preload.so": BUILD / "src/client/preload/libs3rdmafs_preload.so"})


@pytest.fixture
def contained(podman, image, csi_modules):
    """A node whose folders are shared with its containers both ways, as kubelet's are."""
    shared = Path(tempfile.mkdtemp(prefix="csi"))  # short: sockets are below it
    for command in (("--bind", shared, shared), ("--make-private", shared), ("--make-shared", shared)):
        subprocess.run(["mount", *command], check=True)
    try:
        (shared / "node").mkdir()
        made = ContainedNode(shared / "node", *csi_modules, podman, image)
        yield made
        made.destroy()
    finally:
        unmount_lazily(shared)
        shutil.rmtree(shared)


def read_by(contained, path, propagation="rslave"):
    """The digest that a pod finds which starts now, without rights and without a network."""
    printed = contained.podman.output(contained.image, ["sha256sum", "/data/data"], "--network", "none", "--cap-drop", "all",
                                      mounts=[(path, "/data", propagation)])
    return printed.split()[0]


def test_pods_in_containers_read_what_a_driver_in_a_container_mounts(contained, csi_server):
    volume, wanted = volume_of(contained, csi_server), digest(csi_server.root / "first/data")
    volume.stage()
    path = volume.publish("a")
    (driver,) = contained.drivers()
    assert os.readlink(f"/proc/{driver}/ns/mnt") != os.readlink("/proc/self/ns/mnt"), "the control: it is in a container"
    assert digest(path / "data") == read_by(contained, path) == read_by(contained, path, "rprivate") == wanted
    volume.unpublish("a")
    volume.unstage()
    assert_nothing_left(contained)


def test_a_pod_reads_on_while_the_driver_dies_and_others_come_and_go(contained, csi_server):
    volume, wanted = volume_of(contained, csi_server), digest(csi_server.root / "first/data")
    volume.stage()
    contained.podman.start("reader", contained.image, ["sh", "-c", READ_ON], "--network", "none", mounts=[(volume.publish("reader"), "/data", "rslave")])

    def rounds():
        return contained.podman.log("reader").splitlines()

    try:
        for number in range(3):
            before = len(rounds())
            contained.restart()
            assert read_by(contained, volume.publish(f"pod{number}")) == wanted
            volume.unpublish(f"pod{number}")
            eventually(lambda before=before: len(rounds()) > before + 2, 60, "the pod goes on")
        assert contained.podman.is_running("reader") and len(contained.daemons()) == 1
        assert {line.split()[0] for line in rounds()} == {wanted}
    finally:
        contained.podman.remove("reader", seconds=1)
    volume.unpublish("reader")
    volume.unstage()
    assert_nothing_left(contained)


def test_a_pod_that_has_the_folder_of_sockets_reads_past_fuse(contained, csi_server, tmp_path):
    volume, wanted = volume_of(contained, csi_server, cache__size="256MiB"), digest(csi_server.root / "first/data")
    volume.stage()
    path = volume.publish("a")

    def read(*more):
        """The bytes that went past FUSE, and through it."""
        report = tmp_path / f"report{len(more)}"
        report.touch()
        printed = contained.podman.output(
            contained.image, ["sh", "-c", "s3rdmafs run --report /report -- cat /data/data | sha256sum"], "--network", "none",
            "--cap-drop", "all", mounts=[(path, "/data", "rslave"), (report, "/report", "rprivate"), *more])
        assert printed.split()[0] == wanted
        return bytes_read(report)

    assert read(("/run/s3rdmafs-attach", "/run/s3rdmafs-attach", "ro")) == (SIZE, 0)
    assert read()[0] == 0, "the control: without the folder it reads through the mount"
    volume.unpublish("a")
    volume.unstage()
    assert_nothing_left(contained)


def test_the_end_of_the_container_ends_its_daemons_and_a_new_one_mends_the_volume(contained, csi_server):
    volume, wanted = volume_of(contained, csi_server), digest(csi_server.root / "first/data")
    volume.stage()
    path = volume.publish("a")
    contained.end()
    eventually(lambda: not contained.daemons(), 20, "no process of the container is left")
    contained.start()
    volume.unpublish("a")
    assert read_by(contained, volume.publish("b")) == wanted
    assert str(path) not in mounts_below(contained.folder), "the dead mount is gone"
    volume.unpublish("b")
    volume.unstage()
    assert_nothing_left(contained)
