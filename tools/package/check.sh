#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if a program asks for a symbol above glibc 2.31, or for a library that not every distribution has.
#
#   tools/package/check.sh PROGRAM...
set -euo pipefail

readonly glibc_max=2.31
# glibc's own, and libgcc_s, whose interface has not changed since gcc 3.
readonly libraries='libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libgcc_s.so.1 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1'

status=0
for program in "$@"; do
  highest=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
  if [ "$(printf '%s\n' "$highest" $glibc_max | sort -V | tail -n 1)" != $glibc_max ]; then
    printf 'check: %s asks for symbols of glibc %s:\n' "$program" "$highest" >&2
    objdump -T "$program" | grep -F "GLIBC_$highest" >&2
    status=1
  fi
  for library in $(objdump -p "$program" | awk '$1 == "NEEDED" {print $2}'); do
    [[ " $libraries " == *" $library "* ]] && continue
    printf 'check: %s asks for %s, which a distribution may lack\n' "$program" "$library" >&2
    status=1
  done
  [ $status -ne 0 ] || printf '%s: glibc %s, %s\n' "${program##*/}" "$highest" \
    "$(objdump -p "$program" | awk '$1 == "NEEDED" {printf "%s ", $2}')"
done
exit $status
