# SPDX-License-Identifier: Apache-2.0
"""Units of size."""

MIB = 1 << 20
