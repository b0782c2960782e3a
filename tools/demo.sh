#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job in one command, on a fresh machine: sets up, builds, makes a data set, serves it with
# s3rdma-target, mounts it, compares every file with its source by checksum over RDMA (the shm fabric)
# and over HTTP, prints what each path did, and leaves nothing behind.
#
#   tools/demo.sh [--size GIB | --small] [--fabric shm|rc|http] [--keep] [--installed]
#
#   --size GIB     large files in all, in GiB; 4 unless given. TMPDIR says where they are made.
#   --small        32 MiB of large files and fewer small ones: for emulated machines
#   --fabric rc    RDMA through a device (RoCE, InfiniBand, soft-RoCE) instead of shared memory. Without one:
#                  tools/vm/run.sh -- tools/demo.sh --fabric rc --small
#   --fabric http  mount without RDMA only, as with a server that has none
#   --keep         leave the last mount up, and say how to look around and how to end it
#   --installed    take the programs that a package installed; set up and build nothing
#
# Exit status: 0 only if every checksum is equal and, over RDMA, at least 99 % of the bytes went by it.
set -euo pipefail

size_gib=4 size_mib="" small_files=2000 fabric=shm keep=false installed=false
while [ $# -gt 0 ]; do
  case $1 in
  --size) size_gib=${2:-} && shift ;;
  --small) size_mib=32 small_files=25 ;; # small ones go by HTTP: they must not weigh more than 1 %
  --fabric) fabric=${2:-} && shift ;;
  --keep) keep=true ;;
  --installed) installed=true ;;
  *) fabric=unknown ;;
  esac
  shift || break
done
if ! [[ $size_gib =~ ^[1-9][0-9]{0,3}$ && $fabric =~ ^(shm|rc|http)$ ]]; then
  sed -n '3,17s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
size_mib=${size_mib:-$((size_gib * 1024))}
readonly size_mib small_files

cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly bucket=demo access_key=DEMOKEY secret_key=demosecret
readonly large_files=8
readonly rdma_percent_min=99

say() { printf '%s\n' "$*"; }

# tell TEXT: the same, every few seconds at most.
told=0
tell() {
  [ $((SECONDS - told)) -ge 4 ] || return 0
  told=$SECONDS
  say "   $*" >&2
}

die() {
  printf 'demo: %s\n' "$@" >&2
  exit 1
}

# Set-up and build.

if $installed; then
  if ! s3rdmafs=$(command -v s3rdmafs) || ! target=$(command -v s3rdma-target); then
    die "s3rdmafs and s3rdma-target are not installed: install the package, or leave --installed out"
  fi
else
  say "== set up and build"
  tools/setup.sh --build-only
  # All else needs more packages; tools/test.sh adds it to this folder.
  [ -e build/build.ninja ] ||
    CXX=${CXX:-g++} meson setup build -Dtests=false -Dbench=false -Dcsi=disabled > /dev/null
  tools/build.sh build src/daemon/s3rdmafs tools/target/s3rdma-target
  s3rdmafs=$PWD/build/src/daemon/s3rdmafs
  target=$PWD/build/tools/target/s3rdma-target
fi

[ -c /dev/fuse ] || die "there is no /dev/fuse here: load the module (modprobe fuse)" \
  "or, in a container, start it with --device /dev/fuse --cap-add SYS_ADMIN"

work=$(mktemp -d "${TMPDIR:-/tmp}/s3rdmafs-demo.XXXXXX")
source=$work/root/$bucket
mnt=$work/mnt
target_pid=
failed=false

