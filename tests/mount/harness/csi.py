# SPDX-License-Identifier: Apache-2.0
"""A node of a cluster as kubelet sees it: the real s3rdmafs-csi, called over its socket, and folders of pods."""

import hashlib
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys

from .processes import eventually, find_by_command_line, is_alive, mounts_below, unmount_lazily
from .settings import BUILD, ROOT

SECONDS = 60
SIZE = 3 << 20  # of each file "data"
DRIVER = BUILD / "src/csi/s3rdmafs-csi"
# Of the tests alone: the driver does without.
PROGRAMS = ("protoc", "grpc_python_plugin")

# A test names modes by these numbers, which are csi.proto's.
WRITER, READER_HERE, READER, ONE_WRITER, MANY_WRITERS, SINGLE_POD = 1, 2, 3, 4, 5, 6


def why_not():
    """Empty, or why there is no driver to call."""
    if not DRIVER.exists():
        return "s3rdmafs-csi is not built (-Dcsi=enabled says why)"
    if importlib.util.find_spec("grpc") is None:
        return "python3-grpcio is not installed (tools/setup.sh installs it)"
    return ""


def stubs(folder):
    """The two modules that protoc makes of csi.proto."""
    subprocess.run(["protoc", f"--proto_path={ROOT}/src/csi", f"--python_out={folder}", f"--grpc_python_out={folder}",
                    f"--plugin=protoc-gen-grpc_python={shutil.which('grpc_python_plugin')}", "csi.proto"], check=True, timeout=SECONDS)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("csi_pb2"), importlib.import_module("csi_pb2_grpc")
    finally:
        sys.path.remove(str(folder))


class Node:
    """Folders of one node, and the driver that serves it. `volume()` describes a volume of `server`."""

    def __init__(self, folder, messages, services, s3rdmafs, *options, before=()):
        """`before` is put before the driver's command line."""
        self.folder, self.messages, self.services, self.before = folder, messages, services, before
        self.pods, self.state, self.keep = folder / "kubelet", folder / "run", folder / "keep"
        self.socket, self.log = folder / "csi.sock", folder / "driver.log"
        self.pods.mkdir()
        self.program, self.options = s3rdmafs, options
        self.environment = {}
        self.process = self.channel = None
        self.start()

    def command(self):
        return [DRIVER, "--endpoint", f"unix://{self.socket}", "--node-id", "node-1", "--pods", self.pods, "--state", self.state,
                "--keep", self.keep, "--program", self.program, "--log-level", "debug", *self.options]

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*self.before, *self.command()], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, **self.environment})
        self.connect()

    def connect(self):
        import grpc
        self.channel = grpc.insecure_channel(f"unix:{self.socket}", options=[("grpc.initial_reconnect_backoff_ms", 50),
                                                                             ("grpc.max_reconnect_backoff_ms", 200)])
        grpc.channel_ready_future(self.channel).result(SECONDS)
        self.node, self.identity = self.services.NodeStub(self.channel), self.services.IdentityStub(self.channel)

    def kill(self):
        """As a crash would; all that it has mounted stays."""
        self.process.kill()
        self.process.wait(10)
        self.channel.close()

    def restart(self):
        self.kill()
        self.start()

    def end(self):
        self.channel.close()  # first: the driver waits for its clients to leave
        self.process.terminate()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()

    def destroy(self):
        """Whatever state it is in: no mount, no daemon. Fails if there was one."""
        self.end()
        left, daemons = mounts_below(self.folder), self.daemons()
        for point in left:
            unmount_lazily(point)
        for pid in daemons:
            eventually(lambda pid=pid: not is_alive(pid), 20, "a daemon ends after its mount")
        assert not left and not daemons, f"left: {left}, {daemons}"

    def daemons(self):
        return [pid for mount in self.mounts() for pid in find_by_command_line("mount", self.state / "mounts" / mount / "mount.toml")]

    def mounts(self):
        folder = self.state / "mounts"
        return sorted(os.listdir(folder)) if folder.exists() else []

    def records(self):
        """Every file that the driver keeps, but its locks and its key."""
        return [path for top in (self.state, self.keep) for path in top.rglob("*")
                if path.is_file() and path.name not in ("lock", "key")]

    def capability(self, mode, flags=(), group=""):
        messages = self.messages
        return messages.VolumeCapability(
            mount=messages.VolumeCapability.MountVolume(mount_flags=list(flags), volume_mount_group=group),
            access_mode=messages.VolumeCapability.AccessMode(mode=mode))

    def target(self, pod):
        """kubelet makes the parent, the driver the last part."""
        parent = self.pods / "pods" / pod / "volumes"
        parent.mkdir(parents=True, exist_ok=True)
        return parent / "mount"

    def staging(self, volume):
        return self.pods / "plugins" / volume.name


