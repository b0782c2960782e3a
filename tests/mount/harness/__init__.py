# SPDX-License-Identifier: Apache-2.0
"""Shared by the mount tests: servers, mounts, and data in which every byte says where it belongs."""
