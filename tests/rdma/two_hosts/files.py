# SPDX-License-Identifier: Apache-2.0
"""The files that host 2 serves: name and size; the number of each is its place in this list."""

MIB = 1 << 20
SIZES = {f"large{i}": 8 * MIB + i for i in range(4)} | {f"small{i}": 65536 + 997 * i for i in range(20)}