class Volume:
    """A static volume, and the calls that kubelet makes for it."""

    def __init__(self, node, name, context, secrets, mode=READER, flags=(), group=""):
        self.node, self.name = node, name
        self.context, self.secrets = dict(context), dict(secrets)
        self.mode, self.flags, self.group = mode, flags, group

    def stage_request(self, **changes):
        fields = {"volume_id": self.name, "staging_target_path": str(self.node.staging(self)),
                  "volume_capability": self.node.capability(self.mode, self.flags, self.group), "secrets": self.secrets,
                  "volume_context": self.context}
        return self.node.messages.NodeStageVolumeRequest(**{**fields, **changes})

    def publish_request(self, pod, **changes):
        fields = {"volume_id": self.name, "staging_target_path": str(self.node.staging(self)),
                  "target_path": str(self.node.target(pod)), "readonly": False,
                  "volume_capability": self.node.capability(self.mode, self.flags, self.group), "volume_context": self.context}
        return self.node.messages.NodePublishVolumeRequest(**{**fields, **changes})

    def stage(self, timeout=SECONDS, **changes):
        self.node.node.NodeStageVolume(self.stage_request(**changes), timeout=timeout)

    def publish(self, pod, timeout=SECONDS, **changes):
        """Returns the folder in which the pod sees the bucket."""
        self.node.node.NodePublishVolume(self.publish_request(pod, **changes), timeout=timeout)
        return self.node.target(pod)

    def unpublish(self, pod, timeout=SECONDS):
        self.node.node.NodeUnpublishVolume(self.node.messages.NodeUnpublishVolumeRequest(
            volume_id=self.name, target_path=str(self.node.target(pod))), timeout=timeout)

    def unstage(self, timeout=SECONDS):
        self.node.node.NodeUnstageVolume(self.node.messages.NodeUnstageVolumeRequest(
            volume_id=self.name, staging_target_path=str(self.node.staging(self))), timeout=timeout)

    def stats(self, path):
        return self.node.node.NodeGetVolumeStats(self.node.messages.NodeGetVolumeStatsRequest(
            volume_id=self.name, volume_path=str(path)), timeout=SECONDS)


def attributes_of(server, bucket, **others):
    """The attributes of a PersistentVolume; other keys of the mount file with "__" for the dot."""
    return {"bucket.name": bucket, "endpoint.url": server.endpoint, "cache.size": "64MiB", "read_ahead.window_max": "16MiB",
            **{name.replace("__", "."): value for name, value in others.items()}}


def secrets_of(server):
    return {"access_key_id": server.access_key, "secret_access_key": server.secret_key}


def pod_context(account, token, audience="sts.example.org"):
    """The attributes that kubelet adds for a pod of a service account."""
    return {"csi.storage.k8s.io/pod.namespace": "ml", "csi.storage.k8s.io/serviceAccount.name": account,
            "csi.storage.k8s.io/pod.name": "pod", "csi.storage.k8s.io/ephemeral": "false",
            "csi.storage.k8s.io/serviceAccount.tokens": json.dumps({audience: {"token": token, "expirationTimestamp": "2030-01-01T00:00:00Z"}})}


def fake_systemd_run(folder):
    """Programs in place of nsenter and systemd-run, which start what they are told to; returns the folder for PATH."""
    folder.mkdir()
    for name, after in (("nsenter", 'while [[ $1 != -- ]]; do shift; done; shift; exec "$@"'),
                        ("systemd-run", f'printf "%s\\n" "$@" >> {folder}/asked; while [[ $1 == --* ]]; do shift; done; exec "$@"')):
        (folder / name).write_text(f"#!/bin/bash\n{after}\n")
        (folder / name).chmod(0o755)
    return folder


def volume_of(node, server, bucket="first", name=None, secrets=None, mode=READER, flags=(), group="", **keys):
    return Volume(node, name or f"pv-{bucket}", attributes_of(server, bucket, **keys), secrets_of(server) if secrets is None else secrets,
                  mode, flags, group)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refused(code, call, *arguments, **keywords):
    """The text with which a call fails."""
    import grpc
    try:
        call(*arguments, **keywords)
    except grpc.RpcError as error:
        assert error.code() == code, f"{error.code()}: {error.details()}"
        return error.details()
    raise AssertionError(f"{call.__name__} succeeded")


def assert_nothing_left(node):
    assert not node.mounts() and not node.daemons() and not mounts_below(node.folder)
    assert not node.records(), node.records()
    assert not [path for path in node.pods.rglob("mount")]
