#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of the amd64 .deb in dist/. One that is not of this commit, or not there, is made first (tools/package.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# is_of_this_commit DEB: its program tells of the commit.
is_of_this_commit() {
  [ -e "$1" ] && dpkg-deb --fsys-tarfile "$1" | tar --extract --to-stdout ./usr/bin/s3rdmafs > "$work/s3rdmafs" &&
    chmod +x "$work/s3rdmafs" &&
    "$work/s3rdmafs" --version | grep -qF "$(git describe --always --dirty --abbrev=12 --exclude='*')"
}

package=$PWD/dist/s3rdmafs_$(sed -n "s/^project(.* version: '\([^']*\)'.*/\1/p" meson.build)-1_amd64.deb
is_of_this_commit "$package" || tools/package.sh >&2
printf '%s\n' "$package"
