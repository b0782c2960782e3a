#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the libfuse that subprojects/fuse3.wrap pins into subprojects/, where the build finds it, if this
# system's own libfuse is older than 3.18 (the first with FUSE over io_uring, and with passthrough that needs
# no fix of ours). The build could do so by itself, but only where upstream's host is in reach.
#
#   tools/get-libfuse.sh
#
# The archive is taken from the distribution's source package where that holds the version pinned: from the
# package mirror that this machine is set up with, through a private package list in a temporary folder, so
# that nothing of the system changes and no root is needed. Else Meson fetches it from upstream. Either way
# it counts only with the hash that the wrap file names.
set -euo pipefail
# shellcheck source=tools/private_apt.sh
. "$(dirname "${BASH_SOURCE[0]}")/private_apt.sh"

readonly version_min=3.18
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
subprojects=$top/subprojects

die() {
  printf 'get-libfuse: %s\n' "$@" >&2
  exit 1
}

# wrap KEY: its value in the wrap file.
wrap() { sed -n "s/^$1 = //p" "$subprojects/fuse3.wrap"; }

folder=$subprojects/$(wrap directory)
patch=$subprojects/packagefiles/$(wrap diff_files)
archive=$subprojects/packagecache/$(wrap source_filename)
hash=$(wrap source_hash)
version=$(wrap directory) && version=${version#fuse-}

has_hash() { [ -f "$1" ] && printf '%s  %s\n' "$hash" "$1" | sha256sum --check --status; }

# A patch that can be taken back is in.
is_unpacked() {
  [ -e "$folder/meson.build" ] &&
    patch --dry-run --reverse --force --strip=1 --directory="$folder" < "$patch" > /dev/null 2>&1
}

if is_unpacked; then exit 0; fi
if pkg-config --exists "fuse3 >= $version_min" 2> /dev/null; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The suites where new versions appear first, of the mirror that serves this machine's own release.
list_suites() {
  local mirror origin suites suite
  read -r mirror origin < <(find_mirror) || return 1
  case $origin in
  Debian) suites=(sid testing) ;;
  Ubuntu) suites=(devel) ;;
  esac
  # Without a signature, as local snapshots are: what comes counts by its hash alone.
  for suite in "${suites[@]}"; do
    printf 'deb-src [trusted=yes] %s %s main\n' "$mirror" "$suite"
  done
}

# Takes the archive from the distribution's source package; fails where that holds another version.
fetch_from_distribution() {
  local packaged found suites
  command -v apt-get > /dev/null && suites=$(list_suites) || return 1
  make_private_apt "$work/apt" <<< "$suites" || return 1
  packaged=$(private_apt apt-cache showsrc fuse3 | sed -n "s/^Version: \($version-.*\)/\1/p" | head -n 1)
  [ -n "$packaged" ] || return 1
  (cd "$work" && private_apt apt-get source --download-only "fuse3=$packaged") || return 1
  found=$(find "$work" -maxdepth 1 -name 'fuse3_*.orig.tar.*' ! -name '*.asc' -print -quit)
  has_hash "$found" || return 1
  # Moved only when complete, so that an interrupted run leaves nothing that looks whole.
  mkdir -p "${archive%/*}"
  mv "$found" "$archive.new" && mv "$archive.new" "$archive"
}

if ! has_hash "$archive"; then
  rm -f "$archive"
  printf 'get-libfuse: fetching libfuse %s from the distribution'\''s archive\n' "$version" >&2
  fetch_from_distribution > "$work/log" 2>&1 ||
    printf 'get-libfuse: it is not there; fetching it from upstream\n' >&2
fi

# The folder is of an older commit, or incomplete.
rm -rf "$folder"
# 300 s: where nothing is in reach Meson itself waits for a quarter of an hour and more.
if ! timeout 300 meson subprojects download fuse3 --sourcedir "$top" > "$work/log.meson" 2>&1 || ! is_unpacked; then
  tail -n 5 "$work"/log* >&2
  rm -rf "$folder"
  die "libfuse $version could not be had." \
    "Put ${archive##*/} of its release into ${archive%/*} and run this again."
fi
printf 'get-libfuse: libfuse %s is in %s\n' "$version" "$folder" >&2
