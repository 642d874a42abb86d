# shellcheck shell=bash
# What the scripts share: where things are, the packages, the build. Sourced, never run.

set -euo pipefail
mqs_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mqs_build=${MQSTEER_BUILD:-$mqs_top/build} # one folder a preset below it
mqs_install=yes                            # no: --no-install was given
export mqs_top mqs_build

say() { printf '%s\n' "$*"; }
die() { # die EXIT_CODE MESSAGE
  printf '%s: %s\n' "${0##*/}" "$2" >&2
  exit "$1"
}

# The packages, by what they are for. The names are Debian 12's and 13's alike; * stands for a
# number that follows DPDK's or clang's version. PMDs are loaded when EAL starts, so no program
# is linked against them and each is named here.
mqs_packages_build=(
  g++ cmake ninja-build pkg-config ccache python3
  libdpdk-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libexpected-dev libpcap-dev
  libbpf-dev libgtest-dev libgmock-dev libbenchmark-dev
)
mqs_packages_run=(
  'librte-mempool-ring*' 'librte-bus-pci*' 'librte-bus-vdev*'
  'librte-net-af-xdp*' 'librte-net-af-packet*' 'librte-net-pcap*' 'librte-net-tap*'
  'librte-net-ring*' 'librte-net-null*' 'librte-net-memif*' 'librte-net-vhost*'
  'librte-net-virtio*' 'librte-net-e1000*' 'librte-net-ixgbe*'
)
mqs_packages_demo=(iproute2 ethtool iputils-ping iperf3 sockperf procps util-linux)
mqs_packages_test=(git clang clang-format clang-tidy 'libclang-rt-*-dev' tcpdump tshark wireshark-common gnuplot-nox)

# mqs_installed PACKAGE: is it (or one that matches, where it has a *)?
mqs_installed() {
  dpkg-query -W -f='${db:Status-Status}\n' "${1/\*/[0-9-]*}" 2>/dev/null | grep -qx installed
}

# mqs_missing PACKAGE...: those that are not installed, one a line.
mqs_missing() {
  local package
  for package in "$@"; do
    mqs_installed "$package" || printf '%s\n' "$package"
  done
}

# mqs_resolve PACKAGE...: the names that apt knows for them, with each * filled in. Of several, the
# newest; for clang's runtime that of the default clang.
mqs_resolve() {
  local package names clang
  for package in "$@"; do
    if [[ $package == *'*'* ]]; then
      names=$(apt-cache pkgnames "${package%%\**}" | grep -E "^${package/\*/-?[0-9]+}\$" | sort -V)
      if [[ $package == libclang-rt-* ]]; then
        clang=$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
        names=$(grep -x "libclang-rt-$clang-dev" <<<"$names" || true)
      fi
      [[ -n $names ]] || die 2 "apt knows no package $package; is this Debian 12 or 13?"
      tail -n 1 <<<"$names"
    else
      printf '%s\n' "$package"
    fi
  done
}

# mqs_require PACKAGE...: installs what is missing, or says why it cannot and ends with 2.
mqs_require() {
  local missing names log
  mapfile -t missing < <(mqs_missing "$@")
  if ((${#missing[@]} == 0)); then
    say "packages: all $# are installed"
    return
  fi
  say "packages: missing: ${missing[*]}"
  [[ $mqs_install == yes ]] || die 2 "--no-install: install the packages above and start again"
  command -v apt-get >/dev/null || die 2 "no apt-get here: install the packages above, or use Debian 12"
  [[ $EUID == 0 ]] || die 2 "installing takes root: run this as root, or install the packages above"
  log=$(mktemp)
  export DEBIAN_FRONTEND=noninteractive
  say "packages: apt-get update and install, this takes a while"
  if ! apt-get -q update </dev/null >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    say "packages: apt-get update failed (no network?); trying with the lists that are here" >&2
  fi
  names=$(mqs_resolve "${missing[@]}") || exit 2
  # shellcheck disable=SC2086 # one word a package
  if ! apt-get -q -y --no-install-recommends install $names </dev/null >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    die 2 "apt-get install failed: is the network there, and are /etc/apt's sources right?"
  fi
  rm -f "$log"
  mapfile -t missing < <(mqs_missing "$@")
  ((${#missing[@]} == 0)) || die 2 "still missing after the installation: ${missing[*]}"
  say "packages: installed"
}

# mqs_make PRESET [TARGET...]: configures and builds below $mqs_build; the log is shown on failure.
mqs_make() {
  local preset=$1 folder=$mqs_build/$1 log start=$SECONDS
  shift
  mkdir -p "$folder"
  log=$folder/build.log
  if ! (cd "$mqs_top" && cmake --preset "$preset" -B "$folder" </dev/null) >"$log" 2>&1 ||
    ! cmake --build "$folder" ${1:+--target "$@"} </dev/null >>"$log" 2>&1; then
    grep -nE -m 1 'error|Error|FAILED' "$log" | cut -d : -f 1 | xargs -I {} tail -n +{} "$log" | head -n 40 >&2
    printf '%s: building %s failed, the whole log is %s\n' "${0##*/}" "$preset" "$log" >&2
    return 1
  fi
  say "build: $preset in $((SECONDS - start)) s"
}
