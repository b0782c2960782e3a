#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Puts libfuse's source into subprojects/fuse3, where the build finds it, if this system's own libfuse is
# older than 3.18 (the first with FUSE over io_uring, and with passthrough that needs no fix of ours).
#
#   tools/get-libfuse.sh
#
# The source is the upstream archive inside the distribution's own source package: it comes from the
# package mirror this machine is set up with, checked against the distribution's keys. Only a private
# package list in a temporary folder is used; nothing of the system changes, and no root is needed.
set -euo pipefail

readonly version_min=3.18
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
destination=$top/subprojects/fuse3
# Without it FUSE over io_uring is left out of the build; the patch says why.
patch=$top/tools/libfuse/ring.patch

die() {
  printf 'get-libfuse: %s\n' "$@" >&2
  exit 1
}

# The patch's own copy in the source says that it, and no older one, was applied.
if [ -e "$destination/meson.build" ]; then
  cmp -s "$patch" "$destination/ring.patch" && exit 0
  if [ ! -e "$destination/ring.patch" ]; then
    patch --quiet --strip=1 --directory="$destination" < "$patch" && cp "$patch" "$destination/ring.patch"
    exit
  fi
fi
pkg-config --exists "fuse3 >= $version_min" 2> /dev/null && exit 0

by_hand="Unpack the source of libfuse $version_min or later into $destination and run this again."
command -v apt-get > /dev/null ||
  die "libfuse is older than $version_min here, and there is no apt to fetch its source with." "$by_hand"

# Where new versions appear first, in either family. The mirror is the one that serves the release itself.
# The fields are apt's own names, for apt to fill in.
# shellcheck disable=SC2016
read -r mirror origin < <(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' |
  awk '$2 !~ /-/ && ($3 == "Debian" || $3 == "Ubuntu") {print $1, $3; exit}') ||
  die "no Debian or Ubuntu mirror is known to apt; run 'apt-get update' as root first." "$by_hand"
case $origin in
Debian) suites=(sid testing) keyring=/usr/share/keyrings/debian-archive-keyring.gpg ;;
Ubuntu) suites=(devel) keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,unpacked}

# A mirror that this machine trusts without a signature (a local snapshot) is trusted here too.
options="signed-by=$keyring"
# shellcheck disable=SC2016
if apt-get indextargets --format '$(REPO_URI) $(TRUSTED)' | grep -qxF "$mirror yes"; then
  options+=" trusted=yes"
fi
for suite in "${suites[@]}"; do
  printf 'deb-src [%s] %s %s main\n' "$options" "$mirror" "$suite"
done > "$work/sources.list"

private_apt() {
  apt-get -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User= "$@"
}

printf 'get-libfuse: fetching the source of libfuse from the %s archive\n' "$origin" >&2
if ! { private_apt update && cd "$work" && private_apt source --download-only fuse3; } > "$work/log" 2>&1; then
  tail -5 "$work/log" >&2
  die "the source package fuse3 could not be had from $origin's mirror." "$by_hand"
fi

archive=$(find "$work" -maxdepth 1 -name 'fuse3_*.orig.tar.*' ! -name '*.asc' -print -quit)
[ -n "$archive" ] || die "the source package fuse3 of $origin holds no upstream archive." "$by_hand"
tar -xf "$archive" --strip-components=1 -C "$work/unpacked"
version=$(sed -n "s/.*version: *'\([0-9.]*\)'.*/\1/p" "$work/unpacked/meson.build" | head -n 1)
dpkg --compare-versions "${version:-0}" ge "$version_min" ||
  die "$origin's newest libfuse is ${version:-unknown}, older than $version_min." "$by_hand"

patch --quiet --strip=1 --directory="$work/unpacked" < "$patch"
cp "$patch" "$work/unpacked/ring.patch"

# Moved only when complete, so that an interrupted run leaves nothing that looks whole.
mkdir -p "$top/subprojects"
rm -rf "$destination"
mv "$work/unpacked" "$destination"
printf 'get-libfuse: libfuse %s is in %s\n' "$version" "$destination" >&2
