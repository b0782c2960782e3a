#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a container image of this machine's own release by debootstrap and buildah, for a machine that reaches a mirror and no
# registry. As root.
#
#   tools/release/base_image.sh IMAGE   the name of the image to make, such as localhost/base
#
# The storage is buildah's: CONTAINERS_STORAGE_CONF names another.
set -euo pipefail
if [ $# -ne 1 ]; then
  sed -n '3,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
# shellcheck source=tools/private_apt.sh
. "$(dirname "${BASH_SOURCE[0]}")/../private_apt.sh"

root=$(mktemp -d)
container=
# shellcheck disable=SC2317  # called by the trap
finish() {
  [ -z "$container" ] || buildah rm "$container" > /dev/null || true
  rm -rf --one-file-system "$root" "$root.log"
}
trap finish EXIT

read -r mirror _ < <(find_mirror) || true
if [ -z "$mirror" ]; then
  printf "base_image: no mirror is known to apt; run 'apt-get update' first\n" >&2
  exit 1
fi
# shellcheck source=/dev/null
release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
# In name spaces of its own, so that what it mounts and starts ends with it.
unshare --mount --propagation private --pid --fork --kill-child debootstrap --variant=minbase "$release" "$root" "$mirror" > "$root.log" 2>&1 || {
  tail -n 20 "$root.log" >&2
  exit 1
}
# How this machine reaches its mirror.
apt-config dump | grep -iE '^Acquire::(Check-|https?::|Retries)' > "$root/etc/apt/apt.conf.d/90machine" || true
container=$(buildah from scratch)
buildah add --quiet "$container" "$root" / > /dev/null
buildah config --cmd bash "$container"
buildah commit --quiet "$container" "$1" > /dev/null