finish() {
  local status=$?
  trap - EXIT INT TERM
  if $keep && [ $status -eq 0 ]; then return; fi
  if mountpoint -q "$mnt"; then
    "$s3rdmafs" umount "$mnt" || umount --lazy "$mnt" || fusermount3 -uz "$mnt" || true
  fi
  if [ -n "$target_pid" ]; then
    kill "$target_pid" 2> /dev/null || true
    wait "$target_pid" 2> /dev/null || true
  fi
  rm -rf "$work"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free_kib=$(df --output=avail -k "$work" | tail -n 1)
need_kib=$(((size_mib + size_mib / 4 + 64) * 1024))
[ "$free_kib" -ge $need_kib ] ||
  die "$work has $((free_kib / 1024)) MiB free, $((need_kib / 1024)) are needed: set TMPDIR, or give --size"

# The data: large random files, thousands of small ones, and names that need care.

say "== make $size_mib MiB in $large_files large files, $small_files small files, and odd names"
mkdir -p "$source"/{large,small,odd} "$mnt"
for ((i = 0; i < large_files; ++i)); do
  # The last bytes make the size no multiple of anything.
  head -c $((size_mib * 1024 * 1024 / large_files + i)) /dev/urandom > "$source/large/$i.bin"
  tell "large file $((i + 1)) of $large_files"
done
head -c $((small_files * 8191)) /dev/urandom |
  split --bytes=8191 --numeric-suffixes --suffix-length=5 - "$source/small/"
: > "$source/odd/empty"
odd_names=('with space' 'ünïcödé 日本語' '100%' 'a+b&c=d' '%2F' $'new\nline' '-leading dash' "quote'\"" '?#'
  "$(printf 'x%.0s' {1..255})")
for name in "${odd_names[@]}"; do
  printf 'the content of %s' "$name" > "$source/odd/$name"
done

# One line of text for each file, so that two trees are compared by cmp. Two files for a process: enough processes for
# all processors, few enough to be started.
checksums() {
  local done=0 line
  (cd "$1" && find . -type f -print0 | xargs -0 -n 2 -P "$(nproc)" sha256sum --zero) |
    while IFS= read -r -d '' line; do
      printf '%s\0' "$line"
      done=$((done + 1))
      tell "checksum of file $done"
    done | LC_ALL=C sort -z
}
checksums "$source" > "$work/source.sha256"
files=$(tr -cd '\0' < "$work/source.sha256" | wc -c)
bytes=$(find "$source" -type f -printf '%s\n' | awk '{sum += $1} END {printf "%.0f", sum}')
large_bytes=$(find "$source/large" -type f -printf '%s\n' | awk '{sum += $1} END {printf "%.0f", sum}')

# The address that is served: for rc one of a device's own network card.

address=127.0.0.1
if [ "$fabric" = rc ]; then
  command -v rdma > /dev/null || die "there is no program rdma here (Debian package iproute2)"
  address=
  while read -r _ link _ _ _ _ _ netdev; do
    address=$(ip -4 -o address show dev "$netdev" | awk '{sub("/.*", "", $4); print $4; exit}')
    [ -z "$address" ] || break
  done < <(rdma link show 2> /dev/null | grep ' netdev ')
  [ -n "$address" ] || die "there is no RDMA device with an IPv4 address here. A virtual machine has one:" \
    "  tools/vm/run.sh -- tools/demo.sh --fabric rc --small"
fi

# Packets the device has sent, where it says so (soft-RoCE does); nothing elsewhere.
packets_sent() { rdma statistic show link "$link" | sed -n 's/.* sent_pkts \([0-9]*\).*/\1/p'; }

# The server, over the folder as it is.

printf '%s:%s\n' "$access_key" "$secret_key" > "$work/keys"
"$target" --root "$work/root" --listen "$address:0" --port-file "$work/port" --key-file "$work/keys" \
  > "$work/target.log" 2>&1 &
target_pid=$!
for ((i = 0; i < 300; ++i)); do
  [ -s "$work/port" ] && break
  kill -0 $target_pid 2> /dev/null || die "s3rdma-target did not start:" "$(cat "$work/target.log")"
  sleep 0.1
done
[ -s "$work/port" ] || die "s3rdma-target did not listen within 30 s:" "$(cat "$work/target.log")"
endpoint=http://$address:$(cat "$work/port")
say "== s3rdma-target serves $work/root at $endpoint"

# One pass over one path.

mount_over() {
  local path=$1 mode=prefer rdma_fabric=$1
  [ "$path" != http ] || mode=off rdma_fabric=auto
  local file=$work/$path.toml
  (umask 077 && cat > "$file") << TOML
[bucket]
name = "$bucket"

[endpoint]
url = "$endpoint"

[credentials]
access_key_id = "$access_key"
secret_access_key = "$secret_key"

[rdma]
mode = "$mode"
fabric = "$rdma_fabric"
threshold = "64KiB"  # "auto" measures, and beside a server on the same processors HTTP may win
TOML
  "$s3rdmafs" mount "$file" "$mnt" || die "the mount failed (see above)"
  daemon_pid=$(pgrep -f -- "$file" | head -n 1) || die "the mount has no daemon"
}

# Bytes that came by path $1, as the mount counts them.
bytes_by() {
  "$s3rdmafs" stats "$mnt" |
    awk -v path="path=\"$1\"" 'index($1, "s3rdmafs_get_bytes_total{") == 1 && index($1, path) {sum += $2}
                               END {printf "%.0f", sum}'
}

daemon_cpu_ticks() { sed 's/.*) //' "/proc/$daemon_pid/stat" | awk '{print $12 + $13}'; }

rows=()
pass() {
  local path=$1 begin end ticks by_rdma by_http packets verdict=equal
  say "== mount over $path: read, then compare"
  mount_over "$path"
  [ "$path" != rc ] || packets=$(packets_sent)

  ticks=$(daemon_cpu_ticks)
  begin=$(date +%s.%N)
  for file in "$mnt"/large/*; do
    dd if="$file" of=/dev/null bs=1M status=none
    tell "read ${file##*/}"
  done
  end=$(date +%s.%N)
  ticks=$(($(daemon_cpu_ticks) - ticks))

  checksums "$mnt" > "$work/$path.sha256"
  if ! cmp -s "$work/source.sha256" "$work/$path.sha256"; then
    verdict=DIFFER failed=true
    say "these differ over $path (source < > mount):"
    diff <(tr '\0' '\n' < "$work/source.sha256") <(tr '\0' '\n' < "$work/$path.sha256") | head -n 10 || true
  fi

  by_rdma=$(bytes_by rdma) by_http=$(bytes_by http)
  rows+=("$(awk -v path="$path" -v files="$files" -v bytes="$bytes" -v large="$large_bytes" \
    -v seconds="$(awk "BEGIN {print $end - $begin}")" -v ticks="$ticks" -v hz="$(getconf CLK_TCK)" \
    -v rdma="$by_rdma" -v http="$by_http" -v verdict="$verdict" 'BEGIN {
      all = rdma + http
      printf "%-5s %6d %9.2f GB %7.2f %9.2f GB %9.2f GB %6.1f %% %8.3f  %s", path, files, bytes / 1e9,
             large / 1e9 / seconds, rdma / 1e9, http / 1e9, all ? 100 * rdma / all : 0,
             ticks / hz / (large / 1e9), verdict}')")
  # No packet carries more than 4096 bytes, so the device's own count proves the mount's.
  if [ "$path" = rc ] && [ -n "$packets" ]; then
    packets=$(($(packets_sent) - packets))
    say "$link sent $packets packets; $by_rdma bytes need at least $((by_rdma / 4096))"
    if [ "$packets" -lt $((by_rdma / 4096)) ]; then
      say "the device sent too few packets for these bytes"
      failed=true
    fi
  fi
  if [ "$path" != http ] && [ $((by_rdma * 100)) -lt $(((by_rdma + by_http) * rdma_percent_min)) ]; then
    say "less than $rdma_percent_min % of the bytes went by RDMA"
    failed=true
  fi
  if [ "$path" = http ] && [ "$by_rdma" -ne 0 ]; then
    say "bytes went by RDMA although the mount says rdma.mode = \"off\""
    failed=true
  fi
  if [ $((by_rdma + by_http)) -lt "$bytes" ]; then
    say "the mount fetched fewer bytes than it gave: its counters are wrong"
    failed=true
  fi
}

