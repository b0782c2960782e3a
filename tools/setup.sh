#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what s3rdmafs needs to be built and tested. Asks nothing; where all is there it does nothing,
# in a fraction of a second and without root.
#
#   tools/setup.sh               everything: build, tests, lint
#   tools/setup.sh --build-only  what the programs and the demo need: neither the tests' libraries nor gRPC
#   tools/setup.sh --build-all   what all programs and the unit tests need, to be built
#   tools/setup.sh --packages    the build of all programs and tests, and what tools/package.sh needs
#   tools/setup.sh --tour        the programs, and the rivals of tools/bench/run.sh
#   tools/setup.sh --bench       the same, and PyTorch for its training rows
#
# Exit status: 0 all there; 1 something could not be installed; 3 not Debian or Ubuntu (the list is printed).
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly lock_wait_s=300

# The programs and the demo. Nothing works without these, and a newcomer waits for each of them.
build=(
  meson ninja-build pkg-config g++ scdoc
  libcurl4-openssl-dev libssl-dev libpugixml-dev   # object client: HTTP, signatures, XML
  libtomlplusplus-dev libspdlog-dev libcli11-dev   # mount file, log, command line
  nlohmann-json3-dev                               # extended attributes, keys
  libisal-dev zlib1g-dev                           # checksums
  libmicrohttpd-dev                                # scrapes of the mount's counters; the embedded target's HTTP server
  libibverbs-dev                                   # RDMA
  liburing-dev libnuma-dev                         # FUSE over io_uring, in libfuse
  fuse3 iproute2 procps util-linux python3
  dpkg-dev xz-utils patch                          # to fetch libfuse's source (tools/get-libfuse.sh)
)

# All that meson.build knows of.
whole_build=(
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc   # the driver for Kubernetes
  libgtest-dev libgmock-dev librapidcheck-dev      # unit and property tests
  systemd                                          # says where units are installed
)

# The tests: S3 clients and an S3 server that others wrote, and the runner of the mount tests.
tests=(
  attr curl
  python3-pytest python3-jsonschema python3-yaml   # the runner; `stats --json` and a Helm chart against their schemas
  awscli s3cmd rsync
  ceph-mon ceph-osd radosgw ceph-common
  git sqlite3 python3-numpy python3-h5py ed vim    # programs that write into a mount
  fio logrotate
  qemu-system-x86 busybox-static cpio kmod         # virtual machines with soft-RoCE (tools/vm/run.sh)
  slurmctld slurmd slurm-client munge             # jobs with mounts of their own (packaging/slurm)
  python3-grpcio python3-protobuf                  # calls as kubelet makes them (packaging/kubernetes)
  podman buildah crun                              # the driver and pods in containers
  prometheus python3-matplotlib                    # the dashboard's queries, and pictures of its panels
  rdma-core ibverbs-providers python3-pyverbs
  debootstrap                                      # clean roots of other releases (tools/test.sh --release)
)

# The second compiler with its sanitizers, and lint. A plain build and its tests do without.
lint=(
  clang-19 clang-tidy-19 clang-format-19 clang-tools-19 lld-19 libclang-rt-19-dev
  llvm-19  # llvm-symbolizer: without it sanitizer reports are bare addresses
  shellcheck
)

# The benchmark, and the rivals that Debian has.
tour=(
  libbenchmark-dev
  s3fs rclone
)

# Large, and only the benchmark's training rows run it.
bench=(python3-torch)

# The portable build and its packages.
packages=(
  clang-19 lld-19 llvm-19 nasm make binutils-aarch64-linux-gnu
  debhelper lintian rpm rpmlint fakeroot
)

case "${1:-}" in
'') wanted=("${build[@]}" "${whole_build[@]}" "${tests[@]}" "${tour[@]}" "${lint[@]}") ;;
--build-only) wanted=("${build[@]}") ;;
--build-all) wanted=("${build[@]}" "${whole_build[@]}" libbenchmark-dev) ;;
--packages) wanted=("${build[@]}" "${whole_build[@]}" libbenchmark-dev "${packages[@]}") ;;
--tour) wanted=("${build[@]}" "${tour[@]}") ;;
--bench) wanted=("${build[@]}" "${tour[@]}" "${bench[@]}") ;;
*)
  sed -n '3,13s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac

exec 3>&2  # for what is said while standard error is another program's

