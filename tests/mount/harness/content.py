# SPDX-License-Identifier: Apache-2.0
"""File content in which every byte depends on the file and on its position.

A file is a run of 512-byte units. A unit begins with the file's number and its own; a constant random
tail follows. So bytes of another file, of another place in the file, or shifted by anything show up,
and what should be there can be computed faster than a mount delivers it.
"""

import random
import struct

UNIT_BYTES = 512
_HEADER = struct.Struct("<QQ")
_TAIL = random.Random(20230701).randbytes(UNIT_BYTES - _HEADER.size)


def expected(file_number, offset, length):
    """The bytes [offset, offset + length) of a file with this number."""
    first = offset // UNIT_BYTES
    last = (offset + length + UNIT_BYTES - 1) // UNIT_BYTES
    pack = _HEADER.pack
    units = b"".join(pack(file_number, unit) + _TAIL for unit in range(first, last))
    begin = offset - first * UNIT_BYTES
    return units[begin:begin + length]


def write(path, file_number, size):
    """Makes a file of exactly `size` bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    chunk = 8 << 20
    with open(path, "wb") as file:
        for offset in range(0, size, chunk):
            file.write(expected(file_number, offset, min(chunk, size - offset)))
    return path


def difference(got, file_number, offset, wanted_length):
    """Empty if `got` is what a read of that range must give; otherwise what is wrong, in one line."""
    want = expected(file_number, offset, wanted_length)
    if got == want:
        return ""
    if len(got) != len(want):
        return f"file {file_number} at {offset}: {len(got)} bytes, not {len(want)}"
    at = next(i for i, (a, b) in enumerate(zip(got, want)) if a != b)
    return (f"file {file_number} at {offset}+{at}: {got[at:at + 16].hex()} "
            f"instead of {want[at:at + 16].hex()}")
