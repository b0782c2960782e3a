#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds targets of a folder that Meson has configured, and says every few seconds how far it is. Output of the
# compiler is printed as it comes.
#
#   tools/build.sh FOLDER [TARGET...]
#
# Exit status: Ninja's.
set -euo pipefail

[ $# -ge 1 ] || {
  sed -n '3,6s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
folder=$1
shift
readonly pause_s=5

began=$SECONDS told=-$pause_s steps="nothing yet"

tell() {
  [ $((SECONDS - told)) -ge $pause_s ] || return 0
  told=$SECONDS
  printf 'build: %s, %d s\n' "$steps" $((SECONDS - began)) >&2
}

# As many jobs as processors: Ninja's two more only make each file slower.
NINJA_STATUS='@%f of %t files@' ninja -j "$(nproc)" -C "$folder" "$@" |
  while true; do
    status=0
    IFS= read -r -t $pause_s line || status=$?
    if [ $status -gt 128 ]; then  # nothing was said for that long
      tell
    elif [ $status -ne 0 ]; then
      break
    elif [[ $line == @*@* ]]; then
      steps=${line#@} steps=${steps%%@*}
      tell
    elif [[ $line != ninja:\ Entering* && $line != ninja:\ no\ work* ]]; then
      printf '%s\n' "$line" >&2
    fi
  done
