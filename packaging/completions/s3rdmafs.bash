# SPDX-License-Identifier: Apache-2.0
# Completion for bash. tests/unit/docs compares its options with those of --help.

# Where buckets are mounted; spaces stand as \040 in the kernel's list.
_s3rdmafs_mounts() {
  awk '$3 == "fuse.s3rdma" {print $2}' /proc/self/mounts 2> /dev/null
}

_s3rdmafs() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "mount umount stats top explain warm reload run recover doctor manifest config --help --version" -- "$word")
    return
  fi
  case $before in
  --report | --output | --from-inventory | --verify | --show)
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    return
    ;;
  --jobs | --options | --interval | --columns | --rows | --seconds | --rate | --requests) return ;;
  esac
  local options=
  case $verb in
  mount) options="--foreground --options" ;;
  umount) options="--lazy" ;;
  stats) options="--json" ;;
  top) options="--once --interval --columns --rows" ;;
  explain) options="--seconds --json" ;;
  warm) options="--cached --record --from-trace --from-manifest --rate --requests --release" ;;
  reload) options="--dry-run" ;;
  run) options="--report" ;;
  recover) options="--send --discard --json --options" ;;
  doctor) options="--json --measure --report" ;;
  manifest) options="--output --from-inventory --jobs --bucket --verify --show" ;;
  config) options="--options" ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options --help" -- "$word")
    return
  fi
  case $verb in
  umount | stats | top | reload) mapfile -t COMPREPLY < <(compgen -W "$(_s3rdmafs_mounts)" -- "$word") ;;
  *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
  esac
}
complete -o filenames -F _s3rdmafs s3rdmafs
