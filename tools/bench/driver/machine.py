# SPDX-License-Identifier: Apache-2.0
"""The facts that a result must be read with: the machine, its kernel, the versions of all that took part."""

import os
import platform
import re
import subprocess
from pathlib import Path


def _first_line(*command):
    try:
        out = subprocess.run(command, check=False, timeout=20, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return "not installed"
    return out.strip().splitlines()[0] if out.strip() else "unknown"


def _read(path, default="unknown"):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return default


def _field(path, name):
    found = re.search(rf"^{name}\s*:\s*(.+)$", _read(path, ""), re.MULTILINE)
    return found.group(1) if found else "unknown"


def describe(root):
    """{what: text}, in the order in which it is shown."""
    return {
        "processor": f"{os.cpu_count()} x {_field('/proc/cpuinfo', 'model name')}",
        "memory": _field("/proc/meminfo", "MemTotal"),
        "virtual machine": "yes" if "hypervisor" in _field("/proc/cpuinfo", "flags").split() else "no",
        "kernel": platform.release(),
        "transparent huge pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "fuse over io_uring": _read("/sys/module/fuse/parameters/enable_uring"),
        "fs.fuse.max_pages_limit": _read("/proc/sys/fs/fuse/max_pages_limit"),
        "commit": _first_line("git", "-C", str(root), "describe", "--always", "--dirty"),
        "s3fs": _first_line("s3fs", "--version"),
        "rclone": _first_line("rclone", "version"),
        "load before the run": " ".join(_read("/proc/loadavg").split()[:3]),
    }
