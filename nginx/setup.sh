# shellcheck shell=bash
# Sourced by nginx/run, Tests/run, Tests/Benchmarks/run and the build scripts of Sources: installs packages and builds the programs.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
PATH=$PATH:/usr/sbin:/sbin # Debian keeps nginx and mariadbd there, but not in a user's PATH

# The libraries of Package.swift and the servers and tools of a site.
site_packages=(
  libfcgi-dev libmariadb-dev libssl-dev libsodium-dev libnghttp2-dev libcurl4-openssl-dev libqrencode-dev libpng-dev
  pkg-config
  mariadb-server nginx spawn-fcgi runit procps curl ca-certificates
)
# The packages that the Swift toolchain needs, if this script installs it.
swift_packages=(
  binutils g++ git gnupg libcurl4-openssl-dev libedit-dev libncurses-dev libpython3-dev libsqlite3-dev libxml2-dev
  tzdata unzip zlib1g-dev
)

say() { printf '%s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# need_packages NAME…: installs the packages of a site and the named ones. Uses the network only if one is missing.
need_packages() {
  local installed missing=() name
  set -- "${site_packages[@]}" "$@"
  command -v dpkg-query >/dev/null || die "this is not Debian or Ubuntu; install what these packages hold: $*"
  # shellcheck disable=SC2016 # dpkg-query expands
  installed=$'\n'$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null)$'\n' || true # fails if one is unknown
  for name; do
    [[ $installed == *$'\n'"$name installed"$'\n'* ]] || missing+=("$name")
  done
  ((${#missing[@]})) || return 0

  local as_root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "packages are missing, and there is no sudo; run as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "Installing Debian packages: ${missing[*]}"
  # policy-rc.d prevents apt from starting the packages' services. An existing file stays as it is, except one
  # that a killed run has left.
  # apt has one user at a time, such as the upgrades that Debian makes by itself: this one waits.
  # shellcheck disable=SC2016 # the inner shell expands
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive bash -ceu '
    exec 9>/run/switchboard-packages.lock
    flock --wait 1800 9 # otherwise the first of two removes policy-rc.d while the second installs
    policy=/usr/sbin/policy-rc.d mark="# by need_packages"
    if [[ ! -e $policy ]] || grep -qx "$mark" $policy; then
      trap "rm -f $policy" EXIT
      printf "#!/bin/sh\n%s\nexit 101\n" "$mark" >$policy
      chmod 755 $policy
    fi
    apt-get update -q || echo "Cannot update the package lists; using the old lists."
    apt-get -o DPkg::Lock::Timeout=600 install -y -q --no-install-recommends "$@" 9>&-
  ' bash "${missing[@]}" </dev/null || die "cannot install: ${missing[*]}"
}

# Installs Swift with swiftly, its official installer, if there is none.
need_swift() {
  local home=${SWIFTLY_HOME_DIR:-$HOME/.local/share/swiftly} archive directory
  ! command -v swift >/dev/null || return 0
  if [[ ! -r $home/env.sh ]]; then
    archive=https://download.swift.org/swiftly/linux/swiftly-$(uname -m).tar.gz
    say "Swift is missing: installing it with swiftly, the official installer ($archive), below $home"
    directory=$(mktemp -d)
    if ! curl -fsSL --connect-timeout 20 "$archive" 2>/dev/null | tar -xz -C "$directory" swiftly 2>/dev/null; then
      rm -rf "$directory"
      die "cannot reach the Swift installer: install Swift 6.3 or later and put it on the PATH, see swift.org/install"
    fi
    need_packages "${swift_packages[@]}"
    "$directory/swiftly" init --assume-yes --quiet-shell-followup </dev/null || die 'swiftly cannot install Swift'
    rm -rf "$directory"
  fi
  # shellcheck source=/dev/null
  . "$home/env.sh"
  hash -r
  command -v swift >/dev/null || die "swiftly is installed below $home, but has no Swift: swiftly install latest"
}

# build_programs PRODUCT…: builds the programs and the named products into .build/release.
build_programs() {
  local product
  for product in switchboard-{responder,relay,companion} "$@"; do
    say "Building $product"
    (cd "$root" && swift build -c release --static-swift-stdlib --product "$product") ||
      die "$product does not build; see above"
  done
}
