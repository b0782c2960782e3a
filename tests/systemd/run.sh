#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Boots a virtual machine whose root has systemd and the .deb, and runs the tests of this folder in it. As root.
#
#   tests/systemd/run.sh [--root FOLDER] OUT [PYTEST ARGUMENT...]
#
#   --root FOLDER  the root: it is made if there is none, and kept, so that the next run need not make it. A root that is
#                  older than the package, or than layout.py, shows an old state: remove it.
#
# OUT gets systemd.xml, the report (JUnit), and console.1. The package is that of tools/package/current_deb.sh. Exit status: that of pytest; 77 this machine cannot run it, and what is missing was said.
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

if ! [ -e "$root" ]; then
  package=$(tools/package/current_deb.sh)
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
