#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the driver's container image by buildah, of the package s3rdmafs and of s3rdmafs-csi as it was built here.
#
#   packaging/kubernetes/image.sh PACKAGE.deb S3RDMAFS-CSI BASE IMAGE
#
#   PACKAGE.deb   dist/s3rdmafs_VERSION_amd64.deb of tools/package.sh
#   S3RDMAFS-CSI  build/src/csi/s3rdmafs-csi
#   BASE          an image of this machine's own release of Debian, since the program asks for its libraries
#   IMAGE         the name of the image to make
set -euo pipefail
if [ $# -ne 4 ]; then
  sed -n '3,11s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
package=$1 program=$2 base=$3 image=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The Debian packages that the program's libraries are of, without their architecture.
packages_of() {
  ldd "$1" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | xargs realpath | sort -u | while read -r library; do
    dpkg-query --search "$library" 2> /dev/null || dpkg-query --search "${library#/usr}"
  done | sed 's/:.*//' | sort -u | tr '\n' ' '
}

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp "$package" "$context/s3rdmafs.deb"
install --mode=755 --strip "$program" "$context/s3rdmafs-csi"
buildah build --file "$here/Containerfile" --tag "$image" --build-arg "BASE=$base" \
  --build-arg "PACKAGES=$(packages_of "$program")" "$context"
