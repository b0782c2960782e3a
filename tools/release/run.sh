#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds s3rdmafs in a clean root of another release of this machine's distribution, with that release's own
# compiler, and runs the unit tests and the demo there. It copies the files that git tracks, with their changes that are not committed.
#
#   tools/release/run.sh RELEASE OUT            e.g. trixie; as root, with debootstrap
#   tools/release/run.sh RELEASE OUT PACKAGE    the same with a .deb of tools/package.sh, without compiler and source
#   tools/release/run.sh RELEASE OUT PACKAGE ROOT
#                 makes the root ROOT with that .deb installed, and keeps it, to be booted by tools/vm/run.sh --root
#
# OUT gets unit.xml, the unit tests' report (JUnit). Exit status: 0 the build, the tests and the demo passed;
# 77 this machine cannot run it, and what is missing was said.
# Else the root is a temporary folder (about 3 GiB, TMPDIR). It is mounted and entered in name spaces of its own, which
# the kernel ends with this script, however that ends: no mount and no process is left.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tools/private_apt.sh
. "$top/tools/private_apt.sh"

say() { printf 'release: %s\n' "$*" >&2; }

cannot() {
  say "$*"
  exit 77
}

if [ "${1:-}" != --inside-name-spaces ]; then
  if [ $# -lt 2 ] || [ $# -gt 4 ] || ! [[ $1 =~ ^[a-z]+$ ]]; then
    sed -n '3,14s/^# \{0,1\}//p' "$0" >&2
    exit 2
  fi
  [ "$(id -u)" = 0 ] || cannot "this needs root, to make a root folder and to enter it"
  command -v debootstrap > /dev/null || cannot "there is no debootstrap here (Debian package debootstrap)"
  read -r mirror _ < <(find_mirror) || true
  [ -n "$mirror" ] || cannot "no mirror is known to apt; run 'apt-get update' first"
  mkdir -p "$2"
  package=
  if [ $# -ge 3 ]; then package=$(realpath -e -- "$3") || cannot "there is no package $3"; fi
  if [ $# -eq 4 ]; then
    mkdir "$4"
    root=$(realpath -- "$4") kept=$root script=inside_guest.sh
  else
    root=$(mktemp -d) script=inside${package:+_package}.sh kept=
  fi
  chmod 755 "$root"
  inside=
  # shellcheck disable=SC2317  # called by the trap
  finish() {
    if [ -n "$inside" ]; then kill -KILL "$inside" 2> /dev/null || true; fi
    wait 2> /dev/null
    rm -rf "$root.log"
    if [ -n "$kept" ] && [ "${status:-1}" = 0 ]; then return; fi
    # Once more: the last of the killed processes may still have been writing.
    rm -rf --one-file-system "$root" 2> /dev/null || rm -rf --one-file-system "$root"
  }
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  # In the background, since a signal is heeded only while nothing runs in the foreground.
  setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child \
    "$0" --inside-name-spaces "$1" "$root" "$mirror" "$script" "$package" < /dev/null &
  inside=$!
  status=0
  wait "$inside" || status=$?
  inside=
  if [ -e "$root/s3rdmafs/unit.xml" ]; then cp "$root/s3rdmafs/unit.xml" "$2"; fi
  exit "$status"
fi

release=$2 root=$3 mirror=$4 script=$5 package=$6

# This name space has copies of the machine's mounts. A copy of a FUSE mount would keep its daemon alive after umount.
awk '$3 ~ /^fuse/ {print $2}' /proc/self/mounts | while read -r copy; do umount --lazy "$(printf %b "$copy")" || true; done

say "making a root of $release"
debootstrap --variant=minbase "$release" "$root" "$mirror" > "$root.log" 2>&1 || {
  tail -n 20 "$root.log" >&2
  exit 1
}

# How this machine reaches its mirror, and how old its lists may be: those of a dated snapshot have run out.
apt-config dump | grep -iE '^Acquire::(Check-|https?::|Retries)' > "$root/etc/apt/apt.conf.d/90machine" || true
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
echo force-unsafe-io > "$root/etc/dpkg/dpkg.cfg.d/temporary-root"

mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
if [ -e /dev/fuse ]; then
  touch "$root/dev/fuse"
  mount --bind /dev/fuse "$root/dev/fuse"
fi

mkdir "$root/s3rdmafs"
if [ -n "$package" ]; then
  mkdir "$root/package"
  cp "$package" "$root/package"
fi
(cd "$top" && git ls-files -z | tar --create --null --files-from=-) | tar --extract --directory "$root/s3rdmafs"
# The archive that the wrap pins need not be fetched twice.
if [ -d "$top/subprojects/packagecache" ]; then
  cp -r "$top/subprojects/packagecache" "$root/s3rdmafs/subprojects/"
fi

say "running $script in it"
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
  "/s3rdmafs/tools/release/$script"
