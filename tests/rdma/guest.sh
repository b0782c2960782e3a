#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a guest of tools/vm/run.sh does for the suite: host 1 runs the tests of a folder, host 2 what they say.
#
#   guest.sh one_host|two_hosts [PYTEST ARGUMENT...]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
shift
if [ "$HOST" = 2 ]; then
  exec /usr/bin/python3 -B "$here/peer/agent.py"
fi
# A process for each file: pyverbs crashes where its objects are collected late and out of order.
status=0
for file in "$here/$folder"/*_test.py; do
  /usr/bin/python3 -B -m pytest -q -p no:cacheprovider --durations=8 --color=no \
    --junit-xml="$OUT/$folder.$(basename "$file" .py).xml" "$file" "$@" || status=$?
done
exit $status
