# SPDX-License-Identifier: Apache-2.0
"""FUSE over io_uring is switched off in most kernels. Switched on for a run, and put back."""

import contextlib
from pathlib import Path

_SWITCH = Path("/sys/module/fuse/parameters/enable_uring")


@contextlib.contextmanager
def switched_on():
    """Where the kernel has it. It decides about mounts made from now on, not about those that are there."""
    was = _SWITCH.read_text() if _SWITCH.exists() else ""
    if was.startswith("N"):
        _SWITCH.write_text("Y")
    try:
        yield
    finally:
        if was.startswith("N"):
            _SWITCH.write_text(was)
