#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures what a token costs: a 64 KiB GET by RDMA (shm) against a plain GET of one byte, over one and
# the same connection to s3rdma-target. Prints both medians and their ratio; status 1 above 1.2.
#
#   tools/bench/get_overhead.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build}

ninja --quiet -C "$build" tools/bench/get_overhead tools/target/s3rdma-target > /dev/null
work=$(mktemp -d)
target=
clean_up() {
  [ -z "$target" ] || { kill "$target" && wait "$target"; } 2> /dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT

mkdir -p "$work/root/bench"
head -c 65536 /dev/urandom > "$work/root/bench/object"
"$build/tools/target/s3rdma-target" --root "$work/root" --listen 127.0.0.1:0 --port-file "$work/port" \
  --key bench:bench-secret > "$work/target.log" 2>&1 &
target=$!
for ((i = 0; i < 100; i++)); do
  [ -s "$work/port" ] && break
  sleep 0.1
done
[ -s "$work/port" ] || { cat "$work/target.log" >&2; exit 1; }

# Interleaved, so that both see the same weather.
"$build/tools/bench/get_overhead" "http://127.0.0.1:$(cat "$work/port")" bench object \
  --benchmark_repetitions=15 --benchmark_min_time=0.2 --benchmark_enable_random_interleaving=true \
  --benchmark_out_format=json --benchmark_out="$work/result.json" > "$work/benchmark.log" 2>&1 || {
  cat "$work/benchmark.log" >&2
  exit 1
}

/usr/bin/python3 - "$work/result.json" << 'PYTHON'
import json, statistics, sys
times = {}
for run in json.load(open(sys.argv[1]))["benchmarks"]:
    if run.get("error_occurred"):
        sys.exit(f"get_overhead: {run['name']}: {run['error_message']}")
    if run["run_type"] == "iteration":
        times.setdefault(run["run_name"].split("/")[0], []).append(run["real_time"] / 1000)
for name, us in times.items():
    print(f"{name:12} median {statistics.median(us):6.1f} us  (min {min(us):.1f}, max {max(us):.1f}, {len(us)} runs)")
ratio = statistics.median(times["rdma_64KiB"]) / statistics.median(times["http_1B"])
print(f"ratio        {ratio:.2f}  (asked: at most 1.2)")
sys.exit(ratio > 1.2)
PYTHON
