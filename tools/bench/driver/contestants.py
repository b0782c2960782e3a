# SPDX-License-Identifier: Apache-2.0
"""The contestants: our mount, what it is measured against, and the servers that they read from.

A contestant is started when the first work needs it, on names as they are then, and ends with the run. One that
cannot be started raises Failure; works that need it say so in the report.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from .data import BUCKET
from .processes import (Failure, cpu_seconds, resident_bytes, resident_bytes_max, run, start,
                        start_mount, unmount, wait_until)

ACCESS_KEY, SECRET_KEY = "bench", "bench-secret"
MIB = 1 << 20

# How much above its cache our daemon may ever have resident (issue: "budget + 128 MiB").
SPARE_BYTES = 128 * MIB


# Of a mount of ours that writes; the default.
WRITE_BUFFERS = 256 * MIB
STAGING_BYTES = 8192 * MIB

# The cache of mounts that only look at names, or write.
SMALL_CACHE = {"size": 256 * MIB}

# Of a mount that a training set does not fit in: the set is twice as large, and an epoch of it takes seconds.
TRAINING_CACHE = {"size": 512 * MIB}

# By how much servers that take their time are late: another building, another city.
LATE_MS = (20, 50)


# A recording has begun, and is written: generous, as nothing that is measured waits for them.
RECORDING_BEGINS_S, RECORD_WRITTEN_S = 1, 60

# The read-ahead that a mount of ours asks for (src/fuse/session.cc), where none is there to be looked at.
READ_AHEAD_KIB = "2048"


def kernel_read_ahead(point):
    """The file that says how far the kernel reads ahead in a mount."""
    device = point.stat().st_dev
    return Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")


@dataclass(frozen=True)
class Place:
    """Where a run lives."""
    work: Path        # scratch: mount points, logs, mount files
    programs: dict    # name -> path
    data: object
    cache_bytes: int  # of our mount, and of the null file system's buffer
    transport: str    # "auto", "dev" or "uring", of our mount; the null file system has no "auto": "dev"
    reserve: object   # memory.Reserve


class Contestant:
    """A contestant, as the works see it. `process` is the daemon whose processor time counts; None: there is none."""
    process = None
    point = None  # where the bucket's folders are to be found

    def cpu_seconds(self):
        if self.process is None:
            return 0.0
        if self.process.poll() is not None:  # a status below 0 is a signal's number
            raise Failure(f"its daemon ended with status {self.process.returncode}")
        return cpu_seconds(self.process.pid)

    def make_resident(self, folder):
        """Before a work on warm objects, where there is a way to ask for it."""

    def let_go(self, folder):
        """After such a work: what it made resident makes room for the next."""

    def counters(self):
        """Its counts so far: processor seconds, and others where it has them."""
        return {"cpu": self.cpu_seconds()}


class Target(Contestant):
    def __init__(self, stack, place, name, dma, *options):
        log, port_file = place.work / f"target-{name}.log", place.work / f"target-{name}.port"
        process = start(stack, [place.programs["s3rdma-target"], "--root", place.data.root, "--listen",
                                "127.0.0.1:0", "--port-file", port_file, "--rc", "off", "--dma", dma, "--etag", "crc64",
                                "--log-level", "warn", "--key", f"{ACCESS_KEY}:{SECRET_KEY}", *options], log)
        wait_until(port_file.exists, process, "s3rdma-target does not start", log)
        self.process, self.endpoint = process, f"http://127.0.0.1:{int(port_file.read_text())}"


class Ours(Contestant):
    """s3rdmafs. `mode` is rdma.mode: a mount for RDMA has no second way, so that rows say what they mean."""

    def __init__(self, stack, place, name, target, mode, **sections):
        self.point, file = place.work / name, place.work / f"{name}.toml"
        log = place.work / f"{name}.log"
        tables = {
            "bucket": {"name": BUCKET},
            "endpoint": {"url": target.endpoint},
            "credentials": {"access_key_id": ACCESS_KEY, "secret_access_key": SECRET_KEY},
            "rdma": {"mode": mode},
            "cache": {"size": place.cache_bytes},
            "metadata": {"ttl": "1h"},  # as the null file system's and the rivals' names
            "log": {"level": "warn"},
            # The mount's own choice is not written: builds that cannot choose must run too.
            **({"mount": {"transport": place.transport}} if place.transport != "auto" else {}),
            **sections,
        }
        if "write" in tables:  # nothing of a run is left on the machine
            tables["write"] = {"state_dir": str(place.work / f"{name}-state"),
                               "staging_dir": place.work / f"{name}-staging",
                               "staging_size": STAGING_BYTES,
                               "buffer_size": WRITE_BUFFERS, **tables["write"]}
        if tables.get("write", {}).get("mode") == "staged":
            self._mount_staging(stack, tables["write"]["staging_dir"])
        # TOML's basic strings and integers are written as JSON writes them.
        file.write_text("\n".join(f"[{section}]\n" + "".join(f"{key} = {json.dumps(value, default=str)}\n"
                                                            for key, value in keys.items())
                                  for section, keys in tables.items()))
        file.chmod(0o600)
        self.program = place.programs["s3rdmafs"]
        self.budget_bytes = tables["cache"]["size"] + (WRITE_BUFFERS if "write" in tables else 0)
        self.process = start_mount(stack, [self.program, "mount", "--foreground", file, self.point],
                                   self.point, log)

    @staticmethod
    def _mount_staging(stack, folder):
        """As the mount does by itself for write.staging_dir = "auto", which would leave an empty folder in /dev/shm."""
        folder.mkdir(exist_ok=True)  # from the mount of the run before
        run("mount", "-t", "tmpfs", "-o", f"size={STAGING_BYTES},mode=0700,huge=within_size", "s3rdmafs-bench", folder)
        stack.callback(unmount, folder)

    def make_resident(self, folder):
        # The largest is half of the cache, which is what whole objects have (rows.py, cache.resident_size).
        run(self.program, "warm", self.point, self.point / folder)

    def let_go(self, folder):
        run(self.program, "warm", "--release", self.point, self.point / folder)

    @contextlib.contextmanager
    def beside(self, trace):
        """Beside a load: what it opens is recorded into this file, or fetched in the file's order if it is there."""
        is_new = not trace.exists()
        words = ["--record", trace] if is_new else ["--from-trace", trace, "--cached"]
        warm = subprocess.Popen([self.program, "warm", self.point, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        try:
            if is_new:
                time.sleep(RECORDING_BEGINS_S)
            if warm.poll() not in (None, 0):
                raise Failure(f"s3rdmafs warm ended with status {warm.returncode}")
            yield
        finally:
            warm.send_signal(signal.SIGINT)
            try:
                warm.wait(RECORD_WRITTEN_S)
            except subprocess.TimeoutExpired:
                warm.kill()
        if not trace.exists():
            raise Failure("s3rdmafs warm has written no trace")

    def counters(self):
        text = run(self.program, "stats", self.point)

        def total(name):
            return sum(float(value) for value in
                       re.findall(rf"^s3rdmafs_{name}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE))
        return {"cpu": self.cpu_seconds(), "fetched": total("get_bytes_total"), "sent": total("put_bytes_total"),
                "inodes": total("vfs_inodes"), "resident": resident_bytes(self.process.pid)}

    def resident_over_budget(self):
        """Peak resident set as a share of what it may be; above 1 is too much."""
        self.cpu_seconds()  # Failure where the daemon is gone
        return resident_bytes_max(self.process.pid) / (self.budget_bytes + SPARE_BYTES)


class Null(Contestant):
    """The null file system; `like`, a mount of ours if there is one, lends it the kernel's read-ahead."""

    def __init__(self, stack, place, name, like, *options):
        self.point = place.work / name
        if place.transport == "uring":
            options += ("-o", "io_uring")
        self.process = start_mount(stack, [place.programs["null_fs"], "--like", place.data.bucket, "--buffer-mib",
                                           place.cache_bytes // MIB, *options, self.point],
                                   self.point, place.work / f"{name}.log")
        kernel_read_ahead(self.point).write_text(
            kernel_read_ahead(like.point).read_text() if like else READ_AHEAD_KIB)


class Tmpfs(Contestant):
    """The bucket's own folder: it is on a huge-page tmpfs."""

    def __init__(self, place):
        self.point = place.data.bucket


class S3fs(Contestant):
    def __init__(self, stack, place, name, target, *options):
        self.point, password = place.work / name, place.work / f"{name}.passwd"
        password.write_text(f"{ACCESS_KEY}:{SECRET_KEY}\n")
        password.chmod(0o600)
        files = place.work / f"{name}-files"  # it reads through local files: given the fastest there are
        files.mkdir(exist_ok=True)
        self.process = start_mount(
            stack, ["s3fs", BUCKET, self.point, "-f", "-o", f"url={target.endpoint},use_path_request_style"
                    f",passwd_file={password},endpoint=us-east-1,tmpdir={files},enable_noobj_cache"
                    ",multipart_size=16,parallel_count=8,multireq_max=20", *options],
            self.point, place.work / f"{name}.log")


class Rclone(Contestant):
    """Without a cache of its own, so that what is closed is at the server, as with the others."""

    def __init__(self, stack, place, name, target, *options):
        self.point = place.work / name
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(place.work),
            "RCLONE_CONFIG": str(place.work / "none.conf"), "RCLONE_CONFIG_R_TYPE": "s3",
            "RCLONE_CONFIG_R_PROVIDER": "Other", "RCLONE_CONFIG_R_ENDPOINT": target.endpoint,
            "RCLONE_CONFIG_R_REGION": "us-east-1", "RCLONE_CONFIG_R_ACCESS_KEY_ID": ACCESS_KEY,
            "RCLONE_CONFIG_R_SECRET_ACCESS_KEY": SECRET_KEY}
        if not shutil.which("rclone"):
            raise Failure("rclone is not installed")
        self.process = start_mount(
            stack, ["rclone", "mount", f"r:{BUCKET}", self.point, *options, "--vfs-cache-mode", "off",
                    "--dir-cache-time", "1h", "--no-checksum", "--no-modtime", "--buffer-size", "64M",
                    "--max-read-ahead", "1M", "--vfs-read-chunk-size", "128M"],
            self.point, place.work / f"{name}.log", environment)


class Raw(Contestant):
    """Our object client without FUSE: raw_get, a program that runs once per measurement."""

    def __init__(self, target, fabric):
        self.arguments = ["--url", target.endpoint, "--bucket", BUCKET, "--fabric", fabric]


class Field:
    """Every contestant by name, started when it is first asked for."""

    def __init__(self, stack, place):
        self._stack, self._place = stack, place
        self._started, self._stacks = {}, {}
        self._resident = {}  # of ours that were renewed: name -> the most so far, as a share of what it may be

    def _makers(self):
        return {**self._servers(), **self._ours(), **self._rivals(), **self._ceilings()}

    def _servers(self):
        place = self._place
        return {
            "target-none": lambda stack: Target(stack, place, "none", "none"),
            "target-copy": lambda stack: Target(stack, place, "copy", "copy"),
            "target-renames": lambda stack: Target(stack, place, "renames", "copy", "--behave-as", "rename-object"),
            **{f"target-late{ms}": self._late(ms) for ms in LATE_MS},
        }

    def _late(self, ms):
        return lambda stack: Target(stack, self._place, f"late{ms}", "copy", "--delay", f"{ms}ms")

    def _ours(self):
        def ours(name, target, mode="require", **sections):
            return name, lambda stack: Ours(stack, self._place, name, self[target], mode, **sections)
        return dict([
            ours("ours", "target-none"),
            ours("ours-buffered", "target-none", read={"mode": "buffered"}),
            ours("ours-copy", "target-copy"),
            ours("ours-http", "target-copy", "off"),
            ours("ours-training", "target-copy", cache=TRAINING_CACHE),
            ours("ours-names", "target-copy", cache=SMALL_CACHE),
            ours("ours-late", "target-late20", cache=SMALL_CACHE),
            *(ours(f"ours-late{ms}", f"target-late{ms}") for ms in LATE_MS),
            ours("ours-staged", "target-copy", cache=SMALL_CACHE, write={"mode": "staged"}),
            ours("ours-renames", "target-renames", cache=SMALL_CACHE, write={"mode": "staged"}),
            ours("ours-sequential", "target-copy", cache=SMALL_CACHE, write={"mode": "sequential"}),
            ours("ours-stream", "target-none", cache=SMALL_CACHE, write={"mode": "sequential"}),
        ])

    def _rivals(self):
        place = self._place
        return {
            "s3fs": lambda stack: S3fs(stack, place, "s3fs", self["target-copy"], "-o", "ro"),
            "s3fs-writing": lambda stack: S3fs(stack, place, "s3fs-writing", self["target-copy"]),
            "rclone": lambda stack: Rclone(stack, place, "rclone", self["target-copy"], "--read-only"),
            "rclone-writing": lambda stack: Rclone(stack, place, "rclone-writing", self["target-copy"]),
        }

    def _ceilings(self):
        place = self._place
        return {
            "null-direct": lambda stack: Null(stack, place, "null-direct", self._any_of_ours(), "--direct"),
            "null-buffered": lambda stack: Null(stack, place, "null-buffered", self._any_of_ours()),
            "null-sink": lambda stack: Null(stack, place, "null-sink", self._any_of_ours(), "--direct", "--sink"),
            "tmpfs": lambda _: Tmpfs(place),
            "raw-shm": lambda _: Raw(self["target-copy"], "shm"),
            "raw-late": lambda _: Raw(self["target-late20"], "shm"),
            "raw-http": lambda _: Raw(self["target-copy"], "none"),
        }

    def names(self):
        return set(self._makers())

    def __getitem__(self, name):
        """The contestant; Failure, each time, where it cannot be started."""
        if name not in self._started:
            try:
                with contextlib.ExitStack() as stack:  # those that it starts first enter first, and end last
                    self._started[name] = self._makers()[name](stack)
                    self._stacks[name] = self._stack.enter_context(stack.pop_all())
            except Failure as failure:
                self._started[name] = failure
        if isinstance(self._started[name], Failure):
            raise self._started[name]
        return self._started[name]

    def renew(self, name):
        """Ends the contestant; the next that asks for it starts it."""
        one = self._started.pop(name, None)
        if one is None or isinstance(one, Failure):
            return
        if isinstance(one, Ours):
            self._resident[name] = self.resident_over_budget(name, one)
        self._stacks.pop(name).close()

    def resident_over_budget(self, name, one):
        return max(self._resident.get(name, 0), one.resident_over_budget())

    def _any_of_ours(self):
        return next(iter(self.of_ours().values()), None)

    def of_ours(self):
        return {name: one for name, one in self._started.items() if isinstance(one, Ours)}
