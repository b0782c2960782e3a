# SPDX-License-Identifier: Apache-2.0
"""The servers and mounts of a test, ended in reverse order, and the proof that none is left."""

import os
import subprocess
import uuid

from .mount import Mount, mount_file
from .processes import kill, marked, mounts_below, unmount_lazily
from .servers import rdma_of
from .settings import BEHAVE_AS, STAGE_ON_TMPFS
from .target import Target


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


def as_asked(options):
    """The options of a target, which behaves as the environment asks if the test does not choose."""
    return options if not BEHAVE_AS or "--behave-as" in options else ("--behave-as", BEHAVE_AS, *options)


class Site:
    """Starts targets and mounts in one folder, and ends them in reverse."""

    def __init__(self, folder, s3rdmafs, s3rdma_target):
        self.folder, self.s3rdmafs, self.s3rdma_target = folder, s3rdmafs, s3rdma_target
        self._endings = []
        self._count = 0

    def _number(self):
        self._count += 1
        return self._count

    def target(self, *options, bucket=None):
        """A server, which has this bucket from the start."""
        number = self._number()
        started = Target(self.s3rdma_target, self.folder / f"root{number}",
                         self.folder / f"target{number}.log", *as_asked(options))
        self._endings.append(started.stop)
        if bucket:
            (started.root / bucket).mkdir()
        return started

    def target_beside(self, other, *options):
        """One more server over the folder of `other`."""
        started = Target(self.s3rdma_target, other.root, self.folder / f"target{self._number()}.log", *as_asked(options))
        self._endings.append(started.stop)
        return started

    def mount_file(self, server, bucket_name, /, **sections):
        number = self._number()
        if "write" in sections:  # nothing of a test is left on the machine
            sections["write"] = {"state_dir": str(self.folder / f"state{number}"), **sections["write"]}
        if sections.get("write", {}).get("mode") == "staged" and STAGE_ON_TMPFS:
            sections["write"] = self.on_tmpfs(sections["write"])
        if BEHAVE_AS and isinstance(server, Target):
            sections["rdma"] = rdma_of(BEHAVE_AS, sections.get("rdma", {}))
        return mount_file(self.folder / f"mount{number}.toml", server, bucket_name, **sections)

    def on_tmpfs(self, write):
        """The section with a tmpfs as the staging folder, so that the kernel writes new files by itself."""
        folder = write.get("staging_dir", str(self.folder / f"staging{self._number()}"))
        if os.path.ismount(folder):
            return write
        write = {"staging_size": "1GiB", **write, "staging_dir": folder}
        os.makedirs(folder, exist_ok=True)
        size = write["staging_size"].removesuffix("iB")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "s3rdmafs-staging", folder], check=True)
        self._endings.append(lambda: unmount_lazily(folder))
        return write

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
