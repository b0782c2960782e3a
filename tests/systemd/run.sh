#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Boots a virtual machine whose root has systemd and the .deb, and runs the tests of this folder in it. As root.
#
#   tests/systemd/run.sh [--root FOLDER] OUT [PYTEST ARGUMENT...]
#
#   --root FOLDER  the root: it is made if there is none, and kept, so that the next run need not make it. A root that is
#                  older than the package, or than layout.py, shows an old state: remove it.
#
# OUT gets systemd.xml, the report (JUnit), and console.1. The package is that of dist/ if it was made from this commit; else it
# is made first (tools/package.sh). Exit status: that of pytest; 77 this machine cannot run it, and what is missing was said.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

root=
if [ "${1:-}" = --root ]; then
  root=${2:?}
  shift 2
fi
if [ $# -eq 0 ]; then
  sed -n '3,13s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
out=$1
shift
mkdir -p "$out"

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
[ -n "$root" ] || root=$work/root

# is_of_this_commit DEB: its program tells of the commit.
is_of_this_commit() {
  [ -e "$1" ] && dpkg-deb --fsys-tarfile "$1" | tar --extract --to-stdout ./usr/bin/s3rdmafs > "$work/s3rdmafs" &&
    chmod +x "$work/s3rdmafs" &&
    "$work/s3rdmafs" --version | grep -qF "$(git describe --always --dirty --abbrev=12 --exclude='*')"
}

package=dist/s3rdmafs_$(sed -n "s/^project(.* version: '\([^']*\)'.*/\1/p" meson.build)-1_amd64.deb
if ! [ -e "$root" ]; then
  is_of_this_commit "$package" || tools/package.sh
  # shellcheck source=/dev/null
  release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
  tools/release/run.sh "$release" "$out" "$package" "$root"
  /usr/bin/python3 -B "$here/layout.py" "$root" || {
    rm -rf --one-file-system "$root"
    exit 1
  }
fi
# 1800 s: some three times what it takes on two cores that emulate the machine's.
tools/vm/run.sh --root "$root" --timeout 1800 --out "$out" -- "$here/guest.sh" "$@"
