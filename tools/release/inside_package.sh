#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The part of tools/release/run.sh inside the clean root, for a package: installs /package/*.deb as an administrator
# does, tries what a user finds there, and removes it again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

step() { printf -- '-- %s\n' "$*"; }

die() {
  printf 'FAILED: %s\n' "$@" >&2
  exit 1
}

# Every file that is not apt's, dpkg's or systemd's own, and ours among theirs.
files() {
  {
    find / -xdev \( -path /s3rdmafs -o -path /package -o -path /tmp -o -path /var -o -path /run \) -prune -o -print
    find /run /var -xdev -path '*s3rdma*' ! -path '/var/lib/dpkg/*' ! -path '/var/cache/*'
  } | LC_ALL=C sort
}

apt() { DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" > /tmp/apt.log 2>&1 || die "apt-get $*" "$(tail -n 20 /tmp/apt.log)"; }

apt update
# The programs that the demo itself calls, and the readers of man pages and units. The package brings in fuse3.
apt install fuse3 procps iproute2 man-db systemd
rm -f /etc/dpkg/dpkg.cfg.d/docker /etc/dpkg/dpkg.cfg.d/excludes  # they would leave the manual out
files > /tmp/before

step "install"
apt install /package/*.deb
for compiler in cc gcc g++ clang; do
  if command -v $compiler > /dev/null; then die "the root has $compiler, so it shows nothing"; fi
done
s3rdmafs --version
[ "$(s3rdmafs --version | wc -l)" -eq 3 ] || die "--version"

step "the manual and the units"
for page in 1:s3rdmafs 1:s3rdma-target 5:s3rdmafs.toml 5:s3rdmafs-manifest 7:s3rdmafs-semantics 7:s3rdmafs-doctor \
  7:s3rdmafs-migration 7:s3rdmafs-protocol 8:mount.s3rdma; do
  man "${page%%:*}" "${page#*:}" > /tmp/page 2> /tmp/page.log || die "man $page" "$(cat /tmp/page.log)"
  grep -q NAME /tmp/page || die "man $page shows no page"
done
mkdir -p /etc/s3rdmafs
systemd-analyze verify s3rdmafs@train.service > /tmp/units 2>&1 || true
if grep s3rdmafs /tmp/units; then die "systemd-analyze finds fault with the unit"; fi
[ -x /sbin/mount.s3rdma ] || die "mount(8) finds no helper"

step "doctor, on a node without libibverbs"
[ ! -e /usr/lib/x86_64-linux-gnu/libibverbs.so.1 ] || die "the root has libibverbs, so it shows nothing"
s3rdmafs doctor > /tmp/doctor 2>&1 || true
cat /tmp/doctor
grep -q 'libibverbs.so.1' /tmp/doctor || die "doctor does not say that libibverbs is missing"

step "a server on another host, on a node without libibverbs"
mkdir -p /tmp/root/data /tmp/mnt
head -c 3000001 /dev/urandom > /tmp/root/data/file
printf 'KEY:secret\n' > /tmp/keys
# Two hosts, as far as addresses go: network name spaces with a cable between them.
near=192.0.2.1 far=192.0.2.2
unshare --net sleep infinity &
client=$!
unshare --net sleep infinity &
host=$!
server=
trap 'kill $client $host $server 2> /dev/null || true' EXIT
on() { nsenter --net="/proc/$1/ns/net" "${@:2}"; }
for process in $client $host; do
  for ((i = 0; i < 100; ++i)); do
    [ "$(readlink "/proc/$process/ns/net")" = "$(readlink /proc/self/ns/net)" ] || break
    sleep 0.1
  done
done
on $client ip link add rail0 type veth peer name rail1 netns $host
on $client ip address add $near/24 dev rail0
on $client ip link set rail0 up
on $host ip address add $far/24 dev rail1
on $host ip link set rail1 up
on $host s3rdma-target --root /tmp/root --listen $far:9000 --port-file /tmp/port --key-file /tmp/keys > /tmp/target.log 2>&1 &
server=$!
for ((i = 0; i < 100; ++i)); do
  [ ! -s /tmp/port ] || break
  sleep 0.1
done
(umask 077 && cat > /tmp/far.toml) << TOML
[bucket]
name = "data"
[endpoint]
url = "http://$far:9000"
[credentials]
access_key_id = "KEY"
secret_access_key = "secret"
TOML
# In the foreground, where the log goes to the terminal.
on $client s3rdmafs mount --foreground /tmp/far.toml /tmp/mnt > /tmp/mount.log 2>&1 &
mounted=$!
for ((i = 0; i < 300; ++i)); do
  ! mountpoint -q /tmp/mnt || break
  kill -0 $mounted 2> /dev/null || die "the mount failed" "$(cat /tmp/mount.log /tmp/target.log)"
  sleep 0.1
done
cmp /tmp/mnt/file /tmp/root/data/file || die "the file differs"
s3rdmafs umount /tmp/mnt
wait $mounted
cat /tmp/mount.log
grep -q 'libibverbs.so.1' /tmp/mount.log || die "the mount does not say that libibverbs is missing"
kill $server $host $client

step "the demo"
TMPDIR=/tmp tools/demo.sh --installed --size 1

step "remove"
apt purge s3rdmafs
rm -rf /tmp/root /tmp/mnt
files > /tmp/after
diff /tmp/before /tmp/after || die "the package left something"
