# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The guests' kernel, their initial file system, and how fast they may run. Sourced by run.sh, which has
# cannot() and tools/private_apt.sh.
#
# Sets, in unpack_kernel: kernel (the image), kernel_root (where its package is unpacked), kernel_version.

readonly cache=${XDG_CACHE_HOME:-$HOME/.cache}/s3rdmafs-vm

# In this order into the guest. crc32_generic: rdma_rxe asks the crypto layer for it by name alone, so that
# no dependency shows it. virtio_rng: or the first random number waits for entropy.
readonly guest_modules=(
  virtio_pci virtio_console virtio_rng virtio_net 9pnet_virtio 9p overlay fuse autofs4 binfmt_misc dummy
  crc32_generic ib_uverbs rdma_cm rdma_ucm rdma_rxe sch_netem
)

# list_release RELEASE FOLDER: makes the private apt of another release of Debian.
list_release() {
  local mirror origin
  read -r mirror origin < <(find_mirror) || true
  [ "${origin:-}" = Debian ] || cannot "the kernel of $1 needs a mirror of Debian that apt knows: run 'apt-get update'"
  make_private_apt "$2" amd64 < <(printf 'deb %s %s main\n' "$mirror" "$1") > "$2.log" 2>&1 || {
    cat "$2.log" >&2
    cannot "apt has no release $1 of Debian (see above)"
  }
}

# unpack_kernel RELEASE FOLDER: of this machine's release where RELEASE is empty; FOLDER is for temporary files. The
# package is unpacked below the cache, never installed: it changes nothing on this machine.
unpack_kernel() {
  local package fresh apt=() # private_apt before a program of another release
  if [ -n "$1" ]; then
    list_release "$1" "$2/apt"
    apt=(private_apt)
  fi
  package=$("${apt[@]}" apt-cache depends linux-image-amd64 2> /dev/null |
    awk '/Depends: linux-image-/ && !found {print $2; found = 1}') || true
  if [ -z "$package" ] && [ -z "$1" ]; then
    # Without package lists, a kernel that was fetched before serves.
    package=$(find "$cache" -maxdepth 1 -name 'linux-image-*' -printf '%f\n' 2> /dev/null | sort -V | tail -n 1)
  fi
  [ -n "$package" ] || cannot "apt knows no package linux-image-amd64: run 'apt-get update' as root, on Debian"
  kernel_version=${package#linux-image-}
  kernel_root=$cache/$package
  kernel=$kernel_root/boot/vmlinuz-$kernel_version
  [ -d "$kernel_root" ] && return

  mkdir -p "$cache"
  fresh=$(mktemp -d "$cache/fresh.XXXXXX")
  printf 'vm: fetching %s\n' "$package" >&2
  if ! (cd "$fresh" && "${apt[@]}" apt-get -q download "$package" > log 2>&1 && dpkg-deb -x ./*.deb .); then
    cat "$fresh/log" >&2
    rm -rf "$fresh"
    cannot "apt-get download $package failed (see above)"
  fi
  rm -f "$fresh"/*.deb "$fresh/log"
  depmod -b "$fresh" "$kernel_version"
  mv -T "$fresh" "$kernel_root" 2> /dev/null || rm -rf "$fresh" # another run may have been faster
}

# initramfs FILE INIT: busybox, the modules numbered in load order, and INIT as /init.
initramfs() {
  local folder=$1.d number=100 module name file
  local -A seen=()
  mkdir -p "$folder"/{bin,modules,ro,rw,new,run}
  cp "$(command -v busybox)" "$folder/bin/busybox"
  cp "$2" "$folder/init"
  chmod +x "$folder/init"
  for name in "${guest_modules[@]}"; do
    # "insmod FILE" for each that is needed; "builtin NAME" is in the kernel already.
    while read -r what module _; do
      if [ "$what" != insmod ] || [ -n "${seen[$module]:-}" ]; then continue; fi
      seen[$module]=1
      number=$((number + 1))
      file=$folder/modules/$number.${module##*/}
      cp "$module" "$file"
    done < <(modprobe -d "$kernel_root" -S "$kernel_version" --show-depends "$name")
  done
  (cd "$folder" && find . | cpio -o -H newc --quiet) > "$1"
  rm -rf "$folder"
}

# choose_accelerator FOLDER: prints qemu's -accel. That /dev/kvm can be opened does not say that a guest
# runs (nested virtualization): a guest that does nothing but end is booted, once per boot of this machine.
choose_accelerator() {
  local slow=tcg,thread=multi mark
  mark=$cache/kvm.$(cat /proc/sys/kernel/random/boot_id)
  if ! [ -r /dev/kvm ] || ! [ -w /dev/kvm ]; then
    printf '%s' "$slow"
    return
  fi
  if ! [ -e "$mark" ]; then
    rm -f "$cache"/kvm.*
    # 30 s: by KVM it takes one; where it takes longer, KVM does not pay.
    if timeout 30 qemu-system-x86_64 -accel kvm -cpu max -m 256 -nodefaults -no-user-config -display none \
      -no-reboot -kernel "$kernel" -initrd "$1/initramfs" -append "console=ttyS0 panic=-1 quiet vmprobe" \
      -serial "file:$1/probe" < /dev/null > /dev/null 2>&1 && grep -q 'guest: up' "$1/probe"; then
      echo kvm > "$mark"
    else
      echo "$slow" > "$mark"
      printf 'vm: no guest runs under KVM here; they are emulated, which is some twenty times slower\n' >&2
    fi
  fi
  cat "$mark"
}
