#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds s3rdmafs and runs its tests. The last line is always "N passed, N failed, N skipped"; the exit
# status is 0 only if nothing failed.
#
#   tools/test.sh                what belongs to a normal run: tidy unit property fault mount rdma
#   tools/test.sh SUITE...       these only, in this order:
#     tidy      the tree's own rules: layers, licences, banned calls, file length
#     unit      each part alone, on fakes
#     property  random inputs against reference models
#     fault     servers that behave as others do or do wrong on purpose, with the real client
#     mount     real programs on a real mount, against real servers (needs FUSE)
#     rdma      real verbs over soft-RoCE, in virtual machines that it boots (needs qemu)
#     format    clang-format
#     lint      clang-tidy over our sources
#     asan      unit and property under AddressSanitizer and UndefinedBehaviorSanitizer; also the
#               build by the second compiler, warnings and -Wthread-safety as errors
#     tsan      unit and property under ThreadSanitizer
#     systemd   mounts as systemd makes them, in a virtual machine with the .deb, which it builds if dist/ has an older
#               one (needs qemu, root; ten minutes on two cores, and those of the package)
#     arm64     unit and property, built for ARM by tools/package's compiler and run under qemu-user (15 minutes on two cores)
#     image     the CSI driver's container image, of the .deb by packaging/kubernetes/image.sh, and the driver in it; as root
#     packages  tools/package.sh, the linters of Debian and of RPM, and the .deb in clean roots of Debian 11, 12 and 13; as root
#     coverage  the lines that unit and property run, for each folder of src; fails below its floors
#
#   tools/test.sh --release NAME
#                 the build, warnings as errors, unit and the demo in a clean root of another release, e.g.
#                 trixie for gcc 14; as root. Before a release of ours: trixie, beside CI with its g++ 12 and clang 19
#
# Where mount or rdma comes before lint, asan or tsan, these are prepared at idle priority meanwhile.
# CI=true makes a skipped test of unit, property, fault, mount or rdma a failure.
# Build folders, all ignored by git: build, build-asan, build-tsan, build-coverage, build-arm64, and build-lint, which is never
# built: it has clang-tidy's compile commands.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

passed=0 failed=0 skipped=0
results=$(mktemp -d)
ahead=  # the process group that prepares later suites, see prepare_ahead

finish() {
  local status=$?
  [ -z "$ahead" ] || kill -- "-$ahead" 2> /dev/null || true
  rm -rf "$results" || true  # what is prepared ahead may still write there
  [ $status -eq 0 ] || [ $failed -gt 0 ] || failed=1
  printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
  [ $failed -eq 0 ] || exit 1
}

usage() { sed -n '3,29s/^# \{0,1\}//p' "$0" >&2; }

release=
if [ "${1:-}" = --release ]; then
  if [ $# -ne 2 ] || ! [[ $2 =~ ^[a-z]+$ ]]; then
    usage
    exit 2
  fi
  release=$2
  shift 2
fi

for suite in "$@"; do
  case $suite in
  tidy | unit | property | fault | mount | rdma | format | lint | asan | tsan | systemd | arm64 | image | packages | coverage) ;;
  *)
    usage
    exit 2
    ;;
  esac
done
trap finish EXIT
exec 2>&1  # one stream, so that what failed stands where it failed and the sum stands last

headline() { printf '\n== %s, after %d s\n' "$*" $SECONDS; }

pass() { passed=$((passed + 1)); }

fail() {
  failed=$((failed + 1))
  printf '  FAILED %s\n' "$*"
}

skip() {
  skipped=$((skipped + 1))
  printf '  SKIPPED %s\n' "$*"
}

# A check that is one step: passed if the command succeeds.
check() {
  local name=$1
  shift
  if "$@"; then pass; else fail "$name"; fi
}

# Adds the test cases of JUnit files to the sums. $1: exit status of the runner, which fails the suite
# even where a crash left no case to count.
count() {
  local status=$1 options=() p f s
  shift
  [ "${CI:-}" = true ] && options=(--skips-fail)
  read -r p f s < <(/usr/bin/python3 tools/junit_summary.py "${options[@]}" "$@") || { p=0 f=0 s=0; }
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then fail "the suite's runner ended with status $status"; fi
  if [ $((p + f + s)) -eq 0 ]; then fail "no test was run at all"; fi
}

