# SPDX-License-Identifier: Apache-2.0
"""What the mount tests share: servers, mounts, data whose every byte says where it belongs."""
