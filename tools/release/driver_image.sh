#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the CSI driver's container image by packaging/kubernetes/image.sh, of this commit's .deb and of a base of this machine's
# own release, and writes it into an archive. As root.
#
#   tools/release/driver_image.sh DRIVER ARCHIVE   s3rdmafs-csi, and the archive to make, which podman loads
#
# Nothing is left in the machine's own storage of images.
set -euo pipefail
if [ $# -ne 2 ]; then
  sed -n '3,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
driver=$(realpath -e -- "$1")
archive=$(realpath -- "$2")
image=localhost/s3rdmafs-csi:test
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
package=$(tools/package/current_deb.sh)

storage=$(mktemp -d)
trap 'rm -rf --one-file-system "$storage"' EXIT
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/graph"\nrunroot = "%s/run"\n' "$storage" "$storage" > "$storage/storage.conf"
export CONTAINERS_STORAGE_CONF=$storage/storage.conf
export BUILDAH_ISOLATION=chroot  # a machine for tests is often a container itself
tools/release/base_image.sh localhost/base
packaging/kubernetes/image.sh "$package" "$driver" localhost/base "$image"
buildah push --quiet "$image" "docker-archive:$archive:$image"