unmount() {
  "$s3rdmafs" umount "$mnt"
  for ((i = 0; i < 100; ++i)); do
    kill -0 "$daemon_pid" 2> /dev/null || return 0
    sleep 0.1
  done
  die "the daemon is still there 10 s after umount"
}

# With --keep the last mount stays, which should be the one over the fabric asked for.
case $fabric,$keep in
http,*) paths=(http) ;;
*,true) paths=(http "$fabric") ;;
*,false) paths=("$fabric" http) ;;
esac
for path in "${paths[@]}"; do
  pass "$path"
  if ! $keep || [ "$path" != "${paths[-1]}" ]; then unmount; fi
done

printf '\n%-5s %6s %12s %7s %12s %12s %8s %8s  %s\n' \
  path files bytes GB/s 'by RDMA' 'by HTTP' RDMA 'CPU s/GB' checksums
printf '%s\n' "${rows[@]}"
cat << NOTES

GB/s and the daemon's CPU seconds: the large files read once, one after the other, by one reader
(dd, 1 MiB at a time), nothing of them in the mount's cache; the server has them in memory.
Bytes by RDMA and HTTP: that, and the reading of every file again for its checksum.
NOTES

$failed && die "something above is not as it should be"
if $keep; then
  cat << KEEP

The mount stays. Look around:
  ls $mnt
  $s3rdmafs stats $mnt
End it:
  $s3rdmafs umount $mnt; kill $target_pid; rm -rf $work
KEEP
fi
