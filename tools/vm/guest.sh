#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The guest, on its full file system: network, the RDMA device, the command, power off. Where systemd is the first process,
# its units of systemd/ call one part each: "network" or "command".
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TMPDIR=/run/tmp
ulimit -l unlimited
HOST=$(sed -n 's/.*vmhost=\([12]\).*/\1/p' /proc/cmdline)
export HOST

network() {
  ip link set lo up
  # One host has no wire: a card that leads nowhere carries addresses just as well.
  if [ -e /sys/class/net/eth0 ]; then ip link set eth0 name rail; else ip link add rail type dummy; fi
  # 4200: room for RoCE's largest packet, 4096 bytes and its headers.
  ip link set rail mtu 4200 up
  ip address add "10.9.0.$HOST/24" dev rail
  rdma link add rxe0 type rxe netdev rail || echo "guest: there is no rxe0" > /dev/hvc0
}

run_command() {
  bash /run/vm/command < /dev/null > /dev/hvc0 2>&1
  echo $? > "/out/status.$HOST"
  sync
}

case ${1:-} in
network) network ;;
command) run_command ;;
*)
  hostname "host$HOST"
  mkdir -p /sys/fs/cgroup
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  echo +memory > /sys/fs/cgroup/cgroup.subtree_control
  network
  run_command
  echo o > /proc/sysrq-trigger
  sleep 60  # until the power is off
  ;;
esac
