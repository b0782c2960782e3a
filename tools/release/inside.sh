#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What tools/release/run.sh runs in the clean root: the build with warnings as errors, each file alone, so that none lives on
# what another one includes; the unit tests; the demo. Leaves the tests' report as unit.xml in the tree's folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

tools/setup.sh --build-all
g++ --version | head -n 1
CXX=g++ meson setup build -Dwerror=true -Dunity=off -Db_pch=false > setup.log || {
  cat setup.log >&2
  exit 1
}
tools/build.sh build
status=0
meson test -C build --no-rebuild --suite unit --print-errorlogs || status=$?
cp build/meson-logs/testlog.junit.xml unit.xml
tools/demo.sh --size 1 || status=$?
exit $status
