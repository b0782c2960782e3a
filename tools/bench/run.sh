#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures our mount against the ceilings of this machine and against its rivals, prints the table and writes
# build/bench/report.json, report.md and report.html; of a tour tour.svg too, a picture. As root. It installs packages that are
# missing and builds all that it runs; apart from that it changes nothing outside of /tmp and build/.
#
#   tools/bench/run.sh [--tour | --quick] [--rows REGEX] [--runs N] [--transport auto|dev|uring] [--out DIR] [--build DIR]
#   tools/bench/run.sh --list
#
# Exit status: 0 every ratio is what is asked; 1 one falls short, could not be measured, or the run failed.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

build=$top/build is_whole=true measures=true
for ((i = 1; i <= $#; i++)); do
  case "${!i}" in
  --build) i=$((i + 1)) && build=${!i} ;;
  --build=*) build=${!i#--build=} ;;
  --tour | --rows | --rows=*) is_whole=false ;;
  --list | -h | --help) measures=false ;;
  esac
done

# PyTorch is large, and only the training rows of a whole run need it.
install_packages() {
  if $is_whole; then "$top/tools/setup.sh" --bench; else "$top/tools/setup.sh" --tour; fi
}

# All that the rows run; no program links the library of `s3rdmafs run`.
programs=(src/daemon/s3rdmafs src/client/preload/libs3rdmafs_preload.so tools/target/s3rdma-target
  tools/bench/null_fs tools/bench/raw_get tools/bench/raw_put tools/bench/read_load)

build_programs() {
  if [ ! -f "$build/build.ninja" ]; then
    meson setup "$build" "$top" -Dtests=false -Dcsi=disabled > /dev/null
  elif ! grep -q 'tools/bench/null_fs' "$build/build.ninja"; then
    meson configure "$build" -Dbench=true > /dev/null  # of tools/demo.sh
  fi
  "$top/tools/build.sh" "$build" "${programs[@]}"
}

if $measures; then
  install_packages
  build_programs
fi

# exec: signals for this script are then the driver's, which ends everything it has started.
export PYTHONPATH=$top/tools/bench PYTHONDONTWRITEBYTECODE=1
exec /usr/bin/python3 -m driver "$@"
