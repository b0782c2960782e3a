#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds s3rdmafs once, so that it runs on every distribution with glibc 2.31 or later (Debian 11, Ubuntu 20.04, RHEL 9),
# and packs it: a .deb, an .rpm and a tarball that works in any folder.
#
#   tools/package.sh [--arch amd64|arm64] [--out FOLDER]
#
#   --arch A      the architecture to build for; amd64 unless given. Neither needs a machine of its kind.
#   --out FOLDER  where the packages go; dist unless given
#
# It builds what is committed and what is not, in build-package-ARCHITECTURE. tools/package/README.md says how.
# Exit status: 0 only if the programs ask for no symbol above glibc 2.31 and for no library but the C library's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

architecture=amd64 out=$PWD/dist
while [ $# -gt 0 ]; do
  case $1 in
  --arch) architecture=${2:-} && shift ;;
  --out) out=${2:-} && shift ;;
  *) architecture= ;;
  esac
  shift || break
done
case $architecture in
amd64) machine=x86_64 ;;
arm64) machine=aarch64 ;;
*)
  sed -n '3,11s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac
mkdir -p "$out"
out=$(cd "$out" && pwd)

die() {
  printf 'package: %s\n' "$@" >&2
  exit 1
}

say() { printf '== %s\n' "$*"; }

tools/setup.sh --packages
version=$(sed -n "s/^project(.* version: '\([^']*\)'.*/\1/p" meson.build)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# quiet NAME COMMAND...: its output is shown only if it fails.
quiet() {
  local name=$1
  shift
  "$@" > "$work/$name.log" 2>&1 || {
    tail -n 40 "$work/$name.log" >&2
    die "$name failed"
  }
}

say "sysroot for $architecture"
sysroot=$(tools/package/sysroot.sh "$architecture")

say "build for $machine"
build=build-package-$architecture
if ! grep -qsF -- "$sysroot" "$build/build.ninja"; then
  rm -rf "$build"
  # Unity: one compiler sees forty files at once, as in tools/test.sh.
  quiet setup meson setup "$build" --cross-file "$sysroot/cross.ini" --prefix=/usr --libdir=lib --sysconfdir=/etc \
    -Dtests=false -Dbench=false -Dcsi=disabled -Dman=enabled -Dunitdir=/usr/lib/systemd/system -Dunity_size=40
fi
ninja --quiet -C "$build"
stage=$work/stage
DESTDIR=$stage quiet install meson install -C "$build" --no-rebuild --skip-subprojects --strip
# With this libdir it is the same for each architecture.
mv "$stage/usr/lib/pkgconfig" "$stage/usr/share/pkgconfig"
mkdir -p "$stage/etc/s3rdmafs"
ln -sfn ../bin/s3rdmafs "$stage/usr/sbin/mount.s3rdma" # relative: the tarball may be anywhere
install -D --mode=644 packaging/CHANGELOG.md "$stage/usr/share/doc/s3rdmafs/CHANGELOG.md"

say "what the programs ask for"
tools/package/check.sh "$stage/usr/bin/s3rdmafs" "$stage/usr/bin/s3rdma-target" "$stage"/usr/lib/s3rdmafs/*.so

say "tarball"
name=s3rdmafs-$version-$machine
cp -a "$stage/usr" "$work/$name"
cp LICENSE tools/package/INSTALL "$work/$name"
# Sorted, and without the time and the user of this build, so that the same commit gives the same archive.
tar --create --directory "$work" --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime="@$(git log -1 --format=%ct 2> /dev/null || echo 0)" "$name" | xz -T0 > "$out/$name.tar.xz"

say ".deb"
mkdir "$work/deb"
cp -a packaging/debian "$work/deb/debian"
cp -a "$stage" "$work/deb/stage"
# With a Debian revision: debhelper then takes CHANGELOG.md for the upstream changelog.
printf 's3rdmafs (%s-1) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- The s3rdmafs developers <s3rdmafs@localhost>  %s\n' \
  "$version" "$(git log -1 --format=%cD 2> /dev/null || date -R)" > "$work/deb/debian/changelog"
(cd "$work/deb" && quiet dpkg-buildpackage dpkg-buildpackage --build=binary --no-sign --host-arch="$architecture" --no-check-builddeps)
mv "$work"/s3rdmafs_*.deb "$out"

say ".rpm"
# With a database of its own: this machine may not have one.
quiet rpmbuild rpmbuild -bb --target "$machine-linux" --define "_topdir $work/rpm" --define "_dbpath $work/rpmdb" \
  --define "stage $stage" --define "package_version $version" \
  --define "package_date $(LC_ALL=C date --date="$(git log -1 --format=%cD 2> /dev/null)" '+%a %b %d %Y')" packaging/rpm/s3rdmafs.spec
mv "$work"/rpm/RPMS/*/*.rpm "$out"

say "done"
(cd "$out" && ls -l "$name.tar.xz" s3rdmafs_"$version"-1_"$architecture".deb s3rdmafs-"$version"-*."$machine".rpm)
