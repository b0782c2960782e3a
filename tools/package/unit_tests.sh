#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the unit tests as tools/package.sh builds the programs, and runs them; those of another architecture in
# qemu's emulation of its processor.
#
#   tools/package/unit_tests.sh amd64|arm64 REPORT
#
# REPORT gets the results (JUnit). Tests of what an emulated processor lacks are left out, see below.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [ $# -ne 2 ] || ! [[ $1 =~ ^(amd64|arm64)$ ]]; then
  sed -n '3,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi

sysroot=$(tools/package/sysroot.sh "$1")
build=build-package-tests-$1
if ! grep -qsF -- "$sysroot" "$build/build.ninja"; then
  rm -rf "$build"
  # Not optimized: the tests want the code to be right on this processor, not fast.
  meson setup "$build" --cross-file "$sysroot/cross.ini" -Dbench=false -Dman=disabled -Doptimization=0 -Ddebug=false \
    -Dunity=on -Dunity_size=6 > /dev/null
fi
ninja --quiet -C "$build"
status=0
# Emulation is ten times as slow.
meson test -C "$build" --no-rebuild --suite unit --timeout-multiplier 10 --print-errorlogs || status=$?
cp "$build/meson-logs/testlog.junit.xml" "$2"
exit $status
