# SPDX-License-Identifier: Apache-2.0
"""Containers by podman and crun, and images by buildah, in a storage of the test's own."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness.namespace import leaving_other_mounts

SECONDS = 300
# Programs that the shell of the chart and the pods of tests call.
APPLETS = ("sh", "sleep", "sha256sum")
# crun wants version 2 of control groups. A machine that has both gets a view with the second alone.
ONE_VERSION = 'mount --make-rprivate /sys && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec "$@"'


def _files_of(program):
    """The program, and the libraries that it is linked with."""
    printed = subprocess.run(["ldd", program], check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    words = [word for line in printed.splitlines() for word in line.split() if word.startswith("/")]
    return [str(program), *words]


class Podman:
    """Containers and their storage, of which `end` leaves nothing."""

    def __init__(self):
        # Podman takes 50 characters for a run root. A folder of pytest may have more.
        folder = Path(tempfile.mkdtemp(prefix="podman"))
        self._storage = ["--root", str(folder / "storage"), "--runroot", str(folder / "run"), "--storage-driver", "vfs"]
        self._before = []
        if not Path("/sys/fs/cgroup/cgroup.controllers").exists():
            # The monitor of a container stays in this name space for as long as the container runs.
            self._before = ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c", ONE_VERSION, "sh", *leaving_other_mounts()]
        self._scratch, self._names = folder, []

    def _call(self, program, *arguments):
        result = subprocess.run([*self._before, program, *self._storage, *map(str, arguments)], check=False, timeout=SECONDS,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert result.returncode == 0, f"{program} {arguments}: {result.stdout}{result.stderr}"
        return result.stdout.strip()

    def image_of(self, name, entrypoint, files):
        """An image of this machine's files, {path in the image: path here}, their libraries, and busybox."""
        tree = self._scratch / "tree"
        (tree / "tmp").mkdir(parents=True)
        for path, source in {**files, "/usr/bin/busybox": shutil.which("busybox")}.items():
            own, *libraries = _files_of(source)
            for there, here in ((path, own), *((library, library) for library in libraries)):
                (tree / there[1:]).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(here, tree / there[1:])
        for applet in APPLETS:
            (tree / "usr/bin" / applet).symlink_to("busybox")
        container = self._call("buildah", "from", "scratch")
        self._call("buildah", "copy", container, tree, "/")
        self._call("buildah", "config", "--env", "PATH=/usr/bin", "--entrypoint", json.dumps(entrypoint), container)
        self._call("buildah", "commit", "--rm", container, name)
        shutil.rmtree(tree)
        return name

    def load(self, archive):
        """The name of the image in an archive of `buildah push IMAGE docker-archive:FILE`."""
        return self._call("podman", "load", "--quiet", "--input", archive).split()[-1]

    def _run(self, how, image, command, options, mounts):
        binds = [word for source, path, propagation in mounts for word in ("--volume", f"{source}:{path}:{propagation}")]
        # Limits and groups of a machine for tests are not always its containers' to set.
        return self._call("podman", "--cgroup-manager", "cgroupfs", "run", *how, "--cgroups", "disabled", "--ulimit", "nofile=4096:4096",
                          "--ulimit", "nproc=4096:4096", *options, *binds, "--entrypoint", json.dumps(command), image)

    def start(self, name, image, command, *options, mounts=()):
        """A container that runs until `remove`. `mounts`: (folder of this machine, folder of the container, propagation)."""
        self._names.append(name)
        self._run(("--detach", "--name", name), image, command, options, mounts)

    def output(self, image, command, *options, mounts=()):
        return self._run(("--rm",), image, command, options, mounts)

    def pid(self, name):
        return int(self._call("podman", "inspect", "--format", "{{.State.Pid}}", name))

    def is_running(self, name):
        return self._call("podman", "inspect", "--format", "{{.State.Running}}", name) == "true"

    def log(self, name):
        return self._call("podman", "logs", name)

    def remove(self, name, seconds=20):
        """SIGTERM, and SIGKILL so much later. One that could not be made is passed over."""
        self._call("podman", "rm", "--force", "--ignore", "--time", seconds, name)
        self._names.remove(name)

    def end(self):
        failures = []
        for name in list(self._names):
            try:
                self.remove(name, seconds=1)
            except (AssertionError, subprocess.SubprocessError) as failure:  # the others must still be ended
                failures.append(failure)
        if failures:
            raise failures[0]
        shutil.rmtree(self._scratch)
