#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the folder that the portable build compiles and links against, for one architecture: Debian 11's C library,
# the headers and static archives of Debian 12's libraries, and those of tools/package/libraries, built here.
#
#   tools/package/sysroot.sh ARCHITECTURE   amd64 or arm64
#
# Prints the folder, which is below ${XDG_CACHE_HOME:-~/.cache}/s3rdmafs. It is made once for each state of the files in
# tools/package (some minutes), and holds cross.ini, the machine file for `meson setup --cross-file`.
# Needs clang-19, lld-19, nasm, and a mirror of Debian that apt knows; no root.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tools/private_apt.sh
. "$here/../private_apt.sh"

die() {
  printf 'sysroot: %s\n' "$@" >&2
  exit 1
}

case ${1:-} in
amd64) triple=x86_64-linux-gnu cpu=x86_64 ;;
arm64) triple=aarch64-linux-gnu cpu=aarch64 ;;
*)
  sed -n '3,11s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac
architecture=$1

state=$(cat "$here"/{sysroot.sh,libraries,glibc_compat.[ch]} | sha256sum | cut -c1-12)
sysroot=${XDG_CACHE_HOME:-$HOME/.cache}/s3rdmafs/sysroot-$architecture-$state
if [ -e "$sysroot/cross.ini" ]; then
  printf '%s\n' "$sysroot"
  exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
lib=$sysroot/usr/lib/$triple
compiler=(clang-19 --target="$triple" --sysroot="$sysroot")

# quiet NAME COMMAND...: its output is shown only if it fails.
quiet() {
  local name=$1
  shift
  "$@" > "$work/$name.log" 2>&1 || {
    tail -n 20 "$work/$name.log" >&2
    die "$name failed"
  }
}

# The oldest C library that we support, and with it the C library's own libraries.
from_bullseye=(libc6 libc6-dev libgcc-s1)
# The kernel's headers, the compiler's libraries, and headers and static archives of what we use.
from_bookworm=(linux-libc-dev libstdc++-12-dev libgcc-12-dev libssl-dev libpugixml-dev liburing-dev libnuma-dev
  libspdlog-dev libfmt-dev libtomlplusplus-dev libcli11-dev nlohmann-json3-dev libibverbs-dev)
# For the tests of the other architecture alone (tools/test.sh arm64).
from_bookworm+=(libgtest-dev libgmock-dev librapidcheck-dev)

# fetch_emulator: what runs the other architecture's programs. Debian 12's has neither openat2(2) nor a mremap(2) that
# maps a file again.
fetch_emulator() {
  quiet lists make_private_apt "$work/own-apt" <<< "${suites//-src/}"
  (cd "$work" && quiet emulator private_apt apt-get download qemu-user/trixie)
  dpkg-deb --fsys-tarfile "$work"/qemu-user_*.deb | tar --extract --to-stdout "./usr/bin/qemu-$cpu" > "$sysroot/qemu-$cpu"
  chmod +x "$sysroot/qemu-$cpu"
}

list_suites() {
  local mirror origin
  read -r mirror origin < <(find_mirror) || true
  [ "${origin:-}" = Debian ] || die "this needs a mirror of Debian that apt knows; run 'apt-get update' first"
  printf 'deb %s bullseye main\ndeb %s bookworm main\ndeb-src %s trixie main\n' "$mirror" "$mirror" "$mirror"
}

