#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of the amd64 .deb in dist/. It is made first (tools/package.sh) if it is not there, if it is not of this commit, or
# if a file has changed since that commit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

commit=$(git describe --always --dirty --abbrev=12 --exclude='*')

# is_of_this_commit DEB: its program tells of the commit.
is_of_this_commit() {
  [[ $commit != *-dirty ]] && [ -e "$1" ] &&
    dpkg-deb --fsys-tarfile "$1" | tar --extract --to-stdout ./usr/bin/s3rdmafs > "$work/s3rdmafs" &&
    chmod +x "$work/s3rdmafs" && "$work/s3rdmafs" --version | grep -qF "(commit $commit)"
}

package=$PWD/dist/s3rdmafs_$(sed -n "s/^project(.* version: '\([^']*\)'.*/\1/p" meson.build)-1_amd64.deb
is_of_this_commit "$package" || tools/package.sh >&2
printf '%s\n' "$package"
