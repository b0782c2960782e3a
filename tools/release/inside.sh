#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tools/release/run.sh runs in the clean root: what README tells a user to do, with warnings as errors, and the
# unit tests. Leaves their report as unit.xml in the tree's folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tools/setup.sh --build-only
g++ --version | head -n 1
CXX=g++ meson setup build -Dwerror=true > setup.log || {
  cat setup.log >&2
  exit 1
}
ninja --quiet -C build
status=0
meson test -C build --no-rebuild --suite unit --print-errorlogs || status=$?
cp build/meson-logs/testlog.junit.xml unit.xml
tools/demo.sh --size 1 || status=$?
exit $status