fetch_packages() {
  mkdir "$work/debs"
  (cd "$work/debs" && quiet packages private_apt apt-get download \
    "${from_bullseye[@]/%//bullseye}" "${from_bookworm[@]/%//bookworm}")
  local package link
  for package in "$work"/debs/*.deb; do dpkg-deb --extract "$package" "$sysroot"; done
  # Links to /lib/... mean this root, not the machine's.
  find "$sysroot" -type l -lname '/*' | while read -r link; do
    ln -sfn --relative "$sysroot$(readlink "$link")" "$link"
  done
  # Where both kinds are there, a linker takes the shared one.
  rm -f "$lib"/lib{ssl,crypto,pugixml,uring,uring-ffi,numa,spdlog,fmt,tomlplusplus,ibverbs,mlx4,mlx5,efa,mana}.so
}

# fetch_source PACKAGE VERSION HASH: unpacks the upstream archive into $work/PACKAGE.
fetch_source() {
  local archive
  # A mirror that lacks a part of Debian's own still has the archive, and only its hash counts.
  (cd "$work" && private_apt apt-get source --download-only "$1" > "$work/$1.log" 2>&1) || true
  archive=$(find "$work" -maxdepth 1 -name "$1_$2.orig.tar.*" ! -name '*.asc' -print -quit)
  if [ -z "$archive" ] || ! sha256sum --check --status <<< "$3  $archive"; then
    die "the archive of $1 $2 could not be had, see tools/package/libraries" "$(tail -n 3 "$work/$1.log")"
  fi
  mkdir "$work/$1"
  tar --extract --file "$archive" --directory "$work/$1" --strip-components 1
}

# describe NAME VERSION LIBS CFLAGS: a file for pkg-config, in place of one that describes a shared library.
describe() {
  printf 'Name: %s\nDescription: %s for the portable build\nVersion: %s\nLibs: %s\nCflags: %s\n' \
    "$1" "$1" "$2" "$3" "$4" > "$lib/pkgconfig/$1.pc"
}

version_in() { sed -n 's/^Version: *//p' "$lib/pkgconfig/$1.pc"; }

build_curl() {
  cd "$work/curl"
  # HTTP alone: each protocol left out is one less that an answer could redirect to.
  quiet curl-configure ./configure --host="$triple" --prefix=/usr --libdir="/usr/lib/$triple" --disable-shared --with-openssl \
    --with-ca-fallback --without-ca-bundle --without-ca-path --without-zlib --without-brotli --without-zstd \
    --without-libpsl --without-libidn2 --without-nghttp2 --without-librtmp --without-libssh2 --disable-ldap --disable-ldaps \
    --disable-ftp --disable-file --disable-dict --disable-telnet --disable-tftp --disable-pop3 --disable-imap --disable-smb \
    --disable-smtp --disable-gopher --disable-mqtt --disable-rtsp --disable-ipfs --disable-websockets --disable-manual \
    --disable-docs --disable-libcurl-option CC="${compiler[*]}" CFLAGS='-O2 -fPIC' LDFLAGS=-fuse-ld=lld
  quiet curl-make make -j"$(nproc)" -C lib install DESTDIR="$sysroot"
  quiet curl-headers make -C include install DESTDIR="$sysroot"
  describe libcurl "$1" "-L/usr/lib/$triple -lcurl -lssl -lcrypto -ldl -pthread" -DCURL_STATICLIB
}

build_libisal() {
  cd "$work/libisal"
  local arch='' assembler=''
  # Its sources for ARM are in GNU as's own dialect.
  if [ $cpu = aarch64 ]; then arch=aarch64 assembler=-fno-integrated-as; fi
  quiet isal make -j"$(nproc)" -f Makefile.unx lib units=crc host_cpu=$cpu arch=$arch AR=llvm-ar-19 \
    CC="${compiler[*]} -fPIC $assembler"
  install -D --mode=644 --target-directory="$sysroot/usr/include/isa-l" include/*.h
  install --mode=644 bin/isa-l.a "$lib/libisal.a"
  describe libisal "$1" "-L/usr/lib/$triple -lisal" ""
}

build_libmicrohttpd() {
  cd "$work/libmicrohttpd"
  quiet microhttpd-configure ./configure --host="$triple" --prefix=/usr --disable-shared --disable-https --disable-doc \
    --disable-examples --disable-tools --disable-curl CC="${compiler[*]}" CFLAGS='-O2 -fPIC' LDFLAGS=-fuse-ld=lld
  quiet microhttpd-make make -j"$(nproc)" -C src/microhttpd libmicrohttpd.la
  install --mode=644 src/microhttpd/.libs/libmicrohttpd.a "$lib"
  install --mode=644 src/include/microhttpd.h "$sysroot/usr/include"
  describe libmicrohttpd "$1" "-L/usr/lib/$triple -lmicrohttpd -pthread" ""
}

build_compat() {
  install --mode=644 "$here/glibc_compat.h" "$sysroot/usr/include"
  "${compiler[@]}" -O2 -fPIC -fvisibility=hidden -c "$here/glibc_compat.c" -o "$work/glibc_compat.o"
  llvm-ar-19 rcs "$lib/libglibc_compat.a" "$work/glibc_compat.o"
}

# As headers alone where Debian has no static archive; of the RDMA libraries the headers are all we use.
describe_headers() {
  local spdlog fmt toml verbs mlx5
  spdlog=$(version_in spdlog) fmt=$(version_in fmt) toml=$(version_in tomlplusplus) verbs=$(version_in libibverbs) mlx5=$(version_in libmlx5)
  describe spdlog "$spdlog" -pthread '-DSPDLOG_FMT_EXTERNAL -DFMT_HEADER_ONLY'
  describe fmt "$fmt" "" -DFMT_HEADER_ONLY
  describe tomlplusplus "$toml" "" -DTOML_HEADER_ONLY=1
  describe libibverbs "$verbs" "" ""
  describe libmlx5 "$mlx5" "" ""
  describe rapidcheck 0 "-L/usr/lib/$triple -lrapidcheck" ""
}

write_cross_file() {
  local ccache='' wrapper=''
  ! command -v ccache > /dev/null || ccache="'ccache', "
  if [ "$architecture" != "$(dpkg --print-architecture)" ]; then
    wrapper="exe_wrapper = ['$sysroot/qemu-$cpu', '-L', '$sysroot']"
  fi
  cat > "$work/cross.ini" << INI
[binaries]
c = [$ccache'clang-19', '--target=$triple', '--sysroot=$sysroot']
cpp = [$ccache'clang++-19', '--target=$triple', '--sysroot=$sysroot']
c_ld = 'lld-19'
cpp_ld = 'lld-19'
ar = 'llvm-ar-19'
strip = 'llvm-strip-19'
pkgconfig = 'pkg-config'
$wrapper
[properties]
sys_root = '$sysroot'
pkg_config_libdir = ['$lib/pkgconfig', '$sysroot/usr/share/pkgconfig']
[built-in options]
prefer_static = true
cpp_args = ['-include', 'glibc_compat.h']
cpp_link_args = ['-static-libstdc++', '-lglibc_compat']
[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = 'little'
INI
  mv "$work/cross.ini" "$sysroot"  # last: it tells that the folder is whole
}

for program in clang-19 ld.lld-19 llvm-ar-19 nasm make; do
  command -v $program > /dev/null || die "there is no $program here; tools/setup.sh --packages installs it"
done
printf 'sysroot: making %s\n' "$sysroot" >&2
rm -rf "$sysroot"
mkdir -p "$sysroot"
suites=$(list_suites)
quiet lists make_private_apt "$work/apt" "$architecture" <<< "$suites"
fetch_packages
grep -v '^#' "$here/libraries" | while read -r name version hash; do
  fetch_source "$name" "$version" "$hash"
  (build_"$name" "$version") < /dev/null
done
build_compat
describe_headers
if [ "$architecture" != "$(dpkg --print-architecture)" ]; then fetch_emulator; fi
write_cross_file
printf '%s\n' "$sysroot"
