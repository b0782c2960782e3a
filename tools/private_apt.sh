# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For other scripts to source: apt with package lists of its own, in a temporary folder, so that nothing of the system
# changes and no root is needed.

# The mirror that serves this machine's own release serves the others too: "URL Debian" or "URL Ubuntu".
find_mirror() {
  # The fields are apt's own names, for apt to fill in.
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' |
    awk '$2 !~ /-/ && ($3 == "Debian" || $3 == "Ubuntu") && !found++ {print $1, $3}'
}

# make_private_apt FOLDER [ARCHITECTURE]: reads lines of sources.list(5) from standard input, and fetches their lists.
make_private_apt() {
  private_apt_folder=$1 private_apt_architecture=${2:-$(dpkg --print-architecture)}
  mkdir -p "$private_apt_folder"/{lists/partial,cache/archives/partial}
  cat > "$private_apt_folder/sources.list"
  private_apt apt-get update
}

# private_apt PROGRAM ARGUMENT...: apt-get or apt-cache with the lists of make_private_apt.
private_apt() {
  local program=$1
  shift
  "$program" -q -o Dir::Etc::sourcelist="$private_apt_folder/sources.list" -o Dir::Etc::sourceparts=- \
    -o Dir::State::lists="$private_apt_folder/lists" -o Dir::State::status=/dev/null \
    -o Dir::Cache="$private_apt_folder/cache" -o APT::Architecture="$private_apt_architecture" \
    -o APT::Architectures::="$private_apt_architecture" -o APT::Sandbox::User= "$@"
}
