#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures our mount against the ceilings of this machine and against its rivals, prints the table and writes
# build/bench/report.json, report.md and report.html. As root; changes nothing outside of /tmp and build/.
#
#   tools/bench/run.sh [--quick] [--rows REGEX] [--runs N] [--transport auto|dev|uring] [--out DIR] [--build DIR]
#
# Exit status: 0 every ratio is what is asked; 1 one falls short, could not be measured, or the run failed.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

build=$top/build
for ((i = 1; i <= $#; i++)); do
  case "${!i}" in
  --build) i=$((i + 1)) && build=${!i} ;;
  --build=*) build=${!i#--build=} ;;
  esac
done
[ -f "$build/build.ninja" ] || meson setup "$build" "$top" > /dev/null
ninja --quiet -C "$build" src/daemon/s3rdmafs tools/target/s3rdma-target tools/bench/null_fs \
  tools/bench/raw_get tools/bench/raw_put tools/bench/read_load > /dev/null

# exec: signals for this script are then the driver's, which ends everything it has started.
export PYTHONPATH=$top/tools/bench PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 -m driver "$@"
