# SPDX-License-Identifier: Apache-2.0
"""Random system calls, made by processes of their own from a seed each: how one plays, and what all of them found."""

import errno
import subprocess
import sys
from pathlib import Path

LAST_CALLS = 60


def outcome(call):
    """The result of `call()`, or the name of its errno."""
    try:
        return call()
    except OSError as error:
        return errno.errorcode[error.errno]


def brief(value):
    if isinstance(value, (bytes, bytearray)):
        return f"{len(value)} bytes, {hash(bytes(value)) & 0xffff:x}, {bytes(value[:8]).hex()}"
    return repr(value)


def play(game, seed, count, difference):
    """`count` steps of `game`, then its end. The exit status: 1 after an exception of the kind `difference`, which is printed
    with the last of `game.calls`."""
    try:
        for _ in range(count):
            game.step()
        game.end()
    except difference as found:
        print("\n".join(game.calls[-LAST_CALLS:]))
        print(f"seed {seed}, call {len(game.calls)}: {found}")
        return 1
    return 0


def play_side_by_side(module, all_arguments, seconds):
    """A process of `module` for each of `all_arguments`; the output of each that failed."""
    running = [subprocess.Popen([sys.executable, "-B", "-m", module.__name__, *arguments], cwd=Path(__file__).parents[1],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for arguments in all_arguments]
    try:
        return [(out := process.communicate(timeout=seconds)[0]) and out or f"status {process.returncode}"
                for process in running if process.wait(seconds) != 0]
    finally:
        for process in running:
            process.kill()
            process.wait()
