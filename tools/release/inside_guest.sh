#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The part of tools/release/run.sh inside a root that is kept, to be booted by tools/vm/run.sh --root: installs systemd and
# /package/*.deb with what that recommends, and pytest, which is the one thing there that a user's machine may lack.
set -euo pipefail

apt() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" > /tmp/apt.log 2>&1 || {
    tail -n 20 /tmp/apt.log >&2
    exit 1
  }
}

apt update
# udev: it gives users /dev/fuse. libpam-systemd and dbus-user-session: users have a systemd of their own.
apt install systemd systemd-sysv udev dbus dbus-user-session libpam-systemd iproute2 procps python3-pytest
apt --install-recommends install /package/*.deb
for compiler in cc gcc g++ clang; do
  if command -v $compiler > /dev/null; then
    printf 'the root has %s, so it shows nothing\n' $compiler >&2
    exit 1
  fi
done
apt clean
rm -rf /package /s3rdmafs /var/lib/apt/lists/*
