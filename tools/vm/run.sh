#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command on a kernel with soft-RoCE (rdma_rxe), whatever the kernel of this machine: in one virtual
# machine, or in two with a wire between them. Installs nothing and changes nothing outside OUT.
#
#   tools/vm/run.sh [--hosts 1|2] [--mem MIB] [--timeout SECONDS] [--out FOLDER] [--root FOLDER]
#                   [--kernel RELEASE] -- COMMAND [ARG ...]
#
#   --hosts 2     a second guest runs the same command; HOST says which one it is, 1 or 2
#   --mem MIB     memory of each guest; 3072 unless given. It also holds the files that guests write elsewhere than in OUT.
#   --timeout S   the whole run; 300 unless given
#   --out FOLDER  what the guests see as $OUT, shared for real: what they write there stays
#   --root FOLDER what the guests see in place of this machine's files; the current folder is added at its path, read-only.
#                 Its systemd is the first process, and the command a unit that runs after multi-user.target.
#   --kernel R    the kernel of another release of Debian, such as bullseye; of this machine's unless given
#
# Guests see this machine's whole file system, copy on write: the command is run in the same folder with the
# same programs, but what it writes is gone afterwards, OUT excepted. They have no way to other machines.
# In a guest: user root, RDMA device rxe0 over the network card "rail", which is 10.9.0.HOST/24, and the
# modules fuse, overlay, sch_netem. The environment variables S3RDMAFS_* and CI are passed on.
#
# The command's output is this script's (host 2: OUT/host2.log), and its exit status on host 1. Besides:
# 124 time is up; 125 the guest did not come up (its console: OUT/console.HOST); 2 wrong use;
# 77 this machine cannot run it, and what is missing was said.
# The kernel is that of Debian's package linux-image-amd64, unpacked below ${XDG_CACHE_HOME:-~/.cache}.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
hosts=1 mem_mib=3072 timeout_s=300 root=/ release='' out=

usage() {
  sed -n '3,25s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

while [ $# -gt 0 ] && [ "$1" != -- ]; do
  [ $# -ge 2 ] || usage
  case $1 in
  --hosts) hosts=$2 ;;
  --mem) mem_mib=$2 ;;
  --timeout) timeout_s=$2 ;;
  --out) out=$2 ;;
  --root) root=$(realpath -- "$2") ;;
  --kernel) release=$2 ;;
  *) usage ;;
  esac
  shift 2
done
if [ $# -lt 2 ] || ! [[ $hosts =~ ^[12]$ && $mem_mib$timeout_s =~ ^[1-9][0-9]*$ ]]; then usage; fi
shift

cannot() {
  printf 'vm: %s\n' "$@" >&2
  exit 77
}

# shellcheck source=tools/private_apt.sh
. "$here/../private_apt.sh"
# shellcheck source=tools/vm/kernel.sh
. "$here/kernel.sh"

for program in qemu-system-x86_64:qemu-system-x86 cpio:cpio depmod:kmod busybox:busybox-static; do
  command -v "${program%:*}" > /dev/null || cannot "there is no ${program%:*} here (Debian package ${program#*:})"
done
[ "$(uname -m)" = x86_64 ] || cannot "guests are made for x86_64 only, and this is $(uname -m)"

work=$(mktemp -d)
pids=()
# shellcheck disable=SC2317  # called by the trap
finish() {
  local status=$? pid
  trap - EXIT INT TERM
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null || true; done
  wait
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

[ -n "$out" ] || out=$work/out
mkdir -p "$out"
out=$(cd "$out" && pwd)

unpack_kernel "$release" "$work"
initramfs "$work/initramfs" "$here/init"

# The command of the guests, quoted by the shell itself, so that any argument arrives as it is.
{
  printf 'export CI=%q OUT=/out\n' "${CI:-}"
  for name in "${!S3RDMAFS_@}"; do printf 'export %s=%q\n' "$name" "${!name}"; done
  printf 'cd %q\nexec' "$PWD"
  printf ' %q' "$@"
  printf '\n'
} > "$work/command"
printf '%s' "$PWD" > "$work/tree"
cp -r "$here/guest.sh" "$here/systemd" "$work/"
# shellcheck disable=SC2154  # kernel.sh sets it
accelerator=$(choose_accelerator "$work")

# boot HOST: one guest, in the foreground; its command's output on standard output.
boot() {
  local host=$1 peer=$((3 - $1))
  # Datagrams between two sockets are a wire that needs neither a port nor an order of start.
  local wire=(-nic none)
  if [ "$hosts" = 2 ]; then
    wire=(-netdev "dgram,id=wire,local.type=unix,local.path=$work/wire$host,remote.type=unix,remote.path=$work/wire$peer"
      -device "virtio-net-pci,netdev=wire,mac=52:54:00:09:00:0$host")
  fi
  local system=() arguments="console=ttyS0 panic=-1 quiet no_timer_check net.ifnames=0 vmhost=$host"
  if [ "$root" != / ]; then
    # No login on a terminal, since its unit waits for a device. Units' status goes to the console.
    arguments+=" vmsystemd systemd.getty_auto=no systemd.show_status=yes"
    # shellcheck disable=SC2054  # commas within one argument
    system=(-fsdev "local,id=tree,path=$PWD,security_model=none,readonly=on,multidevs=remap"
      -device virtio-9p-pci,fsdev=tree,mount_tag=tree)
  fi
  # No monitor, no graphics. multidevs=remap: file ids stay unique across this machine's mounts. no_timer_check: an
  # emulated guest on a busy machine gets its timer's first interrupts late, and its kernel would panic.
  exec qemu-system-x86_64 -accel "$accelerator" -cpu max -smp 2 -m "$mem_mib" \
    -nodefaults -no-user-config -display none -no-reboot \
    -kernel "$kernel" -initrd "$work/initramfs" -append "$arguments" \
    -serial "file:$out/console.$host" \
    -device virtio-serial -chardev stdio,id=output,signal=off -device virtconsole,chardev=output \
    -device virtio-rng-pci \
    -fsdev "local,id=root,path=$root,security_model=none,readonly=on,multidevs=remap" \
    -device virtio-9p-pci,fsdev=root,mount_tag=root \
    -fsdev "local,id=run,path=$work,security_model=none,readonly=on" \
    -device virtio-9p-pci,fsdev=run,mount_tag=run \
    -fsdev "local,id=out,path=$out,security_model=none" \
    -device virtio-9p-pci,fsdev=out,mount_tag=out \
    "${system[@]}" "${wire[@]}" < /dev/null
}

rm -f "$out"/status.? "$out"/console.?
if [ "$hosts" = 2 ]; then
  boot 2 > "$out/host2.log" 2>&1 &
  pids+=($!)
fi
boot 1 &
pids+=($!)
first=$!

# A guest that never ends is ended here; SECONDS counts since this script began.
while kill -0 "$first" 2> /dev/null; do
  if [ "$SECONDS" -ge "$timeout_s" ]; then
    printf 'vm: no end within %s s; the console: %s/console.1\n' "$timeout_s" "$out" >&2
    exit 124
  fi
  sleep 0.1
done
if ! [ -s "$out/status.1" ]; then
  printf 'vm: the guest did not come up, or died; the end of its console:\n' >&2
  tail -n 20 "$out/console.1" >&2 || true
  exit 125
fi
exit "$(cat "$out/status.1")"