say() { printf 'setup: %s\n' "$*" >&2; }

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
  say "this is neither Debian nor Ubuntu. Install what these Debian packages hold, and libfuse 3.18 or later:"
  printf '  %s\n' "${wanted[@]}"
  exit 3
fi

# Prints those of the packages named that are not installed.
missing_of() {
  local installed package
  installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' "$@" 2> /dev/null || true)"
  for package in "$@"; do
    [[ $installed == *" installed:$package "* ]] || printf '%s\n' "$package"
  done
}

# How a command is run as root without ever asking for a password, in as_root; or says what to run.
become_root() {
  as_root=()
  if [ "$(id -u)" = 0 ]; then return; fi
  as_root=(sudo -n)
  if command -v sudo > /dev/null && sudo -n true 2> /dev/null; then return; fi
  say "packages are missing, and sudo does not work without a password here. Run as root:"
  printf '  apt-get update && apt-get install --no-install-recommends %s\n' "${missing[*]}" >&2
  exit 1
}

# apt_progress: one line every few seconds out of the reports of apt (APT::Status-Fd, apt's README.progress-reporting).
apt_progress() {
  local kind percent rest told=$SECONDS
  while IFS=: read -r kind _ percent rest; do
    [ $((SECONDS - told)) -ge 5 ] || continue
    told=$SECONDS
    case $kind in
    dlstatus) say "fetching packages: ${percent%.*} %" ;;
    pmstatus) say "installing packages: ${percent%.*} %" ;;
    esac
  done
}

# root_apt ARGUMENT...: apt-get as root, quiet unless it fails or takes long. Another apt may be at work, as on a machine that has
# just booted: it is waited for. apt's own timeout knows dpkg's lock, but not those of lists and archives.
root_apt() {
  local deadline=$((SECONDS + lock_wait_s)) output
  # sudo closes all descriptors but the first three: the reports go by standard error, the rest is output.
  until output=$({ "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
    sh -c 'exec 9>&2 2>&1; exec "$@"' sh apt-get -q -o DPkg::Lock::Timeout=$lock_wait_s -o APT::Status-Fd=9 "$@"; } \
    2> >(apt_progress 2>&3)); do
    if [[ $output != *"Could not get lock"* ]] || [ $SECONDS -ge $deadline ]; then
      printf '%s\n' "$output" >&2
      return 1
    fi
    sleep 2
  done
}

is_required() {
  local package
  for package in "${build[@]}" "${whole_build[@]}"; do [ "$package" = "$1" ] && return 0; done
  return 1
}

# libfuse from the distribution where it is new enough; elsewhere its source is built with ours.
has_new_libfuse() {
  local candidate
  candidate=$(apt-cache policy libfuse3-dev 2> /dev/null | sed -n 's/ *Candidate: //p')
  [ -n "$candidate" ] && [ "$candidate" != '(none)' ] && dpkg --compare-versions "$candidate" ge 3.18
}
has_new_libfuse && wanted+=(libfuse3-dev)

mapfile -t missing < <(missing_of "${wanted[@]}")
if [ ${#missing[@]} -gt 0 ]; then
  become_root
  # A source of packages that is none of ours may be broken on this machine; what counts is the next step.
  root_apt update || say "apt-get update complained; trying with what it got"
  has_new_libfuse && wanted+=(libfuse3-dev)  # a fresh machine had no lists to ask before
  mapfile -t missing < <(missing_of "${wanted[@]}")
  say "installing ${missing[*]}"

  # A distribution may lack one (Ubuntu 24.04 has no awscli). Tests and lint do without: a check that
  # needs it is skipped and says so.
  installable=() lacking=()
  for package in "${missing[@]}"; do
    if apt-cache show --no-all-versions "$package" > /dev/null 2>&1; then
      installable+=("$package")
    elif is_required "$package"; then
      say "this distribution has no package $package, which the build needs"
      exit 1
    else
      lacking+=("$package")
    fi
  done
  if [ ${#installable[@]} -gt 0 ]; then
    root_apt -y -o Dpkg::Use-Pty=0 install --no-install-recommends "${installable[@]}"
  fi
  for package in "${lacking[@]}"; do
    say "this distribution has no package $package: the checks that need it are skipped"
  done
fi

"$top/tools/get-libfuse.sh"

[ -e /dev/fuse ] || say "there is no /dev/fuse here (modprobe fuse): it builds, but nothing can be mounted"
