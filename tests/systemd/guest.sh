#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the machine runs once it has booted: all tests, in one process, in the order of their names.
#
#   guest.sh [PYTEST ARGUMENT...]
exec /usr/bin/python3 -B -m pytest -q -p no:cacheprovider --durations=8 --color=no --junit-xml="$OUT/systemd.xml" "$@" \
  "$(dirname "${BASH_SOURCE[0]}")"