# configure FOLDER COMPILER [MESON OPTION...], once. A warning is an error here, but not for users, whose
# compiler may be one that has not been tried; the folder may be one that they configured.
configure() {
  local folder=$1 compiler=$2
  shift 2
  if [ ! -e "$folder/build.ninja" ]; then
    rm -rf "$folder"
    CXX=$compiler meson setup "$folder" -Dwerror=true "$@" > "$results/setup.$folder"
  elif ! grep -q -e ' -Werror ' "$folder/build.ninja"; then
    # Of the demo or of a user: without tests, too.
    meson configure "$folder" -Dwerror=true -Dtests=true -Dbench=true -Dcsi=auto > "$results/setup.$folder"
  fi || {
    cat "$results/setup.$folder" >&2
    return 1
  }
}

# build FOLDER COMPILER [MESON OPTION...]: what changed.
build() { configure "$@" && tools/build.sh "$1"; }

# gtest_suite FOLDER SUITE [MESON TEST OPTION...]: runs GoogleTest executables through Meson.
gtest_suite() {
  local folder=$1 suite=$2 status=0
  shift 2
  # GoogleTest's own reports of an earlier run must not stand in for those of a crash.
  rm -f "$folder"/*.xml "$folder/meson-logs/testlog.junit.xml"
  meson test -C "$folder" --no-rebuild --suite "$suite" --print-errorlogs "$@" || status=$?
  if [ -e "$folder/meson-logs/testlog.junit.xml" ]; then
    count $status "$folder/meson-logs/testlog.junit.xml"
  else
    fail "$suite: meson test ran nothing"
  fi
}

has_pytest() {
  /usr/bin/python3 -c 'import pytest' 2> /dev/null && return
  if [ "${CI:-}" = true ]; then fail "$1: no pytest"; else skip "$1: pytest is not installed"; fi
  return 1
}

our_sources() {
  find src include tools tests \( -name '*.cc' -o -name '*.h' \) -print0
}

has_clang() {
  command -v "$1" > /dev/null && return
  if [ "${CI:-}" = true ]; then fail "$2: no $1 here"; else skip "$2: this distribution has no $1"; fi
  return 1
}

run_tidy() {
  local status=0
  has_pytest tidy || return 0
  timeout 300 /usr/bin/python3 -B -m pytest -q -p no:cacheprovider --basetemp="$results/tidy" \
    --junit-xml="$results/tidy.xml" tests/tidy || status=$?
  count $status "$results/tidy.xml"
}

# Forty files at a time as one, where all is built once and no header is precompiled: clang's builds, and coverage.
once=(-Dunity_size=40)

# with_build SUITE COMMAND...: the command, if the build of g++ succeeds.
with_build() {
  local suite=$1
  shift
  if build build g++; then "$@"; else fail "$suite: the build"; fi
}

run_unit() { with_build unit gtest_suite build unit; }

run_property() { with_build property gtest_suite build property; }

run_fault() { with_build fault gtest_suite build fault; }

run_mount() { with_build mount mount_suite; }

mount_suite() {
  local status=0
  has_pytest mount || return 0
  /usr/bin/python3 -B tests/mount/side_by_side.py "$results/mount" || status=$?
  count $status "$results/mount"/*.xml
}

run_rdma() { with_build rdma guest_suites; }

# guest_suite HOSTS FOLDER: a folder of tests/rdma inside one or two virtual machines.
guest_suite() {
  local hosts=$1 folder=$2 out=$results/$2 status=0
  mkdir -p "$out"
  # 1200 s: more than twice what it takes on two cores that emulate the guests'.
  tools/vm/run.sh --hosts "$hosts" --timeout 1200 --out "$out" -- tests/rdma/guest.sh "$folder" || status=$?
  if [ $status -eq 77 ] && [ "${CI:-}" != true ]; then
    skip "rdma, $folder: this machine cannot run virtual machines (see above)"
    return
  fi
  count $status "$out/$folder".*.xml
}

# One after the other: an emulated guest that gets too little of the processor misses the deadlines of its tests.
guest_suites() {
  guest_suite 1 one_host
  guest_suite 2 two_hosts
}

run_format() {
  has_clang clang-format-19 format || return 0
  our_sources > "$results/sources"
  check "clang-format (clang-format-19 -i FILE mends it)" \
    xargs -0 -a "$results/sources" clang-format-19 --dry-run -Werror
}

# mount and rdma wait for much of their time. Later suites are prepared meanwhile, at idle priority, and one after the
# other so that memory suffices.

# prepare_ahead SUITE...: the prepare_SUITE of each that has one, in the background.
prepare_ahead() {
  local suites
  command -v clang-tidy-19 > /dev/null && command -v clang++-19 > /dev/null || return 0
  mapfile -t suites < <(printf '%s\n' "$@" | grep -xE 'lint|asan|tsan')
  [ ${#suites[@]} -gt 0 ] || return 0
  set -m  # a process group of its own, so that finish ends all of it
  (
    chrt --idle --pid 0 "$BASHPID"
    for suite in "${suites[@]}"; do
      status=0
      "prepare_$suite" > "$results/$suite.output" 2>&1 || status=$?
      echo $status > "$results/$suite.ended"
      mv "$results/$suite.ended" "$results/$suite.status"
    done
  ) &
  ahead=$!
  set +m
}

# ahead_priority --other|--idle
ahead_priority() {
  local process
  for process in $(pgrep -g "$ahead"); do
    chrt "$1" --all-tasks --pid 0 "$process" > /dev/null 2>&1 || true  # it may have ended, or we are not root
  done
}

# prepared SUITE: prepare_SUITE has succeeded, ahead or now. Prints its output if it failed.
prepared() {
  if [ -n "$ahead" ]; then
    ahead_priority --other  # nothing else is left to do until it has ended
    while [ ! -e "$results/$1.status" ] && kill -0 "$ahead" 2> /dev/null; do sleep 0.5; done
    ahead_priority --idle
  fi
  if [ -e "$results/$1.status" ]; then
    [ "$(cat "$results/$1.status")" = 0 ] || {
      cat "$results/$1.output"
      return 1
    }
  else
    "prepare_$1"
  fi
}

# Many files at a time here too, since most of clang-tidy's time goes into headers. The check that is left out is about
# what Meson writes for that; tests/tidy has a rule for our own files. Tests are not looked at: GoogleTest's macros are
# half of the findings.
prepare_lint() {
  # A folder of an earlier commit has a file at a time, of which the expression below would find none.
  grep -qs unity build-lint/compile_commands.json || rm -rf build-lint
  # The header of the commit, and those of csi.proto, are all that a build makes for the sources. Generated code
  # is not in unity files, so the expression below leaves it out.
  configure build-lint clang++-19 "${once[@]}" && ninja --quiet -C build-lint src/daemon/commit.h src/csi/csi.pb.h && grep -q '"src/.*unity' build-lint/compile_commands.json &&
    run-clang-tidy-19 -quiet -p build-lint -j "$(nproc)" -checks=-bugprone-suspicious-include \
      "^$PWD/build-lint/(src|tools)/.*unity"
}

run_lint() {
  has_clang clang-tidy-19 lint || return 0
  check clang-tidy prepared lint
}

# configure_sanitized FOLDER SANITIZERS
configure_sanitized() {
  # -O1: sanitizers are meant to be run at it; without any optimization the properties take minutes.
  # Line tables are all that their reports need of the debug information, a tenth of the build's time.
  configure "$1" clang++-19 "-Db_sanitize=$2" -Db_lundef=false -Doptimization=1 -Ddebug=false \
    -Dcpp_args=-gline-tables-only "${once[@]}"
}

# All of it: this is the second compiler's build too.
prepare_asan() { configure_sanitized build-asan address,undefined && ninja --quiet -C build-asan; }

# Only the programs of the tests: benchmarks and fault tests do not run under it.
prepare_tsan() {
  configure_sanitized build-tsan thread && test_programs build-tsan | xargs ninja --quiet -C build-tsan
}

# test_programs FOLDER: the executables of unit and property, as Ninja names them.
test_programs() {
  meson introspect "$1" --tests | /usr/bin/python3 -c '
import json, os, sys
for test in json.load(sys.stdin):
    if {suite.split(":")[-1] for suite in test["suite"]} & {"unit", "property"}:
        print(os.path.relpath(test["cmd"][0], sys.argv[1]))' "$(realpath "$1")"
}

# test_sanitized SUITE
test_sanitized() {
  has_clang clang++-19 "$1" || return 0
  if ! prepared "$1"; then
    fail "$1: the build"
    return
  fi
  # 300 s: the slowest program takes 80 s under ThreadSanitizer, and a machine may be three times as slow.
  gtest_suite "build-$1" unit --timeout-multiplier 10
  gtest_suite "build-$1" property --timeout-multiplier 10
}

run_asan() { test_sanitized asan; }

run_tsan() { test_sanitized tsan; }

run_coverage() {
  # Atomic counters: threads would lose some of each other's.
  if ! configure build-coverage g++ -Db_coverage=true -Doptimization=0 -Ddebug=false "${once[@]}" \
    -Dcpp_args=-fprofile-update=atomic ||
    ! test_programs build-coverage | xargs ninja --quiet -C build-coverage; then
    fail "coverage: the build"
    return
  fi
  find build-coverage -name '*.gcda' -delete
  gtest_suite build-coverage unit --timeout-multiplier 3
  gtest_suite build-coverage property --timeout-multiplier 3
  check "coverage: a folder is below its floor" /usr/bin/python3 tools/coverage.py build-coverage
}

# Boot, killed daemons and users' mounts cannot be had in a name space, so this is a machine of its own.
run_systemd() {
  local status=0
  has_pytest systemd || return 0
  tools/setup.sh --packages
  tests/systemd/run.sh "$results/systemd" || status=$?
  if [ $status -eq 77 ]; then
    skip "systemd: this machine cannot run it (see above)"
    return
  fi
  count $status "$results/systemd"/systemd.xml
}

# The build and the demo in another release's root are one check beside the test cases that were counted in it.
run_release() {
  local status=0
  tools/release/run.sh "$release" "$results" || status=$?
  if [ $status -eq 77 ] && [ "${CI:-}" != true ]; then
    skip "$release: this machine cannot make its root (see above)"
    return
  fi
  if [ -e "$results/unit.xml" ]; then count 0 "$results/unit.xml"; else fail "$release: no unit test was run"; fi
  check "$release: the build, the unit tests and the demo" [ $status -eq 0 ]
}

# The build differs from that of tools/package.sh by the tests alone.
run_arm64() {
  local sysroot
  tools/setup.sh --packages
  sysroot=$(tools/package/sysroot.sh arm64) || {
    fail "arm64: no sysroot"
    return
  }
  grep -qsF -- "$sysroot" build-arm64/build.ninja || rm -rf build-arm64  # of an older tools/package
  build build-arm64 clang++-19 --cross-file "$sysroot/cross.ini" -Dbench=false -Dcsi=disabled -Dman=disabled "${once[@]}" || {
    fail "arm64: the build"
    return
  }
  # Each instruction of ARM is emulated, by some twenty of this machine.
  gtest_suite build-arm64 unit --timeout-multiplier 20
  gtest_suite build-arm64 property --timeout-multiplier 20
}

run_image() {
  tools/setup.sh --packages
  with_build image image_suite
}

image_suite() {
  local driver=build/src/csi/s3rdmafs-csi archive=$results/image.tar status=0
  tools/release/driver_image.sh $driver "$archive" > "$results/image.log" 2>&1 || {
    tail -n 40 "$results/image.log"
    fail "image: it could not be made"
    return
  }
  pass
  S3RDMAFS_CSI_ARCHIVE=$archive /usr/bin/python3 -B -m pytest -q -p no:cacheprovider --junit-xml="$results/image.xml" \
    tests/mount/cluster/containers_test.py || status=$?
  count $status "$results/image.xml"
}

# make_packages ARCHITECTURE
make_packages() {
  check "packages for $1" tools/package.sh --arch "$1" --out "$results/packages"
  check "lintian, $1" lintian --fail-on error,warning "$results/packages/s3rdmafs_"*"_$1.deb"
}

run_packages() {
  local status debian
  tools/setup.sh --packages
  for architecture in amd64 arm64; do make_packages $architecture; done
  check "rpmlint" rpmlint --config packaging/rpm/rpmlint.toml "$results"/packages/*.rpm
  for debian in bullseye bookworm trixie; do
    status=0
    tools/release/run.sh $debian "$results" "$results"/packages/s3rdmafs_*_amd64.deb || status=$?
    if [ $status -eq 77 ]; then
      skip "packages on $debian: this machine cannot make its root (see above)"
    else
      check "the package on $debian" [ $status -eq 0 ]
    fi
  done
}

# On a new machine the tests' packages take a minute and a half, most of it without the processor: the compiler begins meanwhile.
# Errors that it finds are told again by the first suite that needs the build.
set_up() {
  tools/setup.sh --build-all
  tools/setup.sh &
  sleep 1  # nothing to install takes less
  if kill -0 $! 2> /dev/null && [[ " $* " =~ \ (unit|property|fault|mount|rdma)\  ]]; then build build g++ || true; fi
  wait $!
}

[ $# -gt 0 ] || set -- tidy unit property fault mount rdma
set_up "$@"
if [ -n "$release" ]; then
  headline "$release"
  run_release
  exit
fi

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}
while [ $# -gt 0 ]; do
  suite=$1
  shift
  headline "$suite"
  if [ -z "$ahead" ] && [[ $suite =~ ^(mount|rdma)$ ]]; then prepare_ahead "$@"; fi
  "run_$suite"
done
printf '\n'
