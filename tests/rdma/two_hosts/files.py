# SPDX-License-Identifier: Apache-2.0
"""The files that host 2 serves: name and size; the number of each is its place in this list. So large
that one block which goes by HTTP is less than 1 % of them."""

MIB = 1 << 20
SIZES = {f"large{i}": mib * MIB + i for i, mib in enumerate((56, 56, 8, 8))} | {f"small{i}": 65536 + 997 * i for i in range(20)}
