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
#   tools/test.sh --release NAME
#                 the build, warnings as errors, unit and the demo in a clean root of another release, e.g.
#                 trixie for gcc 14; as root. Before a release of ours: trixie, beside CI with its g++ 12 and clang 19
#
# CI=true makes a skipped test of unit, property, fault, mount or rdma a failure.
# Build folders: build, build-lint (never built: clang-tidy's compile commands), build-asan, build-tsan (all ignored by git).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

passed=0 failed=0 skipped=0
results=$(mktemp -d)

finish() {
  local status=$?
  [ -z "$lint_early" ] || kill "$lint_early" 2> /dev/null || true
  rm -rf "$results"
  [ $status -eq 0 ] || [ $failed -gt 0 ] || failed=1
  printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
  [ $failed -eq 0 ] || exit 1
}

usage() { sed -n '3,24s/^# \{0,1\}//p' "$0" >&2; }

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
  tidy | unit | property | fault | mount | rdma | format | lint | asan | tsan) ;;
  *)
    usage
    exit 2
    ;;
  esac
done
trap finish EXIT
exec 2>&1  # one stream, so that what failed stands where it failed and the sum stands last

headline() { printf '\n== %s\n' "$*"; }

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
    CXX=$compiler meson setup "$folder" -Dwerror=true "$@" > "$results/setup.log"
  elif ! grep -q -e ' -Werror ' "$folder/build.ninja"; then
    meson configure "$folder" -Dwerror=true > "$results/setup.log"
  fi || {
    cat "$results/setup.log" >&2
    return 1
  }
}

# build FOLDER COMPILER [MESON OPTION...]: what changed.
build() { configure "$@" && ninja --quiet -C "$1"; }

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

pytest_suite() {
  local folder=$1 status=0
  if ! /usr/bin/python3 -c 'import pytest' 2> /dev/null; then
    if [ "${CI:-}" = true ]; then fail "$folder: no pytest"; else skip "$folder: pytest is not installed"; fi
    return
  fi
  # Each wait in the tests has a bound of its own; this one is for what nobody thought of.
  timeout --kill-after=60 2400 /usr/bin/python3 -B -m pytest -q -p no:cacheprovider --basetemp="$results/pytest" --junit-xml="$results/pytest.xml" "$folder" || status=$?
  count $status "$results/pytest.xml"
}

our_sources() {
  find src include tools tests \( -name '*.cc' -o -name '*.h' \) -print0
}

has_clang() {
  command -v "$1" > /dev/null && return
  if [ "${CI:-}" = true ]; then fail "$2: no $1 here"; else skip "$2: this distribution has no $1"; fi
  return 1
}

run_tidy() { pytest_suite tests/tidy; }

# Six files at a time as one: half of the compiler's time goes into headers. The three warnings left out are about
# code of which g++ then sees too much at once; clang-tidy compiles each file alone.
unity=(-Dunity=on -Dunity_size=6)
unity_of_gcc=("${unity[@]}" "-Dcpp_args=-Wno-subobject-linkage -Wno-maybe-uninitialized -Wno-stringop-overflow")

# with_build SUITE COMMAND...: the command, if the build of g++ succeeds.
with_build() {
  local suite=$1
  shift
  if build build g++ "${unity_of_gcc[@]}"; then "$@"; else fail "$suite: the build"; fi
}

run_unit() { with_build unit gtest_suite build unit; }

run_property() { with_build property gtest_suite build property; }

run_fault() { with_build fault gtest_suite build fault; }

run_mount() { with_build mount pytest_suite tests/mount; }

# guest_suite HOSTS FOLDER: a folder of tests/rdma inside one or two virtual machines.
guest_suite() {
  local hosts=$1 folder=$2 out=$results/$2 status=0
  mkdir -p "$out"
  # 1200 s: more than twice what it takes on two cores that emulate the guests'.
  tools/vm/run.sh --hosts "$hosts" --timeout 1200 --out "$out" -- tests/rdma/guest.sh "$folder" || status=$?
  if [ $status -eq 77 ] && [ "${CI:-}" != true ]; then
    skip "rdma, $folder: this machine runs no virtual machine (see above)"
    return
  fi
  count $status "$out/$folder".*.xml
}

run_rdma() { with_build rdma guest_suites; }

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

# Tests are left out: GoogleTest's macros are half of the findings.
clang_tidy=(run-clang-tidy-19 -quiet -p build-lint -j "$(nproc)" "^$PWD/(src|tools)/")

lint_early=
# Begins clang-tidy beside what waits more than it computes (mount, rdma), on what that leaves of the processors.
begin_lint() {
  command -v clang-tidy-19 > /dev/null || return 0
  configure build-lint clang++-19 || return 0
  chrt --idle 0 "${clang_tidy[@]}" > "$results/lint" 2>&1 &
  lint_early=$!
}

run_lint() {
  has_clang clang-tidy-19 lint || return 0
  if [ -n "$lint_early" ]; then
    if wait "$lint_early"; then pass; else cat "$results/lint" && fail clang-tidy; fi
    lint_early=
    return
  fi
  if ! configure build-lint clang++-19; then
    fail "lint: the set-up"
    return
  fi
  check clang-tidy "${clang_tidy[@]}"
}

# build_sanitized FOLDER SANITIZERS
build_sanitized() {
  # -O1: sanitizers are meant to be run at it; without any optimization the properties take minutes.
  # Line tables are all that their reports need of the debug information, a tenth of the build's time.
  build "$1" clang++-19 "-Db_sanitize=$2" -Db_lundef=false -Doptimization=1 -Ddebug=false -Dcpp_args=-gline-tables-only \
    "${unity[@]}"
}

# test_sanitized FOLDER SANITIZERS
test_sanitized() {
  has_clang clang++-19 "$1" || return 0
  if ! build_sanitized "$1" "$2"; then
    fail "$1: the build"
    return
  fi
  gtest_suite "$1" unit --timeout-multiplier 5
  gtest_suite "$1" property --timeout-multiplier 5
}

run_asan() { test_sanitized build-asan address,undefined; }

run_tsan() { test_sanitized build-tsan thread; }

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

tools/setup.sh
if [ -n "$release" ]; then
  headline "$release"
  run_release
  exit
fi

[ $# -gt 0 ] || set -- tidy unit property fault mount rdma
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}
for suite in "$@"; do
  headline "$suite"
  if [ "$suite" = mount ] && [[ " $* " == *" lint "* ]]; then begin_lint; fi
  "run_$suite"
done
printf '\n'
